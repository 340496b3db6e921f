//! `doctor`: everything that an apply will need, looked at before it is needed. Nothing is written at the service.

mod look;

use anstyle::Style;
use anyhow::Context as _;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::terminal::{CYAN, GREEN, RED, YELLOW};
use super::{Context, Exit, Failure, checked, runtime};
use crate::source::Environment;
use crate::untrusted::Untrusted;

/// Look whether an apply can work: config, key, account, clock, proxy and state
///
/// Sends one `/system/info` request and reads the state. A bucket's conditional writes are tried on an object of its own, which is deleted
/// again; nothing else is changed. Ends with 0 when nothing fails, warnings or not.
#[derive(Debug, clap::Args)]
pub struct DoctorArgs {
    /// The form of the data
    #[arg(long, value_name = "FORM", default_value = "text", env = "LETTERPRESS_DOCTOR_FORMAT")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    /// In order.
    Pass,
    /// Worth a look; an apply works.
    Warn,
    /// An apply will not work.
    Fail,
    /// Not looked at, since something before it fails.
    Skip,
}

/// One thing that was looked at.
#[derive(Debug, Serialize, JsonSchema)]
struct Line {
    /// `config`, `key`, `proxy`, `service`, `account`, `project`, `clock`, `store`, `state`, `state account` or `templates`.
    what: &'static str,
    verdict: Verdict,
    /// How it is.
    message: String,
    /// What to do about it.
    mend: Option<String>,
    /// The exit code that an apply would end with.
    #[serde(skip)]
    #[schemars(skip)]
    exit: Exit,
}

/// What `doctor` found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "letterpress doctor", rename = "doctor")]
pub struct DoctorJson<'a> {
    /// 1. Fields may be added within a format; none is removed or changes its meaning.
    format: u32,
    /// The environment's name.
    environment: &'a str,
    /// In the order in which an apply needs them.
    checks: &'a [Line],
}

impl Line {
    fn new(what: &'static str, verdict: Verdict, message: impl Into<String>) -> Self {
        Self { what, verdict, message: message.into(), mend: None, exit: Exit::Done }
    }

    fn pass(what: &'static str, message: impl Into<String>) -> Self {
        Self::new(what, Verdict::Pass, message)
    }

    fn warn(what: &'static str, message: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { mend: Some(mend.into()), ..Self::new(what, Verdict::Warn, message) }
    }

    fn skip(what: &'static str, message: impl Into<String>) -> Self {
        Self::new(what, Verdict::Skip, message)
    }

    /// What a command would end with.
    fn fail(what: &'static str, error: &anyhow::Error) -> Self {
        let failure = error.downcast_ref::<Failure>();
        let message = error.chain().map(ToString::to_string).collect::<Vec<_>>().join(": ");
        let mend = failure.and_then(|failure| failure.help.clone());
        let exit = failure.map_or(Exit::Failed, |failure| failure.exit);
        Self { mend, exit, ..Self::new(what, Verdict::Fail, message) }
    }
}

/// Runs `doctor`.
///
/// # Errors
///
/// Only what keeps it from looking: no project, or a wrong one.
pub fn run(context: &Context, args: &DoctorArgs) -> anyhow::Result<Exit> {
    let project = checked::project(context)?;
    let environment = checked::environment(context, &project)?;
    let lines = runtime::run(look::look(context, &project, environment, Timestamp::now()))?;
    match args.format {
        Format::Json => {
            let json = DoctorJson { format: 1, environment: &environment.name, checks: &lines };
            context.terminal.json(&json).context("cannot write the findings")?;
        }
        Format::Text => context.terminal.data(text(&lines)),
    }
    Ok(exit(context, environment, &lines))
}

fn text(lines: &[Line]) -> String {
    let width = lines.iter().map(|line| line.what.len()).max().unwrap_or(0);
    let mut text = String::new();
    for line in lines {
        let (word, colour) = match line.verdict {
            Verdict::Pass => ("pass", GREEN),
            Verdict::Warn => ("warn", YELLOW),
            Verdict::Fail => ("fail", RED),
            Verdict::Skip => ("skip", Style::new()),
        };
        let (what, message) = (line.what, Untrusted(&line.message).line());
        text.push_str(&format!("{colour}{word}{colour:#}  {what:<width$}  {message}\n"));
        for mend in line.mend.iter().flat_map(|mend| mend.lines()) {
            text.push_str(&format!("      {:width$}  {CYAN}mend{CYAN:#}: {}\n", "", Untrusted(mend).line()));
        }
    }
    text
}

/// The most severe failure decides.
fn exit(context: &Context, environment: &Environment, lines: &[Line]) -> Exit {
    let count = |verdict| lines.iter().filter(|line| line.verdict == verdict).count();
    let (failed, warned) = (count(Verdict::Fail), count(Verdict::Warn));
    if failed == 0 {
        let warnings = match warned {
            0 => String::new(),
            1 => ", with 1 warning".to_owned(),
            more => format!(", with {more} warnings"),
        };
        context.terminal.say(format_args!("an apply to `{}` can work{warnings}", environment.name));
        return Exit::Done;
    }
    let severity = |exit: Exit| match exit {
        Exit::Unusable => 4,
        Exit::Key => 3,
        Exit::Held => 2,
        Exit::Findings => 1,
        _ => 0,
    };
    let failures = lines.iter().filter(|line| line.verdict == Verdict::Fail);
    failures.map(|line| line.exit).max_by_key(|exit| severity(*exit)).unwrap_or(Exit::Failed)
}
