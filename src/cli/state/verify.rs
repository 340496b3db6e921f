//! `state verify`: is everything in order?

use super::{columns, held};
use crate::cli::{Context, Exit, place, runtime};
use crate::state::{self, Verdict};
use crate::untrusted::Untrusted;

/// Read every object of the state and look whether all of it is in order
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn run(context: &Context, _args: &Args) -> anyhow::Result<Exit> {
    let (location, _) = held::location(context)?;
    let checks = runtime::run(async { Ok(state::verify(&location).await.map_err(place::failure)?) })?;
    let bad = checks.iter().any(|check| matches!(check.verdict, Verdict::Bad(_)));
    let rows: Vec<Vec<String>> = checks
        .iter()
        .map(|check| {
            let (word, text) = match &check.verdict {
                Verdict::Good(text) => ("good", text),
                Verdict::Note(text) => ("note", text),
                Verdict::Bad(text) => ("bad", text),
            };
            vec![word.to_owned(), check.what.clone(), Untrusted(text).line().to_string()]
        })
        .collect();
    context.terminal.data(columns::render(&rows));
    Ok(if bad { Exit::Unusable } else { Exit::Done })
}
