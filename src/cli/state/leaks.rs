//! `state leaks`: placeholders that may exist without an owner.

use std::collections::BTreeSet;
use std::str::FromStr as _;

use super::Format;
use super::held::{self, Wait};
use crate::cli::{Context, Exit, Failure};
use crate::state::{Change, Op};
use crate::untrusted::Untrusted;

/// List empty templates that may exist at the service because an answer was lost
///
/// Each is named after the operation that asked for it, has no content, and counts toward the service's limit. Delete them in the service's web page, then
/// forget them here.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Forget these: their names as listed, after they were deleted or were never found
    #[arg(long, value_name = "NAME", num_args = 1..)]
    forget: Vec<String>,
    /// Forget all of them
    #[arg(long, conflicts_with = "forget")]
    forget_all: bool,
    /// The form
    #[arg(long, value_name = "FORM", default_value = "text", env = "LETTERPRESS_FORMAT")]
    format: Format,
    #[command(flatten)]
    wait: Wait,
}

pub(super) fn run(context: &Context, args: &Args) -> anyhow::Result<Exit> {
    if args.forget_all || !args.forget.is_empty() {
        return forget(context, args);
    }
    let (state, _, _) = held::read(context)?;
    let names: Vec<String> = state.leaked.iter().map(Op::placeholder_name).collect();
    match args.format {
        Format::Json => {
            let json = serde_json::json!({ "format": 1, "leaked": names });
            context.terminal.json(&json)?;
        }
        Format::Text if names.is_empty() => context.terminal.say("nothing has leaked"),
        Format::Text => context.terminal.data(format_args!("{}\n", names.join("\n"))),
    }
    Ok(Exit::Done)
}

fn forget(context: &Context, args: &Args) -> anyhow::Result<Exit> {
    let named: BTreeSet<Op> = args.forget.iter().map(|name| read(name)).collect::<Result<_, _>>()?;
    let mut forgotten = 0;
    held::change(context, &args.wait, |state| {
        if let Some(unknown) = named.iter().find(|op| !state.leaked.contains(op)) {
            return Err(Failure::new(Exit::Failed, format!("`{}` is not among the leaks", unknown.placeholder_name())));
        }
        let ops: Vec<Op> = if args.forget_all { state.leaked.clone() } else { named.iter().copied().collect() };
        forgotten = ops.len();
        Ok((ops.into_iter().map(|op| Change::Unleak { op }).collect(), format!("state leaks: forgot {forgotten}")))
    })?;
    context.terminal.say(format_args!("forgot {forgotten}"));
    Ok(Exit::Done)
}

fn read(name: &str) -> Result<Op, Failure> {
    let uuid = name.strip_prefix("letterpress-").unwrap_or(name);
    uuid::Uuid::from_str(uuid)
        .map(Op)
        .map_err(|_| Failure::new(Exit::Usage, format!("`{}` is no name of a placeholder", Untrusted(name).line())))
}
