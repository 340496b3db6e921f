//! Accounts, projects and their keys (`interface §5`), and what `/system/info` says of them (§2.4, §4.2).

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use uuid::Uuid;

use super::clock;
use crate::wire::{AccountDetails, SystemInfo};

/// The account that every new database has.
pub const FIRST_ACCOUNT: &str = "sandbox@example.com";
/// Its project.
pub const FIRST_PROJECT: &str = "Sandbox";
/// Emails included in a period; ours.
const EMAILS_BY_PERIOD: i64 = 100_000;

/// Who a key belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The user.
    pub user_id: i64,
    /// The project of a project key; `None` for an account key.
    pub project_id: Option<String>,
}

/// An API key and all that a person wants to know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// The key itself.
    pub key: String,
    /// The user's id.
    pub user_id: u64,
    /// The user's address.
    pub email: String,
    /// Id and name of the project of a project key.
    pub project: Option<(String, String)>,
}

/// Makes an account with its key, where it does not exist yet, and gives its user id.
pub fn ensure_account(connection: &Connection, email: &str) -> rusqlite::Result<i64> {
    let known =
        connection.query_row("SELECT user_id FROM accounts WHERE email = ?", [email], |row| row.get(0)).optional()?;
    if let Some(user_id) = known {
        return Ok(user_id);
    }
    let (high, _) = Uuid::new_v4().as_u64_pair();
    let user_id = 1_000_000 + i64::try_from(high % 8_999_999).unwrap_or(0);
    connection.execute(
        "INSERT INTO accounts (user_id, email, emails_by_period) VALUES (?, ?, ?)",
        params![user_id, email, EMAILS_BY_PERIOD],
    )?;
    add_key(connection, &new_key("account"), user_id, None)?;
    Ok(user_id)
}

/// Makes a project with its key, where it does not exist yet, and gives its id.
pub fn ensure_project(connection: &Connection, user_id: i64, name: &str) -> rusqlite::Result<String> {
    let known = connection
        .query_row("SELECT project_id FROM projects WHERE user_id = ? AND name = ?", params![user_id, name], |row| {
            row.get(0)
        })
        .optional()?;
    if let Some(project_id) = known {
        return Ok(project_id);
    }
    let project_id = Uuid::new_v4().hyphenated().to_string();
    connection.execute(
        "INSERT INTO projects (project_id, user_id, name) VALUES (?, ?, ?)",
        params![project_id, user_id, name],
    )?;
    add_key(connection, &new_key("project"), user_id, Some(&project_id))?;
    Ok(project_id)
}

/// Gives a project a key that the user chose, in place of those it had.
pub fn set_key(connection: &Connection, key: &str, user_id: i64, project_id: &str) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM keys WHERE project_id = ?", [project_id])?;
    add_key(connection, key, user_id, Some(project_id))
}

fn add_key(connection: &Connection, key: &str, user_id: i64, project_id: Option<&str>) -> rusqlite::Result<()> {
    let insert = "INSERT OR REPLACE INTO keys (key, user_id, project_id) VALUES (?, ?, ?)";
    connection.execute(insert, params![key, user_id, project_id]).map(drop)
}

fn new_key(kind: &str) -> String {
    format!("sandbox-{kind}-{}", Uuid::new_v4().simple())
}

/// Every key: the first account's first, then the other accounts in the order in which they were made.
pub fn keys(connection: &Connection) -> rusqlite::Result<Vec<ApiKey>> {
    let select = "SELECT k.key, k.user_id, a.email, p.project_id, p.name FROM keys k
        JOIN accounts a USING (user_id) LEFT JOIN projects p ON p.project_id = k.project_id
        ORDER BY a.email <> ?, (SELECT min(f.rowid) FROM keys f WHERE f.user_id = k.user_id),
            p.name IS NULL, p.rowid, k.rowid";
    let mut statement = connection.prepare(select)?;
    let rows = statement.query_map([FIRST_ACCOUNT], |row| {
        let user_id: i64 = row.get(1)?;
        let project_id: Option<String> = row.get(3)?;
        let name: Option<String> = row.get(4)?;
        Ok(ApiKey {
            key: row.get(0)?,
            user_id: user_id.unsigned_abs(),
            email: row.get(2)?,
            project: project_id.zip(name),
        })
    })?;
    rows.collect()
}

/// Whom a key belongs to.
pub fn caller(connection: &Connection, key: &str) -> rusqlite::Result<Option<Caller>> {
    let read = |row: &Row<'_>| Ok(Caller { user_id: row.get(0)?, project_id: row.get(1)? });
    connection.prepare_cached("SELECT user_id, project_id FROM keys WHERE key = ?")?.query_row([key], read).optional()
}

/// `/system/info`: the accounting period is the month of `now`.
pub fn info(connection: &Connection, caller: &Caller, now: Timestamp) -> rusqlite::Result<SystemInfo> {
    let (start, end) = clock::month(now);
    let (start_period, end_period) = (clock::text(start), clock::text(end));
    let (email, included) = connection
        .prepare_cached("SELECT email, emails_by_period FROM accounts WHERE user_id = ?")?
        .query_row([caller.user_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let sent = connection
        .prepare_cached("SELECT count(*) FROM mails WHERE user_id = ? AND at >= ? AND at < ?")?
        .query_row(params![caller.user_id, start_period, end_period], |row| row.get(0))?;
    let project_name = match &caller.project_id {
        Some(id) => Some(
            connection
                .prepare_cached("SELECT name FROM projects WHERE project_id = ?")?
                .query_row([id], |row| row.get(0))?,
        ),
        None => None,
    };
    Ok(SystemInfo {
        status: super::SUCCESS.to_owned(),
        user_id: caller.user_id.unsigned_abs(),
        email,
        project_id: caller.project_id.clone(),
        project_name,
        account_details: Some(AccountDetails {
            start_period,
            end_period,
            emails_by_period: Some(included),
            emails_sent: Some(sent),
        }),
    })
}
