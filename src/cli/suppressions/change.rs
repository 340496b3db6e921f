//! `suppressions add`, `remove` and `import`, one address or a list of them (`interface §4.3`, §4.5).

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use jiff::Timestamp;

use super::addresses::{self, Flaw, Form, List, Row};
use super::bulk::{self, Deed, Pace, Stop};
use super::ledger::{Counts, Kept, Ledger, Report};
use super::position::Resume;
use super::progress;
use crate::cli::interrupt::Interrupt;
use crate::cli::service::{self, Service};
use crate::cli::{Context, Exit, Failure, checked, dates, runtime};
use crate::client::REASONS;
use crate::source::{Environment, closest};
use crate::untrusted::Untrusted;

/// Put an address, or a list of them, on the suppression list
#[derive(Debug, clap::Args)]
pub struct AddArgs {
    /// The address
    #[arg(required_unless_present = "from_file", conflicts_with = "from_file")]
    email: Option<String>,
    #[command(flatten)]
    record: Record,
    /// A list of addresses: csv with a column `email` (and `reason`, `created`), jsonl, or one address a line; `-` is stdin
    #[arg(long, value_name = "FILE")]
    from_file: Option<PathBuf>,
    #[command(flatten)]
    many: Many,
}

/// Put every address of a file on the suppression list
#[derive(Debug, clap::Args)]
pub struct ImportArgs {
    /// The list: csv with a column `email` (and `reason`, `created`), jsonl, or one address a line; `-` is stdin
    file: PathBuf,
    #[command(flatten)]
    record: Record,
    #[command(flatten)]
    many: Many,
}

/// Take an address, or a list of them, off the suppression list
#[derive(Debug, clap::Args)]
pub struct RemoveArgs {
    /// The address
    #[arg(required_unless_present = "from_file", conflicts_with = "from_file")]
    email: Option<String>,
    /// A list of addresses: csv with a column `email`, jsonl, or one address a line; `-` is stdin
    #[arg(long, value_name = "FILE")]
    from_file: Option<PathBuf>,
    /// Do not ask
    #[arg(short, long, env = "LETTERPRESS_SUPPRESSIONS_YES")]
    yes: bool,
    /// Refuse a list that is longer
    #[arg(long, value_name = "N", default_value_t = 100)]
    max_deletes: u64,
    #[command(flatten)]
    many: Many,
}

/// What an added record says.
#[derive(Debug, clap::Args)]
struct Record {
    /// Why: unsubscribed, temporary_unavailable, permanent_unavailable, complained; for rows of a list without a reason of their own
    #[arg(long, value_name = "REASON")]
    reason: Option<String>,
    /// When it came about: `2026-11-01`, `2026-11-01 08:30` (UTC), or a while ago as `7d`; without it the service takes now
    #[arg(long, value_name = "DATE")]
    created: Option<String>,
}

/// Options for lists.
#[derive(Debug, clap::Args)]
pub struct Many {
    /// The form of the list; without it what the extension or the first line says
    #[arg(long, value_name = "FORM")]
    input_format: Option<Form>,
    /// The form of the report, which has a line for every address
    #[arg(long, value_name = "FORM", default_value = "text", env = "LETTERPRESS_REPORT_FORMAT")]
    format: Report,
    /// Where to write what is left to do, if anything; without it beside the list, as `LIST.rest.csv`
    #[arg(long, value_name = "FILE")]
    rest: Option<PathBuf>,
    /// Keep the position in this file, and go on from there after an interruption
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
}

/// Runs `suppressions add`.
///
/// # Errors
///
/// Exit 3 when a line of the list is wrong, 6 when some addresses were refused, 7 when the key is.
pub fn add(context: &Context, args: &AddArgs) -> anyhow::Result<Exit> {
    let deed = adding(context, &args.record)?;
    run(context, &deed, args.email.as_deref(), args.from_file.as_deref(), &args.many, |_, _| Ok(()))
}

/// Runs `suppressions import`.
///
/// # Errors
///
/// As `add`.
pub fn import(context: &Context, args: &ImportArgs) -> anyhow::Result<Exit> {
    let deed = adding(context, &args.record)?;
    run(context, &deed, None, Some(&args.file), &args.many, |_, _| Ok(()))
}

/// Runs `suppressions remove`.
///
/// # Errors
///
/// As `add`; 64 when there is nobody to ask, or the list is longer than `--max-deletes`.
pub fn remove(context: &Context, args: &RemoveArgs) -> anyhow::Result<Exit> {
    let agree = |service: &Service, rows: u64| {
        if rows > args.max_deletes {
            let message = format!("{rows} addresses are to be removed, and `--max-deletes` is {}", args.max_deletes);
            return Err(Failure::new(Exit::Usage, message).help(format!(
                "nothing was sent; `--max-deletes {rows}` allows it. The service has a daily limit of its own"
            )));
        }
        let what = match &args.email {
            Some(email) => Untrusted(email).line().to_string(),
            None => format!("{rows} addresses"),
        };
        let from = service::describe(&service.account);
        let question = format!("Remove {what} from the suppression list of {from}? Mail will be sent there again");
        ask(context, args.yes, &question)
    };
    run(context, &Deed::Remove, args.email.as_deref(), args.from_file.as_deref(), &args.many, agree)
}

/// Asks a person, or refuses to go on without one.
///
/// # Errors
///
/// Exit 64 when nobody can answer, exit 1 when the answer is no.
pub fn ask(context: &Context, yes: bool, question: &str) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !context.terminal.can_ask() {
        return Err(Failure::new(Exit::Usage, "this needs a yes, and there is nobody to ask").help("`--yes` says so"));
    }
    match dialoguer::Confirm::new().with_prompt(question).default(false).interact() {
        Ok(true) => Ok(()),
        _ => Err(Failure::new(Exit::Failed, "nothing was sent")),
    }
}

fn adding(context: &Context, record: &Record) -> Result<Deed, Failure> {
    if let Some(reason) = &record.reason {
        known_reason(reason).map_err(|why| Failure::new(Exit::Usage, format!("`--reason`: {why}")))?;
        if reason == "blocked" {
            context.terminal.warn("`blocked` is the administration's word: services may refuse it from others");
        }
    }
    let created = record.created.as_deref().map(|text| {
        dates::read(text, Timestamp::now())
            .map_err(|why| Failure::new(Exit::Usage, format!("`--created {text}` is {why}")))
    });
    Ok(Deed::Add { reason: record.reason.clone(), created: created.transpose()? })
}

fn known_reason(reason: &str) -> Result<(), String> {
    if REASONS.contains(&reason) {
        return Ok(());
    }
    let meant = closest(reason, REASONS).map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
    Err(format!("`{reason}` is none of {}{meant}", REASONS.join(", ")))
}

/// The story of a change: check everything, connect, agree, send, say what is left.
///
/// # Errors
///
/// See [`add`].
pub fn run(
    context: &Context,
    deed: &Deed,
    email: Option<&str>,
    list: Option<&Path>,
    many: &Many,
    agree: impl FnOnce(&Service, u64) -> Result<(), Failure>,
) -> anyhow::Result<Exit> {
    let project = checked::project(context)?;
    let environment = checked::environment(context, &project)?;
    let mut rows = match (email, list) {
        (Some(email), _) => Input::one(deed, email)?,
        (None, Some(path)) => Input::list(context, deed, path, many.input_format)?,
        (None, None) => return Err(Failure::new(Exit::Usage, "no address and no list").into()),
    };
    if rows.count() == 0 {
        context.terminal.say("the list has no address in it; nothing to do");
        return Ok(Exit::Done);
    }
    let rest = rows.rest(many);
    runtime::run(async {
        let service = service::connect(context, &project, environment).await?;
        agree(&service, rows.count())?;
        let resume = many.resume.as_deref().map(|path| rows.resume(path, deed, &service)).transpose()?;
        let repeatable = !matches!(deed, Deed::Subscribe { .. });
        let mut ledger = Ledger::open(
            context,
            many.format,
            progress::of(context, rows.count()),
            resume,
            rest.as_deref(),
            repeatable,
        )?;
        let interrupt = Interrupt::watch(|_| {}).context("cannot watch for signals")?;
        let pace = Pace { concurrency: environment.concurrency, per_second: environment.requests_per_second };
        let after = ledger.settled();
        let rows = rows.rows()?.filter(|row| row.line > after);
        let stop = bulk::run(&service, deed, pace, rows, &mut ledger, &interrupt).await?;
        let left = ledger.close(stop.is_some())?;
        let counts = ledger.counts;
        service.close().await;
        conclude(context, environment, deed, counts, stop, left, many)
    })
}

/// One address, or a list whose every line was checked.
enum Input {
    One(Row),
    List { list: List, count: u64 },
}

impl Input {
    fn one(deed: &Deed, email: &str) -> Result<Self, Failure> {
        addresses::address(email).map_err(|why| Failure::new(Exit::Usage, why))?;
        let row = Row { line: 1, email: email.to_owned(), reason: None, created: None };
        check(deed, &row).map_err(|why| Failure::new(Exit::Usage, why))?;
        Ok(Self::One(row))
    }

    /// Opens a list and checks every line of it.
    fn list(context: &Context, deed: &Deed, path: &Path, form: Option<Form>) -> anyhow::Result<Self> {
        let path = if path == Path::new("-") { path.to_owned() } else { context.cwd.join(path) };
        let located = || format!("cannot read {}", path.display());
        let mut list = List::open(&path, form).with_context(located)?;
        let (mut count, mut wrong) = (0, 0);
        let name = list.name.clone();
        for row in list.rows(Timestamp::now()).with_context(located)? {
            count += 1;
            let flaw = match row {
                Ok(row) => match check(deed, &row) {
                    Ok(()) => continue,
                    Err(message) => Flaw { line: row.line, message },
                },
                Err(flaw) => flaw,
            };
            wrong += 1;
            if wrong <= FLAWS_SHOWN {
                let at = format!("{name}:{}: {}", flaw.line, flaw.message);
                context.terminal.report(|out| writeln!(out, "{}", Untrusted(&at).line()));
            }
        }
        if wrong > 0 {
            let more = if wrong > FLAWS_SHOWN { format!(", {FLAWS_SHOWN} of them shown") } else { String::new() };
            let message = format!("{wrong} of {count} lines of {name} are wrong{more}");
            return Err(Failure::new(Exit::Findings, message).help("nothing was sent").into());
        }
        Ok(Self::List { list, count })
    }

    fn count(&self) -> u64 {
        match self {
            Self::One(_) => 1,
            Self::List { count, .. } => *count,
        }
    }

    /// Where the rest goes: one address needs no file.
    fn rest(&self, many: &Many) -> Option<PathBuf> {
        match self {
            Self::One(_) => many.rest.clone(),
            Self::List { list, .. } => Some(many.rest.clone().unwrap_or_else(|| match &list.path {
                Some(path) => {
                    let mut name = path.clone().into_os_string();
                    name.push(".rest.csv");
                    name.into()
                }
                None => "letterpress.rest.csv".into(),
            })),
        }
    }

    fn resume(&mut self, path: &Path, deed: &Deed, service: &Service) -> anyhow::Result<(Resume, Kept)> {
        let digest = match self {
            Self::One(row) => row.email.clone(),
            Self::List { list, .. } => list.digest().context("cannot read the list")?.to_string(),
        };
        let run = format!("{deed:?} of {digest} at {}", service::describe(&service.account));
        let (resume, kept) = Resume::open::<Kept>(path)?;
        match kept {
            Some(kept) if kept.run != run => {
                let message = format!("{} keeps the position of another run", path.display());
                Err(Failure::new(Exit::Unusable, message)
                    .help("the list, the options or the account changed since; name another file to begin again")
                    .into())
            }
            Some(kept) => Ok((resume, kept)),
            None => Ok((resume, Kept { run, settled: 0, let_go: 0, counts: Counts::default() })),
        }
    }

    /// The rows; a line that went bad since it was checked ends the list.
    fn rows(&mut self) -> anyhow::Result<Box<dyn Iterator<Item = Row> + '_>> {
        match self {
            Self::One(row) => Ok(Box::new(std::iter::once(row.clone()))),
            Self::List { list, .. } => {
                let rows = list.rows(Timestamp::now()).context("cannot read the list again")?;
                Ok(Box::new(rows.map_while(Result::ok)))
            }
        }
    }
}

/// Wrong lines that are shown; the others are counted.
const FLAWS_SHOWN: u64 = 20;

/// What a row must have for this deed.
fn check(deed: &Deed, row: &Row) -> Result<(), String> {
    let Deed::Add { reason, .. } = deed else { return Ok(()) };
    match row.reason.as_ref().or(reason.as_ref()) {
        Some(reason) => known_reason(reason),
        None => Err("no reason; `--reason` gives one to every address without".to_owned()),
    }
}

/// Says how it ended, and what to do with what is left.
fn conclude(
    context: &Context,
    environment: &Environment,
    deed: &Deed,
    counts: Counts,
    stop: Option<Stop>,
    left: Option<(PathBuf, u64)>,
    many: &Many,
) -> anyhow::Result<Exit> {
    let Counts { done, refused, unknown, not_done } = counts;
    let parts = [(done, "done"), (refused, "refused"), (unknown, "unknown"), (not_done, "not done")];
    let words: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    context.terminal.say(words.join(", "));
    let next = match (&left, &many.resume) {
        (Some((path, rows)), _) => format!("{rows} left in {}: feed it back with `--from-file`", path.display()),
        (None, Some(resume)) => format!("the same command goes on from {}", resume.display()),
        (None, None) => String::new(),
    };
    let help = |failure: Failure| if next.is_empty() { failure } else { failure.help(&next) };
    match stop {
        None => {
            if let Some((path, rows)) = &left {
                context
                    .terminal
                    .warn(format_args!("{rows} left in {}: feed it back with `--from-file`", path.display()));
            }
            if unknown > 0 && matches!(deed, Deed::Subscribe { .. }) {
                context.terminal.warn("an unknown mail may have been sent; it is not sent again");
            }
            Ok(match (done, refused + unknown + not_done) {
                (_, 0) => Exit::Done,
                (0, _) => Exit::Failed,
                _ => Exit::Partial,
            })
        }
        Some(Stop::Signal(exit)) => {
            context.terminal.warn(format_args!("interrupted; {next}"));
            Ok(exit)
        }
        Some(Stop::DeleteLimit) => {
            let exit = if done > 0 { Exit::Partial } else { Exit::Failed };
            Err(help(Failure::new(exit, "the daily limit of deletes is reached (code 906); no more are sent today"))
                .into())
        }
        Some(Stop::Service(error)) => {
            let failure = service::failure(error, environment);
            let way = failure.help.clone().unwrap_or_default();
            Err(failure.help(format!("{way}\n{next}").trim().to_owned()).into())
        }
        Some(Stop::Failing(error)) => {
            let exit = if done > 0 { Exit::Partial } else { Exit::Failed };
            Err(help(Failure::new(exit, format!("the service keeps failing: {error}"))).into())
        }
    }
}
