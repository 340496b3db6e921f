//! Records of the suppression list in every form, page by page: nothing is kept.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::terminal::{BOLD, DIM};
use crate::client::Suppression;
use crate::untrusted::Untrusted;

/// The form of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// For people
    Table,
    /// One object a line
    Jsonl,
    /// With a header
    Csv,
    /// One document
    Json,
}

/// A suppression record. New reasons and sources pass through as they are.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "letterpress suppression record", rename = "suppression")]
pub struct RecordJson<'a> {
    /// The address, where the service sends it (its documented answer does not).
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<&'a str>,
    /// Why: `unsubscribed`, `temporary_unavailable`, `permanent_unavailable`, `complained`, `blocked`, or a newer word.
    reason: Option<&'a str>,
    /// Who: `user`, `system`, `subscriber`, or a newer word.
    source: &'a str,
    /// UTC `YYYY-MM-DD hh:mm:ss`.
    created: Option<&'a str>,
    /// The project.
    project_id: Option<&'a str>,
    /// Whether `suppressions remove` can remove it.
    is_deletable: bool,
}

/// Records of the suppression list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "letterpress suppressions list", rename = "suppressions")]
pub struct ListJson<'a> {
    /// 1. Fields may be added within a format; none is removed or changes its meaning.
    format: u32,
    /// In the service's order.
    suppressions: Vec<RecordJson<'a>>,
}

/// Writes records in one form.
#[derive(Debug)]
pub struct Writer {
    form: Form,
    /// Whether the head is written, and with it whether there is a column for addresses.
    begun: Option<bool>,
    records: u64,
}

impl Writer {
    /// A writer that begins a document, or goes on in one that has its head already.
    #[must_use]
    pub fn new(form: Form, records: u64) -> Self {
        Self { form, begun: (records > 0).then_some(true), records }
    }

    /// How many records were written, those of an earlier run included.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The text of a page.
    pub fn page(&mut self, page: &[Suppression]) -> String {
        let mut text = String::new();
        let addresses = match self.begun {
            Some(addresses) => addresses,
            None => {
                let addresses = page.iter().any(|record| record.email.is_some());
                self.begun = Some(addresses);
                self.head(&mut text, addresses);
                addresses
            }
        };
        for record in page {
            self.record(&mut text, record, addresses);
            self.records += 1;
        }
        text
    }

    /// What comes after the last page.
    pub fn end(&mut self) -> String {
        let mut text = String::new();
        if self.begun.is_none() && self.form != Form::Table {
            self.begun = Some(false);
            self.head(&mut text, true);
        }
        if self.form == Form::Json {
            text.push_str(if self.records == 0 { "]}\n" } else { "\n]}\n" });
        }
        text
    }

    fn head(&self, text: &mut String, addresses: bool) {
        match self.form {
            Form::Table => {
                let head = format!(
                    "{:<19}  {:<21}  {:<10}  {:<9}  {:<36}  {}",
                    "CREATED",
                    "REASON",
                    "SOURCE",
                    "DELETABLE",
                    "PROJECT",
                    if addresses { "EMAIL" } else { "" }
                );
                let _ = writeln!(text, "{BOLD}{}{BOLD:#}", head.trim_end());
            }
            Form::Csv => text.push_str("email,reason,source,created,project_id,is_deletable\n"),
            Form::Json => text.push_str("{\"format\":1,\"suppressions\":["),
            Form::Jsonl => {}
        }
    }

    fn record(&self, text: &mut String, record: &Suppression, addresses: bool) {
        let optional = |value: &Option<String>| value.clone().unwrap_or_default();
        let (email, reason) = (optional(&record.email), optional(&record.reason));
        let (created, project) = (optional(&record.created), optional(&record.project_id));
        match self.form {
            Form::Table => {
                let deletable = if record.is_deletable { "yes" } else { "no" };
                let _ = write!(
                    text,
                    "{DIM}{:<19}{DIM:#}  {:<21}  {:<10}  {deletable:<9}  {:<36}",
                    Untrusted(&created).line(),
                    Untrusted(&reason).line(),
                    Untrusted(&record.source).line(),
                    Untrusted(&project).line(),
                );
                if addresses {
                    let _ = write!(text, "  {}", Untrusted(&email).line());
                }
                text.truncate(text.trim_end().len());
                text.push('\n');
            }
            Form::Csv => {
                let fields = [&email, &reason, &record.source, &created, &project].map(|field| Untrusted(field).csv());
                let _ = writeln!(text, "{},{}", fields.join(","), record.is_deletable);
            }
            Form::Jsonl | Form::Json => {
                if self.form == Form::Json {
                    text.push_str(if self.records == 0 { "\n" } else { ",\n" });
                }
                let json = RecordJson {
                    email: record.email.as_deref(),
                    reason: record.reason.as_deref(),
                    source: &record.source,
                    created: record.created.as_deref(),
                    project_id: record.project_id.as_deref(),
                    is_deletable: record.is_deletable,
                };
                // Strings and booleans always serialize.
                text.push_str(&serde_json::to_string(&json).unwrap_or_default());
                if self.form == Form::Jsonl {
                    text.push('\n');
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(email: Option<&str>, reason: &str) -> Suppression {
        Suppression {
            email: email.map(str::to_owned),
            reason: Some(reason.to_owned()),
            source: "user".to_owned(),
            created: Some("2026-11-01 00:00:00".to_owned()),
            project_id: None,
            is_deletable: true,
        }
    }

    fn whole(form: Form, pages: &[&[Suppression]]) -> String {
        let mut writer = Writer::new(form, 0);
        let mut text: String = pages.iter().map(|page| writer.page(page)).collect();
        text.push_str(&writer.end());
        text
    }

    #[test]
    fn every_form_over_two_pages() {
        let pages: [&[Suppression]; 2] =
            [&[record(Some("a@example.com"), "blocked")], &[record(None, "from the future")]];
        let csv = "email,reason,source,created,project_id,is_deletable\n\
                   a@example.com,blocked,user,2026-11-01 00:00:00,,true\n\
                   ,from the future,user,2026-11-01 00:00:00,,true\n";
        assert_eq!(whole(Form::Csv, &pages), csv);
        assert_eq!(whole(Form::Jsonl, &pages).lines().count(), 2);
        let json: serde_json::Value = serde_json::from_str(&whole(Form::Json, &pages)).unwrap();
        assert_eq!(json["suppressions"][1]["reason"], "from the future");
        let table = anstream::adapter::strip_str(&whole(Form::Table, &pages)).to_string();
        assert!(table.lines().nth(1).unwrap().ends_with("a@example.com"), "{table}");
    }

    #[test]
    fn an_empty_list_is_a_whole_document() {
        assert_eq!(whole(Form::Json, &[]), "{\"format\":1,\"suppressions\":[]}\n");
        assert_eq!(whole(Form::Csv, &[]), "email,reason,source,created,project_id,is_deletable\n");
        assert_eq!(whole(Form::Jsonl, &[]), "");
    }

    #[test]
    fn a_hostile_record_stays_in_its_cell() {
        let hostile = [record(Some("=cmd()"), "a\u{1b}[31m\n::error::x")];
        let table = whole(Form::Table, &[&hostile]);
        assert!(!table.contains("\u{1b}[31m\n") && !table.contains("::error"), "{table}");
        assert!(whole(Form::Csv, &[&hostile]).contains("\"'=cmd()\""));
    }
}
