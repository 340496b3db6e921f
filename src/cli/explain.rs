//! `letterpress explain`: why a rule exists, a wrong and a right example.

use super::report::rules;
use super::{Context, Exit, Failure};
use crate::check::table;
use crate::source::closest;

/// Explain a rule: why it exists, a wrong and a right example; without a name, list them all
#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// The rule
    #[arg(value_name = "RULE")]
    rule: Option<String>,
    /// The form of the answer
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For a terminal
    Text,
    /// As docs/rules.md has it
    Markdown,
}

/// Runs the command.
///
/// # Errors
///
/// Exit 64 for a rule that does not exist.
pub fn run(context: &Context, args: &ExplainArgs) -> anyhow::Result<Exit> {
    let chosen = match &args.rule {
        None => None,
        Some(name) => Some(table::rule(name).ok_or_else(|| {
            let meant = closest(name, table::all().map(|rule| rule.name));
            let help = meant.map_or_else(
                || "`letterpress explain` lists them".to_owned(),
                |word| format!("did you mean `{word}`?"),
            );
            Failure::new(Exit::Usage, format!("there is no rule `{name}`")).help(help)
        })?),
    };
    context.terminal.data(match (chosen, args.format) {
        (None, Format::Text) => rules::list(),
        (None, Format::Markdown) => rules::document(),
        (Some(rule), Format::Text) => rules::page(rule),
        (Some(rule), Format::Markdown) => rules::section(rule),
    });
    Ok(Exit::Done)
}
