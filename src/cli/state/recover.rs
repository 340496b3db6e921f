//! `state recover`: take in the ids that a log of earlier applies has.

use std::io::{self, BufRead as _, BufReader, Read};
use std::path::PathBuf;

use anyhow::Context as _;

use super::held::{self, Wait};
use crate::apply::{Recovered, Rescue, Taken};
use crate::cli::report::plan_text::count;
use crate::cli::{Context, Exit, Failure, checked};

/// Take in the ids that the event stream of earlier applies has (`apply --format json`)
///
/// The last safety net when a state is lost: after `state init`, it gives every key the id it had. The content counts as unknown: the next
/// apply sends it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The log; `-` for stdin. Other lines, and stamps before a line, are skipped
    #[arg(long, value_name = "LOG")]
    from_events: PathBuf,
    #[command(flatten)]
    wait: Wait,
}

pub(super) fn run(context: &Context, args: &Args) -> anyhow::Result<Exit> {
    let environment = checked::environment(context, &checked::project(context)?)?.name.clone();
    let found = read(context, args, &environment)?;
    if found.elsewhere > 0 {
        context.terminal.warn(format_args!("{} of other environments skipped", count(found.elsewhere, "event")));
    }
    let changes = found.changes();
    if changes.is_empty() {
        let message = format!("{}: no id of the environment `{environment}` in it", args.from_events.display());
        return Err(Failure::new(Exit::Unusable, message).help("it takes what `apply --format json` wrote").into());
    }
    let mut taken = Taken::default();
    held::change(context, &args.wait, |state| {
        let rescue = Rescue { format: 1, lineage: state.lineage, run: uuid::Uuid::nil(), changes: changes.clone() };
        taken = rescue.take_in(state);
        Ok((taken.changes.clone(), format!("state recover: {} ids", taken.ids)))
    })?;
    for (key, id, held) in &taken.conflicts {
        context.terminal.warn(format_args!("`{key}` has the id {held}, and the log says {id}; the state is believed"));
    }
    context.terminal.say(format_args!("took in {} of {}", taken.ids, count(found.ids(), "id")));
    Ok(Exit::Done)
}

fn read(context: &Context, args: &Args, environment: &str) -> anyhow::Result<Recovered> {
    let cannot = || format!("cannot read {}", args.from_events.display());
    let from: Box<dyn Read> = if args.from_events.as_os_str() == "-" {
        Box::new(io::stdin())
    } else {
        Box::new(std::fs::File::open(context.cwd.join(&args.from_events)).with_context(cannot)?)
    };
    let mut found = Recovered::default();
    for line in BufReader::new(from).split(b'\n') {
        found.line(&String::from_utf8_lossy(&line.with_context(cannot)?), environment);
    }
    Ok(found)
}
