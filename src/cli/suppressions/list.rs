//! `suppressions list` and `export`: pages followed to the end in constant memory (`interface §4.1`, silent.md).

use std::collections::HashSet;
use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::position::Resume;
use super::progress;
use super::records::{Form, Writer};
use crate::cli::interrupt::Interrupt;
use crate::cli::service::{self, Service, chance};
use crate::cli::{Context, Exit, Failure, checked, dates, runtime};
use crate::client::retry::{self, Operation};
use crate::client::{REASONS, SOURCES, SuppressionListRequest};
use crate::desired::Digest;
use crate::source::{Environment, closest};
use crate::untrusted::Untrusted;

/// Show the suppression list, page after page to its end
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    filter: Filter,
    /// Stop after so many records
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    max: Option<u64>,
    /// The form of the data
    #[arg(long, value_name = "FORM", default_value = "table", env = "LETTERPRESS_SUPPRESSIONS_FORMAT")]
    format: Form,
}

/// Write the whole suppression list to a file
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    #[command(flatten)]
    filter: Filter,
    /// The file; without it stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write over a file that is there
    #[arg(long, requires = "out")]
    force: bool,
    /// The form of the data; without it what the file's extension says, else csv
    #[arg(long, value_name = "FORM", env = "LETTERPRESS_SUPPRESSIONS_FORMAT")]
    format: Option<Form>,
}

/// Which records, and how they are asked for.
#[derive(Debug, Clone, clap::Args)]
struct Filter {
    /// Only records with this reason: unsubscribed, temporary_unavailable, permanent_unavailable, complained, blocked
    #[arg(long, value_name = "REASON")]
    reason: Option<String>,
    /// Only records from this source: user, system, subscriber
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    /// Only records since then: `2026-11-01`, `2026-11-01 08:30` (UTC), or a while ago as `7d`
    #[arg(long, value_name = "DATE")]
    from: Option<String>,
    /// Records in one page; without it the service decides (50). More are fewer requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Keep the position in this file, and go on from there after an interruption
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
}

/// What `--resume` keeps of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Position {
    /// The service and the filter: another list has other positions.
    list: String,
    /// The next page.
    start_position: String,
    /// Records written so far.
    records: u64,
    /// Length of the output file with them; what is behind was cut off in the middle.
    bytes: Option<u64>,
}

/// Runs `suppressions list`.
///
/// # Errors
///
/// Exit 7 when the key is refused, exit 1 when the service fails.
pub fn list(context: &Context, args: &ListArgs) -> anyhow::Result<Exit> {
    walk(context, &args.filter, args.format, args.max, None)
}

/// Runs `suppressions export`.
///
/// # Errors
///
/// As `list`; exit 64 when the file is there already.
pub fn export(context: &Context, args: &ExportArgs) -> anyhow::Result<Exit> {
    let by_extension = || match args.out.as_ref()?.extension()?.to_str()? {
        "jsonl" | "ndjson" => Some(Form::Jsonl),
        "json" => Some(Form::Json),
        _ => None,
    };
    let form = args.format.or_else(by_extension).unwrap_or(Form::Csv);
    walk(context, &args.filter, form, None, args.out.as_deref().map(|path| (path, args.force)))
}

fn walk(
    context: &Context,
    filter: &Filter,
    form: Form,
    max: Option<u64>,
    out: Option<(&Path, bool)>,
) -> anyhow::Result<Exit> {
    let project = checked::project(context)?;
    let environment = checked::environment(context, &project)?;
    let request = request(context, filter)?;
    runtime::run(async {
        let service = service::connect(context, &project, environment).await?;
        let mut pages = Pages::open(&service, filter, request, out)?;
        let mut writer = Writer::new(form, pages.records);
        let ended = pages.follow(context, &service, environment, &mut writer, max).await;
        service.close().await;
        ended
    })
}

/// The first request.
fn request(context: &Context, filter: &Filter) -> Result<SuppressionListRequest, Failure> {
    let unknown = |option: &str, word: &Option<String>, known: &[&str]| {
        let Some(word) = word.as_deref().filter(|word| !known.contains(word)) else { return };
        let meant =
            closest(word, known.iter().copied()).map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
        context.terminal.warn(format_args!(
            "`--{option} {}` is none of the documented ones ({}){meant}",
            Untrusted(word).line(),
            known.join(", ")
        ));
    };
    unknown("reason", &filter.reason, &REASONS);
    unknown("source", &filter.source, &SOURCES);
    let from = filter.from.as_deref().map(|text| {
        dates::read(text, Timestamp::now())
            .map(dates::on_the_wire)
            .map_err(|why| Failure::new(Exit::Usage, format!("`--from {text}` is {why}")))
    });
    Ok(SuppressionListRequest {
        reason: filter.reason.clone(),
        source: filter.source.clone(),
        from_date: from.transpose()?,
        start_position: None,
        limit: filter.limit,
    })
}

/// The pages of one list, from wherever it begins.
struct Pages {
    request: SuppressionListRequest,
    /// Hashes of the positions seen, eight bytes a page: one that comes back is the end.
    seen: HashSet<u64>,
    list: String,
    records: u64,
    resume: Option<Resume>,
    out: Option<File>,
}

impl Pages {
    fn open(
        service: &Service,
        filter: &Filter,
        mut request: SuppressionListRequest,
        out: Option<(&Path, bool)>,
    ) -> anyhow::Result<Self> {
        let word = |value: &Option<String>| value.clone().unwrap_or_default();
        let account = service::describe(&service.account);
        let list = format!(
            "{account}; reason={} source={} from={}",
            word(&filter.reason),
            word(&filter.source),
            word(&filter.from)
        );
        let (resume, position) = match &filter.resume {
            Some(path) => {
                let (resume, position) = Resume::open::<Position>(path)?;
                (Some(resume), position)
            }
            None => (None, None),
        };
        if let Some(position) = &position {
            if position.list != list {
                let message = format!("the position is one of another list: {}", position.list);
                return Err(Failure::new(Exit::Unusable, message).help(format!("this list: {list}")).into());
            }
            request.start_position = Some(position.start_position.clone());
        }
        let out = out.map(|(path, force)| open_out(path, force, position.as_ref())).transpose()?;
        let records = position.map_or(0, |position| position.records);
        Ok(Self { request, seen: HashSet::new(), list, records, resume, out })
    }

    /// Follows the list to its end: no records, no position, or one that was seen before; never a short page alone.
    async fn follow(
        &mut self,
        context: &Context,
        service: &Service,
        environment: &Environment,
        writer: &mut Writer,
        max: Option<u64>,
    ) -> anyhow::Result<Exit> {
        let interrupt = Interrupt::watch(|_| {}).context("cannot watch for signals")?;
        let progress = progress::open_end(context);
        loop {
            let position = self.request.start_position.clone().unwrap_or_default();
            self.seen.insert(hash(&position));
            let ask =
                retry::run(Operation::Read, &service.budget, chance, || service.client.suppression_list(&self.request));
            let tried = tokio::select! {
                tried = ask => tried,
                () = interrupt.times(1) => return Ok(self.interrupted(context, interrupt.exit(), writer)),
            };
            let mut page = tried.result.map_err(|error| {
                let failure = service::failure(error, environment);
                match &self.resume {
                    Some(resume) if writer.records() > 0 => {
                        let path = resume.path().display();
                        failure
                            .help(format!("the same command goes on after {} records, from {path}", writer.records()))
                    }
                    _ => failure,
                }
            })?;
            let left = max.map_or(u64::MAX, |max| max.saturating_sub(writer.records()));
            page.suppressions.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            let ended = page.suppressions.is_empty()
                || page.start_position.is_empty()
                || self.seen.contains(&hash(&page.start_position))
                || page.suppressions.len() as u64 == left;
            if !page.suppressions.is_empty() && !self.write(context, &writer.page(&page.suppressions))? {
                return Ok(Exit::Done);
            }
            progress.set_position(writer.records());
            progress.set_message(Untrusted(&page.start_position).line().to_string());
            if ended {
                break;
            }
            self.request.start_position = Some(page.start_position);
            self.keep(writer)?;
        }
        progress.finish_and_clear();
        self.write(context, &writer.end())?;
        if let Some(out) = &self.out {
            out.sync_all().context("cannot write the export to its end")?;
        }
        if let Some(resume) = &self.resume {
            resume.done()?;
        }
        if self.out.is_some() || writer.records() == 0 || context.terminal.verbosity() > 0 {
            context.terminal.say(format_args!("{} records", writer.records()));
        }
        Ok(Exit::Done)
    }

    /// Writes a piece; false when the reader of stdout went away.
    fn write(&mut self, context: &Context, text: &str) -> anyhow::Result<bool> {
        match &mut self.out {
            Some(file) => file.write_all(text.as_bytes()).context("cannot write the export").map(|()| true),
            None => context.terminal.piece(text.as_bytes()).context("cannot write to stdout"),
        }
    }

    fn keep(&mut self, writer: &Writer) -> anyhow::Result<()> {
        let Some(resume) = &self.resume else { return Ok(()) };
        let bytes = match &mut self.out {
            Some(file) => Some(file.stream_position().context("cannot tell the length of the export")?),
            None => None,
        };
        resume.save(&Position {
            list: self.list.clone(),
            start_position: self.request.start_position.clone().unwrap_or_default(),
            records: writer.records(),
            bytes,
        })
    }

    fn interrupted(&self, context: &Context, exit: Option<Exit>, writer: &Writer) -> Exit {
        let records = writer.records();
        let way = match &self.resume {
            Some(resume) => format!("the same command goes on from {}", resume.path().display()),
            None => "with `--resume FILE` the next run would go on from here".to_owned(),
        };
        context.terminal.warn(format_args!("interrupted after {records} records; {way}"));
        exit.unwrap_or(Exit::Interrupted)
    }
}

/// Opens the output file: new, or cut back to the last whole page of the interrupted run.
fn open_out(path: &Path, force: bool, position: Option<&Position>) -> anyhow::Result<File> {
    let located = || format!("cannot write {}", path.display());
    if let Some(bytes) = position.and_then(|position| position.bytes) {
        let mut file = File::options().write(true).open(path).with_context(located)?;
        let length = file.metadata().with_context(located)?.len();
        if length < bytes {
            let message =
                format!("{} has {length} bytes, and the interrupted export had written {bytes}", path.display());
            return Err(Failure::new(Exit::Unusable, message).help("remove the resume file to begin again").into());
        }
        file.set_len(bytes).with_context(located)?;
        file.seek(SeekFrom::End(0)).with_context(located)?;
        return Ok(file);
    }
    let mut options = File::options();
    options.write(true);
    let options = if force { options.create(true).truncate(true) } else { options.create_new(true) };
    match options.open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let message = format!("{} is there already", path.display());
            Err(Failure::new(Exit::Usage, message).help("`--force` writes over it").into())
        }
        other => other.with_context(located),
    }
}

fn hash(position: &str) -> u64 {
    let digest = Digest::of(position.as_bytes());
    digest.bytes().iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}
