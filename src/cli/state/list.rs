//! `state list`: one line per key.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Format, columns, held};
use crate::cli::{Context, Exit};
use crate::state::{Record, State};
use crate::untrusted::Untrusted;

/// List the keys that the state knows, with their ids
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The form
    #[arg(long, value_name = "FORM", default_value = "text", env = "LETTERPRESS_FORMAT")]
    format: Format,
}

/// `state list --format json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "letterpress state list")]
pub(super) struct ListJson {
    /// 1. Fields may be added within a format; none is removed or changes its meaning.
    format: u32,
    /// The environment's name.
    environment: String,
    /// One row per key.
    templates: Vec<Row>,
}

/// One key.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Row {
    /// The key.
    key: String,
    /// `reserving`, `reserved`, `updating`, `live`, `dirty` or `retired`.
    state: &'static str,
    /// The template's id; null while it is being reserved.
    id: Option<String>,
    /// Digest of the content that is certainly at the service.
    digest: Option<String>,
    /// When content last reached the service, RFC 3339.
    applied: Option<String>,
}

pub(super) fn run(context: &Context, args: &Args) -> anyhow::Result<Exit> {
    let (state, _, environment) = held::read(context)?;
    match args.format {
        Format::Json => {
            let list = ListJson { format: 1, environment, templates: rows(&state) };
            context.terminal.json(&list)?;
        }
        Format::Text if state.records.is_empty() => context.terminal.say("the state knows no template yet"),
        Format::Text => context.terminal.data(text(&state)),
    }
    Ok(Exit::Done)
}

fn rows(state: &State) -> Vec<Row> {
    state.records.iter().map(|(key, record)| row(key.as_str(), record)).collect()
}

/// One row, as `state list` and `state show KEY` print it.
pub(super) fn row(key: &str, record: &Record) -> Row {
    Row {
        key: key.to_owned(),
        state: record.entry.word(),
        id: record.entry.id().map(ToString::to_string),
        digest: record.entry.digest().map(|digest| digest.to_string()),
        applied: record.applied.as_ref().map(Timestamp::to_string),
    }
}

fn text(state: &State) -> String {
    let lines: Vec<Vec<String>> = state
        .records
        .iter()
        .map(|(key, record)| {
            vec![
                Untrusted(key.as_str()).line().to_string(),
                record.entry.word().to_owned(),
                record.entry.id().map_or_else(|| "-".to_owned(), ToString::to_string),
                record.applied.map_or_else(|| "-".to_owned(), held::moment),
            ]
        })
        .collect();
    columns::render(&lines)
}
