//! The stores that can keep a state, behind one function: a call in, a reply out.

mod folder;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use folder::Folder;

use super::call::{Call, Reply};
use super::error::Error;
use super::ledger::Terms;
use super::location::Location;

/// A store.
#[derive(Debug, Clone)]
pub enum Register {
    /// A folder on a local disk. Its calls block, so they run where blocking is allowed.
    Folder(Arc<Mutex<Folder>>),
}

impl Register {
    /// Opens the store of a place; nothing is read yet.
    ///
    /// # Errors
    ///
    /// [`Error::Unfit`] when this build cannot reach the place.
    pub fn open(location: &Location) -> Result<Self, Error> {
        match location {
            Location::Folder(path) => Ok(Self::Folder(Arc::new(Mutex::new(Folder::at(path))))),
            Location::Bucket { .. } => Err(Error::Unfit {
                place: location.to_string(),
                why: "this build has no support for buckets (feature `clouds`)".to_owned(),
            }),
        }
    }

    /// How a state in this store is held.
    #[must_use]
    pub fn terms(&self) -> Terms {
        match self {
            Self::Folder(_) => Terms { lease: false, spacing: Duration::ZERO, patience: Duration::from_secs(2) },
        }
    }

    /// Takes the lock that comes before the protocol; `false`: another process has it. A bucket has none.
    ///
    /// # Errors
    ///
    /// As [`Folder::lock`].
    pub fn lock(&self) -> Result<bool, Error> {
        match self {
            Self::Folder(folder) => folder.lock().unwrap_or_else(PoisonError::into_inner).lock(),
        }
    }

    /// Carries out one call. Never longer than 40 s.
    pub async fn answer(&self, call: Call) -> Reply {
        match self {
            Self::Folder(folder) => {
                let folder = Arc::clone(folder);
                let work = move || folder.lock().unwrap_or_else(PoisonError::into_inner).answer(&call);
                tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Reply::Unknown(error.to_string()))
            }
        }
    }

    /// The names of the snapshots that are there, the newest first; empty where the store cannot say.
    pub async fn bases(&self) -> Vec<String> {
        match self {
            Self::Folder(folder) => folder.lock().unwrap_or_else(PoisonError::into_inner).bases(),
        }
    }
}
