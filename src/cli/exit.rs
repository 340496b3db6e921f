//! Exit codes (product.md) and the errors that carry one.

use std::process::ExitCode;

/// How a command ended. The numbers are promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: done.
    Done,
    /// 1: could not do the job.
    Failed,
    /// 2: `plan --detailed-exitcode` and changes are pending.
    Changes,
    /// 3: the user's files have errors.
    Findings,
    /// 4: the state is held by another run, or was taken over.
    Held,
    /// 5: the state or plan file is unusable.
    Unusable,
    /// 6: applied in part.
    Partial,
    /// 7: the key is refused or belongs elsewhere.
    Key,
    /// 64: the command line is wrong.
    Usage,
    /// 130: SIGINT; the state is saved.
    Interrupted,
    /// 143: SIGTERM; the state is saved.
    Terminated,
}

impl Exit {
    /// The number.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Changes => 2,
            Self::Findings => 3,
            Self::Held => 4,
            Self::Unusable => 5,
            Self::Partial => 6,
            Self::Key => 7,
            Self::Usage => 64,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// The code that an error ends with.
    #[must_use]
    pub fn of(error: &anyhow::Error) -> Self {
        error.downcast_ref::<Failure>().map_or(Self::Failed, |failure| failure.exit)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// An error with its exit code and the way out. Any other error ends with 1.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// A fact, in lower case, with its path. May hold foreign text; the terminal escapes it.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl Failure {
    /// An error with a code and no help yet.
    #[must_use]
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), help: None }
    }

    /// With the way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
