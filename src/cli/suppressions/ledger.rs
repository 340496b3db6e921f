//! What became of each address: told on stdout, counted, kept for `--resume`, and written to the rest file where something is left to do.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use indicatif::ProgressBar;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::addresses::Row;
use super::bulk::Outcome;
use super::position::Resume;
use crate::cli::terminal::{DIM, GREEN, RED, YELLOW};
use crate::cli::{Context, Exit, Failure, dates};
use crate::client::code;
use crate::untrusted::Untrusted;

/// The form of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Report {
    /// For people
    Text,
    /// One object a line
    Jsonl,
    /// With a header
    Csv,
}

/// What became of one address.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "letterpress suppressions report", rename = "report")]
pub struct ReportJson<'a> {
    /// 1. Fields may be added within a format; none is removed or changes its meaning.
    format: u32,
    /// Its line in the list; 1 for an address of the command line.
    line: u64,
    /// The address.
    email: &'a str,
    /// `done`, `refused`, `unknown` or `not-done`.
    outcome: &'static str,
    /// The service's code of a refusal.
    code: Option<&'a str>,
    /// Why, where it is not done.
    message: Option<&'a str>,
}

/// How many ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Done.
    pub done: u64,
    /// Refused.
    pub refused: u64,
    /// Nobody knows.
    pub unknown: u64,
    /// Not done.
    pub not_done: u64,
}

/// What `--resume` keeps of a bulk run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// The operation, the account and the list's digest.
    pub run: String,
    /// Every row up to this line has been told.
    pub settled: u64,
    /// Rows up to this line may have been sent.
    pub let_go: u64,
    /// Of all runs so far.
    pub counts: Counts,
}

/// The books of one run.
#[derive(Debug)]
pub struct Ledger<'a> {
    context: &'a Context,
    report: Report,
    progress: ProgressBar,
    /// Of all runs so far.
    pub counts: Counts,
    resume: Option<(Resume, Kept)>,
    /// What an earlier run may have sent.
    uncertain: u64,
    rest: Option<Rest>,
    /// Whether a lost answer may be asked again: then its row is left to do.
    repeatable: bool,
}

/// The file of what is left to do, made when there is something.
#[derive(Debug)]
struct Rest {
    path: PathBuf,
    file: Option<File>,
    rows: u64,
    append: bool,
}

impl<'a> Ledger<'a> {
    /// Opens the books.
    ///
    /// # Errors
    ///
    /// Exit 64 when the rest file is there already and this run is not the continuation of the one that wrote it.
    pub fn open(
        context: &'a Context,
        report: Report,
        progress: ProgressBar,
        resume: Option<(Resume, Kept)>,
        rest: Option<&Path>,
        repeatable: bool,
    ) -> Result<Self, Failure> {
        let (counts, uncertain) = resume.as_ref().map_or_else(Default::default, |(_, kept)| (kept.counts, kept.let_go));
        let append = uncertain > 0;
        if let Some(path) = rest.filter(|path| !append && path.exists()) {
            let message = format!("{} is there already, from an earlier run", path.display());
            return Err(Failure::new(Exit::Usage, message)
                .help("feed it back with `--from-file`, then remove it; or name another with `--rest FILE`"));
        }
        let rest = rest.map(|path| Rest { path: path.to_owned(), file: None, rows: 0, append });
        let ledger = Self { context, report, progress, counts, resume, uncertain, rest, repeatable };
        if report == Report::Csv && !append {
            ledger.print("line,email,outcome,code,message\n");
        }
        Ok(ledger)
    }

    /// The line up to which an earlier run has told every row.
    #[must_use]
    pub fn settled(&self) -> u64 {
        self.resume.as_ref().map_or(0, |(_, kept)| kept.settled)
    }

    /// A row is about to be sent; says whether an earlier run may have sent it already.
    ///
    /// # Errors
    ///
    /// The resume file cannot be written.
    pub fn letting_go(&mut self, row: &Row) -> anyhow::Result<bool> {
        if let Some((resume, kept)) = &mut self.resume
            && row.line > kept.let_go
        {
            kept.let_go = row.line;
            resume.save(kept)?;
        }
        Ok(row.line <= self.uncertain)
    }

    /// A row that was let go has ended. Called in the order of the list.
    ///
    /// # Errors
    ///
    /// The rest file or the resume file cannot be written.
    pub fn ended(&mut self, row: &Row, outcome: &Outcome) -> anyhow::Result<()> {
        self.tell(row, outcome);
        let to_do = match outcome {
            Outcome::Done => false,
            Outcome::Refused { code, .. } => code == code::DELETE_LIMIT,
            Outcome::Unknown { .. } => self.repeatable,
            Outcome::NotDone { .. } => true,
        };
        if to_do {
            self.keep(row)?;
        }
        if let Some((resume, kept)) = &mut self.resume {
            (kept.settled, kept.counts) = (row.line, self.counts);
            resume.save(kept)?;
        }
        Ok(())
    }

    /// A row that was not let go when the run stopped. With `--resume` the same command goes on with it, else it is written to the rest file.
    ///
    /// # Errors
    ///
    /// The rest file cannot be written.
    pub fn left(&mut self, row: &Row) -> anyhow::Result<()> {
        self.tell(row, &Outcome::NotDone { why: "the run stopped before".to_owned() });
        if self.resume.is_none() { self.keep(row) } else { Ok(()) }
    }

    /// Closes the books: the rest file is on disk, and the position is forgotten when nothing is left to send. Gives the rest file and its rows.
    ///
    /// # Errors
    ///
    /// A file cannot be written to its end.
    pub fn close(&mut self, stopped: bool) -> anyhow::Result<Option<(PathBuf, u64)>> {
        self.progress.finish_and_clear();
        if let Some((resume, _)) = self.resume.as_ref().filter(|_| !stopped) {
            resume.done()?;
        }
        let Some(Rest { path, file: Some(file), rows, .. }) = &self.rest else { return Ok(None) };
        file.sync_all().with_context(|| format!("cannot write {} to its end", path.display()))?;
        Ok(Some((path.clone(), *rows)))
    }

    fn keep(&mut self, row: &Row) -> anyhow::Result<()> {
        let Some(rest) = &mut self.rest else { return Ok(()) };
        let located = || format!("cannot write what is left to {}", rest.path.display());
        let file = match &mut rest.file {
            Some(file) => file,
            none => {
                let mut file = File::options()
                    .append(true)
                    .create(rest.append)
                    .create_new(!rest.append)
                    .open(&rest.path)
                    .with_context(located)?;
                if file.metadata().with_context(located)?.len() == 0 {
                    file.write_all(b"email,reason,created\n").with_context(located)?;
                }
                none.insert(file)
            }
        };
        let created = row.created.map(dates::on_the_wire).unwrap_or_default();
        // The list is read back by us, so the fields are quoted as CSV and not defused for spreadsheets.
        let mut line = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
        line.write_record([&row.email, row.reason.as_deref().unwrap_or_default(), &created]).with_context(located)?;
        let line = line.into_inner().map_err(|error| anyhow::anyhow!("{error}")).with_context(located)?;
        file.write_all(&line).with_context(located)?;
        rest.rows += 1;
        Ok(())
    }

    fn tell(&mut self, row: &Row, outcome: &Outcome) {
        let (count, word, colour, code, message) = match outcome {
            Outcome::Done => (&mut self.counts.done, "done", GREEN, None, None),
            Outcome::Refused { code, message } => {
                (&mut self.counts.refused, "refused", RED, Some(code.as_str()), Some(message.as_str()))
            }
            Outcome::Unknown { why } => (&mut self.counts.unknown, "unknown", YELLOW, None, Some(why.as_str())),
            Outcome::NotDone { why } => (&mut self.counts.not_done, "not-done", YELLOW, None, Some(why.as_str())),
        };
        *count += 1;
        self.progress.inc(1);
        let (email, line) = (row.email.as_str(), row.line);
        match self.report {
            Report::Text => {
                let code = code.map(|code| format!("{}: ", Untrusted(code).line())).unwrap_or_default();
                let message = message.map(|message| Untrusted(message).line().to_string()).unwrap_or_default();
                let reason = if message.is_empty() { String::new() } else { format!("  {DIM}{code}{message}{DIM:#}") };
                self.print(&format!("{colour}{word:<8}{colour:#}  {}{reason}\n", Untrusted(email).line()));
            }
            Report::Csv => {
                let field = |text: Option<&str>| Untrusted(text.unwrap_or_default()).csv();
                let (code, message) = (field(code), field(message));
                self.print(&format!("{line},{},{word},{code},{message}\n", Untrusted(email).csv()));
            }
            Report::Jsonl => {
                let json = ReportJson { format: 1, line, email, outcome: word, code, message };
                // Numbers and strings always serialize.
                self.print(&format!("{}\n", serde_json::to_string(&json).unwrap_or_default()));
            }
        }
    }

    /// The report is for whoever listens; a closed stdout does not stop what was begun.
    fn print(&self, text: &str) {
        self.context.terminal.data(text);
    }
}
