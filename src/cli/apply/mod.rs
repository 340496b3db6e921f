//! `apply`: do what the plan says.

mod begin;
mod ending;
mod group;
pub mod stream;
mod tree;
mod watch;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};

use super::checked;
use super::interrupt::Interrupt;
use super::keep::{Keeper, Lost};
use super::plan::compare::{self, Compared, Look};
use super::report::plan_detail::{Layers, Layout};
use super::report::plan_json;
use super::report::plan_text::{self, Rows};
use super::selection::SelectionArgs;
use super::service::{self, Service};
use super::{Context, Exit, Failure, place, runtime, who};
use crate::apply::{self, Config, Loaded, Means};
use crate::desired::Key;
use crate::plan::{Options, Plan, Stale, Step};
use crate::source::BaseUrl;
use crate::state::{self, Location, Run, Session, State, Waiting};
use crate::untrusted::Untrusted;
use begin::Begun;
use stream::{Counts, Frame, Told};
use watch::Watch;

/// Do what the plan says: create, update, and write down the ids
///
/// Asks on a terminal and needs `--yes` elsewhere. Ends with 0 only when everything is done; with 6 when some templates were refused: the others are
/// applied, and running it again is safe. A run that was cut off is healed by the next one.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// A plan saved by `plan --out`: apply exactly that, or refuse
    #[arg(value_name = "PLANFILE")]
    file: Option<PathBuf>,
    /// Do not ask
    #[arg(short, long, env = "LETTERPRESS_YES")]
    yes: bool,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Only what the environment ENV has live, as the files are now: promotion
    #[arg(long, value_name = "ENV", env = "LETTERPRESS_FROM", conflicts_with = "file")]
    from: Option<String>,
    /// Send every template again, also unchanged ones: undoes edits in the service's web page
    #[arg(long, conflicts_with = "file")]
    reassert: bool,
    /// Go on only when the plan has this digest (see `plan --format json`)
    #[arg(long, value_name = "DIGEST", env = "LETTERPRESS_PLAN_DIGEST")]
    plan_digest: Option<String>,
    /// How long to wait for another run to end, e.g. `90s` or `5m`; for a bucket 90 s unless said otherwise, for a folder not at all
    #[arg(long, value_name = "DURATION", env = "LETTERPRESS_LOCK_TIMEOUT")]
    lock_timeout: Option<SignedDuration>,
    /// What is printed: lines for people, or one JSON event a line
    #[arg(long, value_enum, default_value = "text", env = "LETTERPRESS_APPLY_FORMAT")]
    format: Format,
    #[command(flatten)]
    folding: group::Folding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Lines for people
    Text,
    /// One JSON event a line
    Json,
}

/// One apply, before it talks to anybody.
struct Job<'a> {
    context: &'a Context,
    args: &'a Args,
    begun: &'a Begun,
    /// What it did, for the last line of the event stream.
    counts: Cell<Counts>,
}

/// Runs the command. The event stream ends with the exit code, whatever happens.
///
/// # Errors
///
/// Everything that keeps an apply from beginning; how it ended once it began is in the exit code.
pub fn run(context: &Context, args: &Args) -> anyhow::Result<Exit> {
    let mut counts = Counts::default();
    let result = runtime::run(attempt(context, args, &mut counts));
    if args.format == Format::Json {
        stream::end(&context.terminal, &result, counts);
    }
    result
}

async fn attempt(context: &Context, args: &Args, counts: &mut Counts) -> anyhow::Result<Exit> {
    if !args.yes && (!context.terminal.can_ask() || args.format == Format::Json) {
        let help = "read `letterpress plan` first, then run it with `--yes`";
        return Err(Failure::new(Exit::Usage, "nobody can be asked here, so `apply` needs `--yes`").help(help).into());
    }
    // Whoever is going to be asked may simply end the process at the question.
    let interrupt = if args.yes { Some(listen(context)?) } else { None };
    let begun = unsent(interrupt.as_ref(), begin::begin(context, args)).await?;
    let job = Job { context, args, begun: &begun, counts: Cell::default() };
    let result = job.run(interrupt).await;
    *counts = job.counts.get();
    result
}

/// The first signal drains, the second saves and ends (safety §5).
fn listen(context: &Context) -> anyhow::Result<Interrupt> {
    let terminal = context.terminal.clone();
    let tell = move |times| {
        terminal.say(match times {
            1 => "\nstopping: requests under way are given up to 6 s, then the state is saved. Again to end at once",
            _ => "\nending: saving the state",
        });
    };
    Interrupt::watch(tell).context("cannot listen for Ctrl-C")
}

/// Work that sends nothing: an interrupt ends it, where somebody listens for one.
async fn unsent<T, E: Into<anyhow::Error>>(
    interrupt: Option<&Interrupt>,
    work: impl Future<Output = Result<T, E>>,
) -> anyhow::Result<T> {
    let Some(interrupt) = interrupt else { return work.await.map_err(Into::into) };
    tokio::select! {
        done = work => done.map_err(Into::into),
        () = interrupt.times(1) => Err(before_anything(interrupt).into()),
    }
}

fn before_anything(interrupt: &Interrupt) -> Failure {
    Failure::new(interrupt.exit().unwrap_or(Exit::Interrupted), "interrupted before anything was sent")
}

impl Job<'_> {
    /// Connects (one request), does it, and lets the built-in service end after its last write.
    async fn run(&self, interrupt: Option<Interrupt>) -> anyhow::Result<Exit> {
        let connect = service::connect(self.context, &self.begun.project, &self.begun.environment);
        let service = unsent(interrupt.as_ref(), connect).await?;
        let result = self.with(&service, interrupt).await;
        service.close().await;
        result
    }

    async fn with(&self, service: &Service, interrupt: Option<Interrupt>) -> anyhow::Result<Exit> {
        let location = place::location(&self.begun.project, &self.begun.environment)?;
        let state = unsent(interrupt.as_ref(), self.state(&location, service)).await?;
        service.belongs_to(&state.account)?;
        let keys = self.begun.found.folders.iter().chain(state.records.keys());
        self.begun.selection.warn(&self.context.terminal, keys);
        let (plan, steps) = self.plan(&state)?;
        self.show(&plan).await?;
        if !plan.conflicts.is_empty() {
            return Err(Failure::new(Exit::Findings, "the plan has conflicts; nothing was sent").into());
        }
        if steps.is_empty() {
            // What stays is healed by the next run that has something to do.
            let _ = Session::free_from_the_dead(&location, Run::of_this_process(who::who())).await;
            return Ok(Exit::Done);
        }
        if !self.approved()? {
            self.context.terminal.say("nothing was done");
            return Ok(Exit::Failed);
        }
        let interrupt = interrupt.map_or_else(|| listen(self.context), Ok)?;
        let session = self.acquire(&location, &interrupt).await?;
        let (now, now_steps) = self.plan(session.state())?;
        let approved_by_eye = !self.args.yes || self.args.plan_digest.is_some();
        if (approved_by_eye && now_steps != steps) || !now.conflicts.is_empty() {
            session.release().await.map_err(place::failure)?;
            return Err(Failure::new(Exit::Unusable, "another run changed the state since this plan was shown")
                .help("run it again and look at the new plan")
                .into());
        }
        self.carry_out(service, session, &now_steps, interrupt).await
    }

    /// The state as it is, unheld. The built-in service gets one at its first apply; any other needs `state init`.
    async fn state(&self, location: &Location, service: &Service) -> Result<State, Failure> {
        match state::read(location).await {
            Err(state::Error::Missing { .. }) if self.begun.environment.base_url == BaseUrl::Sandbox => {
                let mut run = Run::of_this_process(who::who());
                state::init(location, service.account.clone(), &mut run).await.map_err(place::failure)
            }
            other => other.map_err(place::failure),
        }
    }

    /// The plan against a state, and the steps to carry out: all of it, or what a plan file reviewed.
    fn plan(&self, state: &State) -> Result<(Plan, Vec<Step>), Failure> {
        let reviewed: Option<BTreeSet<&Key>> =
            self.begun.file.as_ref().map(|file| file.plan().steps.iter().map(|step| &step.key).collect());
        let selects = |key: &Key| {
            self.begun.selection.selects(key) && reviewed.as_ref().is_none_or(|reviewed| reviewed.contains(key))
        };
        let options = Options {
            environment: &self.begun.environment.name,
            reassert: self.args.reassert || self.begun.file.as_ref().is_some_and(|file| file.plan().is_reasserting()),
            selects: &selects,
        };
        let plan = crate::plan::plan(&self.begun.found.desired, &self.begun.found.folders, state, options);
        if let Some(digest) = &self.args.plan_digest
            && plan.digest().to_string() != *digest
        {
            let message = format!("the plan now has the digest {}, not {}", plan.digest(), Untrusted(digest).line());
            let help = "the files or the state changed since it was approved: read the plan again";
            return Err(Failure::new(Exit::Unusable, message).help(help));
        }
        let steps = match &self.begun.file {
            None => plan.steps.clone(),
            Some(file) => {
                let steps = file
                    .still_holds(&plan, &|key| self.begun.selection.selects(key))
                    .map_err(|stale| refused(&stale))?;
                steps.into_iter().filter(|step| self.begun.selection.selects(&step.key)).collect()
            }
        };
        Ok((plan, steps))
    }

    /// Whoever is asked sees what changes inside the templates; whoever said `--yes` has seen it.
    async fn show(&self, plan: &Plan) -> anyhow::Result<()> {
        let terminal = &self.context.terminal;
        match self.args.format {
            Format::Text if self.args.yes => terminal.data(plan_text::render(plan, Timestamp::now())),
            Format::Text => {
                let rows = Rows::new(plan, Layout { layers: Layers::Words, width: terminal.width() });
                terminal.data(plan_text::head(plan, Timestamp::now()));
                let make = move |step: &Step, compared: Compared| rows.one(step, compared.detail.as_ref());
                let show = |row: String| {
                    terminal.data(row);
                    Ok(true)
                };
                let (project, environment) = (&self.begun.project, &self.begun.environment);
                compare::each(project, environment, &plan_text::in_order(plan), Look::Changed, make, show).await?;
                terminal.data(plan_text::tail(plan));
            }
            Format::Json => stream::line(terminal, Told::Frame(Frame::Plan { plan: Box::new(plan_json::value(plan)) })),
        }
        Ok(())
    }

    fn approved(&self) -> anyhow::Result<bool> {
        if self.args.yes {
            return Ok(true);
        }
        let question = format!("\nApply this to `{}`?", Untrusted(&self.begun.environment.name).line());
        dialoguer::Confirm::new().with_prompt(question).default(false).interact().context("no answer")
    }

    /// Waits for the state; an interrupt ends the wait, and a state that comes after it is freed again.
    async fn acquire(&self, location: &Location, interrupt: &Interrupt) -> Result<Session, Failure> {
        let default = match location {
            Location::Folder(_) => Duration::ZERO,
            Location::Bucket { .. } => Duration::from_secs(90),
        };
        let timeout = self.args.lock_timeout.map_or(default, SignedDuration::unsigned_abs);
        let waits = Cell::new(false);
        let tell = |waiting: &Waiting| {
            waits.set(true);
            let who = waiting.holder.as_ref().map(|holder| holder.who.clone());
            let up_to_seconds = timeout.as_secs();
            match self.args.format {
                Format::Json => {
                    stream::line(&self.context.terminal, Told::Frame(Frame::Lock { held_by: who, up_to_seconds }));
                }
                Format::Text => {
                    let who = who.as_deref().unwrap_or("another run");
                    let who = Untrusted(who).line();
                    let line = format!("waiting for the state, held by {who} (up to {up_to_seconds} s)");
                    self.context.terminal.say(line);
                }
            }
        };
        let mut session = pin!(Session::acquire(location, Run::of_this_process(who::who()), timeout, tell));
        tokio::select! {
            session = &mut session => return session.map_err(place::failure),
            () = interrupt.times(1) => {}
        }
        // Whoever does not wait is about to write: breaking that off could leave the state held by nobody.
        let grace = if waits.get() { Duration::from_millis(200) } else { Duration::from_secs(5) };
        if let Ok(Ok(session)) = tokio::time::timeout(grace, session).await
            && let Ok(released) = tokio::time::timeout(Duration::from_secs(1), session.release()).await
        {
            released.map_err(place::failure)?;
        }
        Err(before_anything(interrupt))
    }

    async fn carry_out(
        &self,
        service: &Service,
        session: Session,
        steps: &[Step],
        interrupt: Interrupt,
    ) -> anyhow::Result<Exit> {
        let terminal = &self.context.terminal;
        let mut config = Config::new(usize::try_from(self.begun.environment.concurrency).unwrap_or(usize::MAX));
        config.requests_per_second = self.begun.environment.requests_per_second.map(f64::from);
        if self.begun.environment.base_url == BaseUrl::Sandbox {
            // It lives in this process: whatever an earlier run had sent to it has ended with that run.
            config.settle = Duration::ZERO;
        }
        let location = place::location(&self.begun.project, &self.begun.environment)?;
        let keeper = Keeper::start(&location).map_err(place::failure)?;
        let keep = keeper.hand();
        let (project, name) = (Arc::clone(&self.begun.project), self.begun.environment.name.clone());
        let load = move |key: &Key| {
            let environment = project.environment(Some(&name)).map_err(|error| error.to_string())?;
            let template = checked::template(&project, environment, key).map_err(|error| error.to_string())?;
            Ok(Loaded { digest: template.digest(), template })
        };
        let mut watch = match self.args.format {
            Format::Text => Watch::people(terminal, steps, self.args.folding.group()),
            Format::Json => Watch::Json { terminal },
        };
        let rescue = self.begun.project.root.join(".letterpress");
        let (keeper, lost) = (Cell::new(Some(keeper)), Cell::new(Lost::default()));
        let tidy = async |kept, held: apply::Held| {
            if let Some(keeper) = keeper.take() {
                lost.set(keeper.tidy(kept, held).await);
            }
        };
        let means = Means {
            client: &service.client,
            load: Arc::new(load),
            tell: &mut |event| watch.tell(event),
            sent: &|Loaded { template, digest }| keep.keep(template, digest),
            interrupts: interrupt.count.clone(),
            rescue: &rescue,
            tidy: Box::new(|kept, held| Box::pin(tidy(kept, held))),
        };
        let outcome = apply::run(steps, session, config, means).await.map_err(|moved| {
            Failure::new(Exit::Unusable, moved.to_string()).help("run it again and look at the new plan")
        })?;
        let took = watch.end();
        if let Some(keeper) = keeper.take() {
            // The run stopped early. Whoever interrupted does not wait for what only serves to show the next plan.
            let patience = if interrupt.exit().is_some() { Duration::from_millis(100) } else { Duration::MAX };
            lost.set(keeper.finish(patience).await);
        }
        lost.take().warn(terminal);
        self.counts.set(Counts::of(&outcome));
        if self.args.format == Format::Text {
            terminal.data(ending::text(&outcome, &ending::Words::of(steps), took));
        }
        Ok(ending::exit(&outcome, interrupt.exit().unwrap_or(Exit::Interrupted)))
    }
}

fn refused(stale: &[Stale]) -> Failure {
    let lines: Vec<String> = stale.iter().map(ToString::to_string).collect();
    Failure::new(Exit::Unusable, format!("the plan file no longer holds: {}", lines.join("; ")))
        .help("nothing was sent; make a new plan and have it reviewed: letterpress plan --out FILE")
}
