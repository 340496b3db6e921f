//! Data to begin with (`--seed FILE`).
//!
//! ```toml
//! [[suppression]]
//! email = "ann@example.com"         # with `count`: `{n}` in it becomes 1, 2, 3, …
//! reason = "unsubscribed"           # any word, so that clients can be tried with new ones
//! source = "subscriber"             # default `user`
//! created = "2026-11-01 10:00:00"   # default: now; with `count`: of the first one, then one second later each
//! is_deletable = false              # default: true exactly when the source is `user`
//! account_wide = false              # true: belongs to no project
//! count = 100000                    # default 1
//!
//! [[template]]                      # a template that was made elsewhere, for example in the web page
//! id = "0191e0a4-0000-7000-8000-000000000001"
//! name = "Made by hand"
//! template_builder = "visual"       # default `html`
//! html = "<p>Hello</p>"
//! ```
//!
//! Everything goes to the first account and its first project. A file is taken in once per database: the same text again changes nothing.

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, params};
use serde::Deserialize;

use super::accounts::Caller;
use super::clock;
use super::suppression::{self, New};
use crate::wire::{Body, Template};

/// A seed file, read and checked.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seed {
    #[serde(default)]
    suppression: Vec<Records>,
    #[serde(default)]
    template: Vec<Page>,
    #[serde(skip)]
    digest: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Records {
    email: String,
    reason: String,
    #[serde(default = "user")]
    source: String,
    created: Option<String>,
    is_deletable: Option<bool>,
    #[serde(default)]
    account_wide: bool,
    #[serde(default = "one")]
    count: u32,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    id: uuid::Uuid,
    name: String,
    template_builder: Option<String>,
    html: String,
}

fn user() -> String {
    "user".to_owned()
}

fn one() -> u32 {
    1
}

/// Why a seed file is not usable.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// Not TOML, or not of this form.
    #[error("{}", .0.message())]
    Form(toml::de::Error),
    /// A date of the n-th suppression.
    #[error("suppression {0}: `created` is not a date `YYYY-MM-DD hh:mm:ss`")]
    Date(usize),
}

impl Seed {
    /// Reads the text of a seed file.
    ///
    /// # Errors
    ///
    /// When it is not TOML of the form above.
    pub fn parse(text: &str) -> Result<Self, SeedError> {
        let seed: Self = toml::from_str(text).map_err(SeedError::Form)?;
        let is_wrong = |records: &Records| records.created.as_ref().is_some_and(|date| clock::parse(date).is_none());
        match seed.suppression.iter().position(is_wrong) {
            Some(at) => Err(SeedError::Date(at + 1)),
            None => Ok(Self { digest: blake3::hash(text.as_bytes()).to_hex().to_string(), ..seed }),
        }
    }

    /// Writes everything, unless this file has been taken in before.
    pub fn plant(&self, connection: &Connection, owner: &Caller, now: Timestamp) -> rusqlite::Result<()> {
        if connection.execute("INSERT OR IGNORE INTO seeds (digest) VALUES (?)", [&self.digest])? == 0 {
            return Ok(());
        }
        for records in &self.suppression {
            records.plant(connection, owner, now)?;
        }
        for page in &self.template {
            page.plant(connection, owner, &clock::text(now))?;
        }
        Ok(())
    }
}

impl Records {
    fn plant(&self, connection: &Connection, owner: &Caller, now: Timestamp) -> rusqlite::Result<()> {
        let first = self.created.as_deref().and_then(clock::parse).unwrap_or(now);
        for n in 0..self.count {
            let created = clock::text(first + SignedDuration::from_secs(i64::from(n)));
            let new = New {
                user_id: owner.user_id,
                project_id: owner.project_id.as_deref().filter(|_| !self.account_wide),
                email: &self.email.replace("{n}", &(n + 1).to_string()),
                reason: &self.reason,
                source: &self.source,
                created: &created,
                is_deletable: self.is_deletable.unwrap_or(self.source == "user"),
            };
            suppression::insert(connection, &new)?;
        }
        Ok(())
    }
}

impl Page {
    fn plant(&self, connection: &Connection, owner: &Caller, at: &str) -> rusqlite::Result<()> {
        let id = self.id.hyphenated().to_string();
        let content = Template {
            id: Some(id.clone()),
            name: self.name.clone(),
            body: Body { html: Some(self.html.clone()), ..Body::default() },
            template_builder: Some(self.template_builder.clone().unwrap_or_else(|| "html".to_owned())),
            check_links: Some(1),
            check_read: Some(1),
            template_creator: Some("web".to_owned()),
            ..Template::default()
        };
        let content =
            serde_json::to_string(&content).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        connection.execute(
            "INSERT INTO templates (id, user_id, project, name, version, created, changed) VALUES (?1, ?2, ?3, ?4, 1, ?5, ?5)",
            params![id, owner.user_id, owner.project_id, self.name, at],
        )?;
        connection.execute(
            "INSERT INTO template_versions (template, version, at, request, content) VALUES (?, 1, ?, 0, ?)",
            params![id, at, content],
        )?;
        connection.execute("UPDATE accounts SET templates = templates + 1 WHERE user_id = ?", [owner.user_id]).map(drop)
    }
}
