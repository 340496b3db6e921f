//! Commands that change the state: hold it, one commit, free it.

use jiff::{SignedDuration, Timestamp};

use crate::cli::{Context, Exit, Failure, checked, place, runtime, who};
use crate::state::{self, Change, Location, Run, Session, State, Waiting};
use crate::untrusted::Untrusted;

/// How long to wait for another run.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Wait {
    /// How long to wait for another run to end, e.g. `90s` or `5m`
    #[arg(long, value_name = "DURATION", default_value = "0s", env = "LETTERPRESS_LOCK_TIMEOUT")]
    lock_timeout: SignedDuration,
}

/// Whether to ask.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Yes {
    /// Do not ask
    #[arg(short, long, env = "LETTERPRESS_YES")]
    yes: bool,
}

impl Yes {
    /// Asks, where a person can answer; elsewhere `--yes` is needed.
    pub(super) fn ask(&self, context: &Context, question: &str) -> anyhow::Result<bool> {
        if self.yes {
            return Ok(true);
        }
        if !context.terminal.can_ask() {
            return Err(Failure::new(Exit::Usage, "nobody can be asked here, so this needs `--yes`")
                .help(question)
                .into());
        }
        Ok(dialoguer::Confirm::new().with_prompt(question).default(false).interact()?)
    }
}

/// The place of the environment's state, and the environment's name.
pub(super) fn location(context: &Context) -> anyhow::Result<(Location, String)> {
    let project = checked::project(context)?;
    let environment = checked::environment(context, &project)?;
    Ok((place::location(&project, environment)?, environment.name.clone()))
}

/// Reads the state without holding it.
pub(super) fn read(context: &Context) -> anyhow::Result<(State, Location, String)> {
    let (location, environment) = location(context)?;
    let state = runtime::run(async { Ok(state::read(&location).await.map_err(place::failure)?) })?;
    Ok((state, location, environment))
}

/// Gets hold of a state, saying whom it waits for.
pub(super) async fn acquire(context: &Context, location: &Location, wait: &Wait) -> Result<Session, Failure> {
    let tell = |waiting: &Waiting| {
        let who = waiting.holder.as_ref().map_or("another run", |holder| holder.who.as_str());
        context.terminal.say(format_args!("the state is held by {}; waiting", Untrusted(who).line()));
    };
    let timeout = wait.lock_timeout.unsigned_abs();
    Session::acquire(location, this_run(), timeout, tell).await.map_err(place::failure)
}

/// This run, as the state's history names it.
pub(super) fn this_run() -> Run {
    Run::of_this_process(who::who())
}

/// Holds the state, makes one commit of what `decide` says, and frees it again, whatever `decide` says.
pub(super) fn change(
    context: &Context,
    wait: &Wait,
    decide: impl FnOnce(&State) -> Result<(Vec<Change>, String), Failure>,
) -> anyhow::Result<()> {
    let (location, _) = location(context)?;
    runtime::run(async {
        let mut session = acquire(context, &location, wait).await?;
        say_healed(context, &session);
        let decided = decide(session.state());
        let committed = match decided {
            Ok((changes, _)) if changes.is_empty() => Ok(()),
            Ok((changes, what)) => session.commit(changes, &what).await.map_err(place::failure),
            Err(failure) => Err(failure),
        };
        let released = session.release().await.map_err(place::failure);
        committed?;
        Ok(released?)
    })
}

fn say_healed(context: &Context, session: &Session) {
    let healed = session.healed();
    if !healed.is_empty() {
        context.terminal.say(format_args!(
            "an earlier run was cut off: {} to be sent again, {} leaked",
            healed.dirty.len(),
            healed.leaked.len()
        ));
    }
}

/// `2026-11-21 03:12:05 UTC`
pub(super) fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}
