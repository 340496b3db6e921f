//! The stores that can keep a state, behind one function: a call in, a reply out.

#[cfg(feature = "clouds")]
mod access;
#[cfg(feature = "clouds")]
mod bucket;
#[cfg(test)]
mod fault;
mod folder;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

#[cfg(feature = "clouds")]
pub use bucket::Bucket;
pub use folder::Folder;
pub(super) use folder::private;

use super::base;
use super::call::{Call, Reply};
use super::error::Error;
use super::ledger::Terms;
#[cfg(feature = "clouds")]
use super::location::Cloud;
use super::location::Location;

/// A store.
#[derive(Debug, Clone)]
pub enum Register {
    /// A folder on a local disk. Its calls block, so they run where blocking is allowed.
    Folder(Arc<Mutex<Folder>>),
    /// A prefix in a bucket.
    #[cfg(feature = "clouds")]
    Bucket(Arc<Bucket>),
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
            #[cfg(feature = "clouds")]
            Location::Bucket { cloud, bucket, prefix } => {
                Ok(Self::Bucket(Arc::new(Bucket::open(*cloud, bucket, prefix, location.to_string())?)))
            }
            #[cfg(not(feature = "clouds"))]
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
            #[cfg(feature = "clouds")]
            Self::Bucket(bucket) => {
                // Google allows one write per second to an object.
                let spacing = if bucket.cloud() == Cloud::Gcs { Duration::from_secs(1) } else { Duration::ZERO };
                Terms { lease: true, spacing, patience: Duration::from_secs(90) }
            }
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
            #[cfg(feature = "clouds")]
            Self::Bucket(_) => Ok(true),
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
            #[cfg(feature = "clouds")]
            Self::Bucket(bucket) => bucket.answer(call).await,
        }
    }

    /// The names of the snapshots that are there, the newest first; empty where the store cannot say.
    pub async fn bases(&self) -> Vec<String> {
        let names = match self {
            Self::Folder(folder) => folder.lock().unwrap_or_else(PoisonError::into_inner).names(),
            #[cfg(feature = "clouds")]
            Self::Bucket(bucket) => bucket.names().await,
        };
        let mut bases: Vec<_> = names.into_iter().filter_map(|name| Some((base::serial_of(&name)?, name))).collect();
        bases.sort_by(|a, b| b.cmp(a));
        bases.into_iter().map(|(_, name)| name).collect()
    }

    /// Whose credentials a bucket is asked with, for messages; a folder has none.
    #[must_use]
    pub fn credentials(&self) -> Option<&str> {
        match self {
            Self::Folder(_) => None,
            #[cfg(feature = "clouds")]
            Self::Bucket(bucket) => Some(bucket.credentials()),
        }
    }

    /// The names of what is in a folder below the place of a bucket's state.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] when the store does not say.
    pub(super) async fn names_below(&self, folder: &str) -> Result<Vec<String>, Error> {
        match self {
            // What lies beside a state in a folder is read without this.
            Self::Folder(_) => {
                let _ = folder;
                Ok(Vec::new())
            }
            #[cfg(feature = "clouds")]
            Self::Bucket(bucket) => bucket.names_below(folder).await,
        }
    }

    /// Removes objects of a bucket, together where the store can; gives its words for each that stays.
    pub(super) async fn remove(&self, names: Vec<String>) -> Vec<String> {
        match self {
            // What lies beside a state in a folder is removed without this.
            Self::Folder(_) => {
                drop(names);
                Vec::new()
            }
            #[cfg(feature = "clouds")]
            Self::Bucket(bucket) => bucket.remove(names).await,
        }
    }

    /// Proves that the store can keep a state: that exactly one of many writers wins.
    ///
    /// # Errors
    ///
    /// [`Error::Unfit`] for a store that lies about conditional writes.
    pub async fn prove(&self, name: &str) -> Result<(), Error> {
        match self {
            // The kernel's lock is proven by being taken.
            Self::Folder(_) => {
                let _ = name;
                Ok(())
            }
            #[cfg(feature = "clouds")]
            Self::Bucket(bucket) => bucket.prove(name).await,
        }
    }
}
