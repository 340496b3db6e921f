//! Why a state cannot be had. The kinds differ by what a person does next.

use std::path::PathBuf;
use std::time::Duration;

use super::head::{BaseRef, Holder};

/// Why a state could not be read, held or written. Paths and names in it are untrusted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no state.
    #[error("{place} has no state")]
    Missing {
        /// Where.
        place: String,
    },
    /// There is one already.
    #[error("{place} already has a state")]
    Exists {
        /// Where.
        place: String,
    },
    /// Torn, emptied or edited.
    #[error("{place}: {name} is damaged: {why}")]
    Damaged {
        /// Where.
        place: String,
        /// The object.
        name: String,
        /// What is wrong with it.
        why: String,
        /// Snapshots that `state restore` could go back to, the newest first.
        bases: Vec<String>,
    },
    /// Written by a later version.
    #[error("{place}: {name} has format {format}, and this version reads up to {}", super::head::FORMAT)]
    TooNew {
        /// Where.
        place: String,
        /// The object.
        name: String,
        /// Its format.
        format: u64,
    },
    /// Another run holds the state.
    #[error("{place} is held by {} (run {})", .holder.who, .holder.run)]
    Held {
        /// Where.
        place: String,
        /// Who.
        holder: Holder,
        /// How long nothing has moved, as far as this run saw; nothing where the kernel's lock says that the run is alive.
        still: Option<Duration>,
    },
    /// Another run holds the lock and has not said yet who it is.
    #[error("{place} is held by another run")]
    Locked {
        /// Where.
        place: String,
    },
    /// Another run took the state over.
    #[error("{place} was taken over by {}", .by.as_ref().map_or("another run", |by| by.who.as_str()))]
    Fenced {
        /// Where.
        place: String,
        /// Who.
        by: Option<Holder>,
    },
    /// The place cannot keep a state safely.
    #[error("{place} cannot keep a state: {why}")]
    Unfit {
        /// Where.
        place: String,
        /// Why.
        why: String,
    },
    /// The settings or credentials for a bucket are not there, or cannot be used.
    #[error("{place} cannot be reached: {why}")]
    Access {
        /// Where.
        place: String,
        /// Which, and the way out.
        why: String,
    },
    /// Reading or writing a file failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's words.
        #[source]
        source: std::io::Error,
    },
    /// The store failed for too long.
    #[error("{place}: {why}")]
    Store {
        /// Where.
        place: String,
        /// The store's words.
        why: String,
    },
}

/// What an error means for the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Exit code 4: held by another run, or taken over.
    Held,
    /// Exit code 5: missing, damaged, foreign, too new.
    Unusable,
    /// Exit code 1: could not do the job.
    Failed,
}

impl Error {
    /// What it means for the exit code.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Held { .. } | Self::Locked { .. } | Self::Fenced { .. } => Kind::Held,
            Self::Missing { .. } | Self::Damaged { .. } | Self::TooNew { .. } | Self::Unfit { .. } => Kind::Unusable,
            Self::Exists { .. } | Self::Access { .. } | Self::Io { .. } | Self::Store { .. } => Kind::Failed,
        }
    }

    /// What to do.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Missing { .. } => {
                "`letterpress state init` makes a new one. If templates were applied before, find the old state first: \
                                     without it every template is created a second time"
                    .to_owned()
            }
            Self::Exists { .. } => "`letterpress state show` tells what is in it".to_owned(),
            Self::Damaged { bases, .. } if bases.is_empty() => {
                "restore the folder or bucket from a backup; nothing was changed".to_owned()
            }
            Self::Damaged { bases, .. } => format!(
                "`letterpress state restore NAME` goes back to a snapshot; the newest are {}",
                bases.iter().take(3).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
            ),
            Self::TooNew { .. } => "use the version of letterpress that wrote it, or a later one".to_owned(),
            Self::Held { still: Some(still), .. } => format!(
                "nothing has moved for {} s; a run that died is taken over {} s after its last sign: wait with `--lock-timeout 5m`",
                still.as_secs(),
                (super::Terms::TTL + super::Terms::SLACK).as_secs()
            ),
            Self::Held { .. } | Self::Locked { .. } => {
                "wait for that run to end, or wait here with `--lock-timeout 5m`".to_owned()
            }
            Self::Fenced { .. } => "nothing was sent after that; run again when the other run is done".to_owned(),
            Self::Unfit { .. } => "keep the state on a local disk or in a bucket (`state = \"s3://…\"`)".to_owned(),
            Self::Access { .. } => "docs/state.md lists what is taken from where".to_owned(),
            Self::Io { .. } | Self::Store { .. } => return None,
        })
    }

    /// An error of the file system.
    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}

/// The names of snapshots, as [`Error::Damaged`] lists them.
pub(super) fn names(bases: &[BaseRef]) -> Vec<String> {
    bases.iter().map(|base| base.name.clone()).collect()
}
