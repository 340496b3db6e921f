//! `state history`: who did what, and when.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Format, columns, held};
use crate::cli::{Context, Exit};
use crate::state::Deed;
use crate::untrusted::Untrusted;

/// Show who changed the state, when, and what they did, the latest first
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many at most
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// The form
    #[arg(long, value_name = "FORM", default_value = "text", env = "LETTERPRESS_FORMAT")]
    format: Format,
}

/// `state history --format json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "letterpress state history")]
pub(super) struct HistoryJson {
    /// 1. Fields may be added within a format; none is removed or changes its meaning.
    format: u32,
    /// The environment's name.
    environment: String,
    /// The latest first.
    history: Vec<Row>,
}

/// One deed.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Row {
    /// When, RFC 3339.
    at: String,
    /// Who.
    who: String,
    /// The run.
    run: String,
    /// What.
    what: String,
}

pub(super) fn run(context: &Context, args: &Args) -> anyhow::Result<Exit> {
    let (state, _, environment) = held::read(context)?;
    let latest: Vec<&Deed> = state.history.iter().rev().take(args.limit).collect();
    match args.format {
        Format::Json => {
            let history = latest.iter().map(|deed| row(deed)).collect();
            let json = HistoryJson { format: 1, environment, history };
            context.terminal.json(&json)?;
        }
        Format::Text => {
            let lines: Vec<Vec<String>> = latest
                .iter()
                .map(|deed| {
                    let line = |text: &str| Untrusted(text).line().to_string();
                    vec![held::moment(deed.stamp.at), line(&deed.stamp.who), line(&deed.what)]
                })
                .collect();
            context.terminal.data(columns::render(&lines));
        }
    }
    Ok(Exit::Done)
}

fn row(deed: &Deed) -> Row {
    Row {
        at: deed.stamp.at.to_string(),
        who: deed.stamp.who.clone(),
        run: deed.stamp.run.to_string(),
        what: deed.what.clone(),
    }
}
