//! Where output goes: data to stdout, talk to stderr. A closed pipe never aborts a run.

use std::fmt;
use std::io::{self, IsTerminal as _, StderrLock, StdoutLock, Write as _};
use std::process::{Command, Stdio};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

use super::{Exit, Failure, Global};
use crate::untrusted::{Untrusted, inert_json};

/// The two streams and how much to say.
#[derive(Debug, Clone)]
pub struct Terminal {
    quiet: bool,
    verbose: u8,
    /// Colours on stdout, decided once: asking the system for every line is a call of its own.
    out_color: ColorChoice,
    /// The same for stderr.
    err_color: ColorChoice,
}

/// Errors.
pub const RED: Style = AnsiColor::Red.on_default().bold();
/// Warnings, updates.
pub const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
/// Success, creates.
pub const GREEN: Style = AnsiColor::Green.on_default().bold();
/// Help, notes.
pub const CYAN: Style = AnsiColor::Cyan.on_default().bold();
/// What steps back.
pub const DIM: Style = Style::new().dimmed();
/// What stands out.
pub const BOLD: Style = Style::new().bold();

impl Terminal {
    /// Takes over the process's streams; `--color`, `NO_COLOR` and `CLICOLOR_FORCE` decide about colour.
    #[must_use]
    pub fn new(global: &Global) -> Self {
        match global.color {
            clap::ColorChoice::Always => ColorChoice::Always.write_global(),
            clap::ColorChoice::Never => ColorChoice::Never.write_global(),
            clap::ColorChoice::Auto => {}
        }
        Self {
            quiet: global.quiet,
            verbose: global.verbose,
            out_color: AutoStream::choice(&io::stdout()),
            err_color: AutoStream::choice(&io::stderr()),
        }
    }

    fn out(&self) -> AutoStream<StdoutLock<'static>> {
        AutoStream::new(io::stdout().lock(), self.out_color)
    }

    fn err(&self) -> AutoStream<StderrLock<'static>> {
        AutoStream::new(io::stderr().lock(), self.err_color)
    }

    /// Writes data to stdout, as it is. A reader that went away is no error.
    pub fn data(&self, text: impl fmt::Display) {
        let mut out = self.out();
        let _ = write!(out, "{text}").and_then(|()| out.flush());
    }

    /// Writes a value to stdout as JSON in which nothing comes to life.
    ///
    /// # Errors
    ///
    /// A value that is none in JSON.
    pub fn json(&self, value: &impl serde::Serialize) -> serde_json::Result<()> {
        self.data(format_args!("{}\n", inert_json(&serde_json::to_string_pretty(value)?)));
        Ok(())
    }

    /// Writes a line to stdout that the CI which runs this takes as a command. Its escapes are no colours and stay, also where stdout is no terminal.
    pub fn command(&self, line: &str) {
        let mut out = io::stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }

    /// Writes data that is meant to be read: through a pager where a person sees stdout and the text is longer than the screen.
    ///
    /// `pager` is a command line; without one it is `less`. A pager that cannot be started is no error.
    pub fn page(&self, text: &str, pager: Option<&str>) {
        let height = terminal_size::terminal_size_of(io::stdout()).map(|(_, height)| usize::from(height.0));
        let is_long = height.is_some_and(|height| text.lines().count() >= height);
        if !is_long || matches!(pager, Some("" | "cat")) || !paged(text, pager, self.out_color) {
            self.data(text);
        }
    }

    /// Writes data to stdout through a closure, buffered.
    ///
    /// # Errors
    ///
    /// What the closure or the stream fails with; a closed pipe counts as success.
    pub fn stream(&self, write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
        let mut out = io::BufWriter::new(self.out());
        match write(&mut out).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }

    /// Writes a piece of data to stdout, and says whether somebody still reads it.
    ///
    /// # Errors
    ///
    /// What the stream fails with; a closed pipe is `false`.
    pub fn piece(&self, bytes: &[u8]) -> io::Result<bool> {
        let mut out = self.out();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether stdout goes elsewhere than to a terminal, so that progress on stderr does not mix with data.
    #[must_use]
    pub fn is_piped(&self) -> bool {
        !io::stdout().is_terminal()
    }

    /// Writes a report to stderr through a closure, also with `--quiet`. A stream that fails is no error.
    pub fn report(&self, write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) {
        let mut err = io::BufWriter::new(self.err());
        let _ = write(&mut err).and_then(|()| err.flush());
    }

    /// One line of talk to stderr, unless `--quiet`.
    pub fn say(&self, line: impl fmt::Display) {
        if !self.quiet {
            self.write_err(format_args!("{line}\n"));
        }
    }

    /// One line of talk to stderr with `--verbose`.
    pub fn detail(&self, line: impl fmt::Display) {
        if self.verbose > 0 {
            self.write_err(format_args!("{line}\n"));
        }
    }

    /// A warning to stderr, also with `--quiet`.
    pub fn warn(&self, line: impl fmt::Display) {
        self.write_err(format_args!("{YELLOW}warning{YELLOW:#}: {line}\n"));
    }

    /// Whether a person watches stderr.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// Whether a person sees what goes to stdout, as it goes.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Whether a person can answer a question.
    #[must_use]
    pub fn can_ask(&self) -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Columns of the terminal that stdout goes to; nothing where it goes elsewhere.
    #[must_use]
    pub fn width(&self) -> Option<usize> {
        let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
        Some(usize::from(width.0))
    }

    /// Whether `--quiet` is on.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// How often `--verbose` was given.
    #[must_use]
    pub fn verbosity(&self) -> u8 {
        self.verbose
    }

    /// Prints an error with its causes and its help, and says with which code to end.
    #[must_use]
    pub fn failure(&self, error: &anyhow::Error) -> Exit {
        self.write_err(format_args!("{RED}error{RED:#}: {}\n", Untrusted(&error.to_string()).line()));
        for cause in error.chain().skip(1) {
            self.write_err(format_args!("  {DIM}because{DIM:#} {}\n", Untrusted(&cause.to_string()).line()));
        }
        let failure = error.downcast_ref::<Failure>();
        if let Some(help) = failure.and_then(|failure| failure.help.as_deref()) {
            for line in help.lines() {
                self.write_err(format_args!("  {CYAN}help{CYAN:#}: {}\n", Untrusted(line).line()));
            }
        }
        Exit::of(error)
    }

    fn write_err(&self, text: fmt::Arguments<'_>) {
        let mut err = self.err();
        let _ = err.write_fmt(text).and_then(|()| err.flush());
    }
}

/// Shows the text in a pager; `false`: there is none.
fn paged(text: &str, pager: Option<&str>, color: ColorChoice) -> bool {
    let mut command = match pager {
        Some(line) => {
            let mut command = Command::new("sh");
            command.args(["-c", line]);
            command
        }
        None => {
            let mut command = Command::new("less");
            // Ends by itself on a short text, keeps colours, leaves the text on the screen.
            command.arg("-FRX");
            command
        }
    };
    let Ok(mut child) = command.stdin(Stdio::piped()).spawn() else { return false };
    if let Some(mut pipe) = child.stdin.take() {
        let shown =
            if color == ColorChoice::Never { anstream::adapter::strip_str(text).to_string() } else { text.to_owned() };
        // Whoever leaves the pager early closes the pipe: that is no error.
        let _ = pipe.write_all(shown.as_bytes());
    }
    child.wait().is_ok_and(|status| status.code() != Some(127))
}
