//! How a bucket is reached: the settings and credentials that each cloud's own tools would take, from the variables and files where they look.
//!
//! `object_store` knows most sources. What it does not know is added here: profiles, configuration files, and identities that CI exchanges for a token.
//! A source that is there and cannot be used is an error that names it; it is never passed over in silence for a weaker one.

mod aws;
mod azure;
mod exchange;
mod google;
mod process;
mod profiles;
mod provider;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Once;
use std::time::Duration;

use object_store::{ClientOptions, ObjectStore, RetryConfig};

use super::bucket::DEADLINE;
use crate::state::location::Cloud;

/// A bucket that can be asked, and whose credentials it is asked with, for messages.
pub(super) struct Access {
    pub(super) store: Box<dyn ObjectStore>,
    pub(super) from: String,
}

/// Finds the way to a bucket; nothing is sent yet.
///
/// # Errors
///
/// A sentence: which source is there and cannot be used, and the way out.
pub(super) fn to(cloud: Cloud, bucket: &str, variables: &Variables) -> Result<Access, String> {
    install_tls();
    match cloud {
        Cloud::S3 => aws::access(bucket, variables),
        Cloud::Gcs => google::access(bucket, variables),
        Cloud::Azure => azure::access(bucket, variables),
    }
}

/// The variables of the environment, read once. Empty ones count as not set.
#[derive(Debug, Clone, Default)]
pub(super) struct Variables(BTreeMap<String, String>);

impl Variables {
    /// Those of this process. The clouds' tools have dozens, and `object_store` reads them itself: they do not enter through clap.
    pub(super) fn of_this_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self(std::env::vars_os().filter_map(text).filter(|(_, value)| !value.is_empty()).collect())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The first of these that is set.
    fn first(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.get(name))
    }

    /// All whose names begin with `prefix`.
    fn beginning<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let pairs = self.0.iter().filter(move |(name, _)| name.starts_with(prefix));
        pairs.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    fn home(&self) -> Option<PathBuf> {
        self.first(&["HOME", "USERPROFILE"]).map(PathBuf::from)
    }
}

/// Every call is made once: the protocol above decides what may be asked again.
fn options() -> (ClientOptions, RetryConfig) {
    let options =
        ClientOptions::new().with_allow_http(true).with_timeout(DEADLINE).with_connect_timeout(Duration::from_secs(5));
    (options, RetryConfig { max_retries: 0, ..RetryConfig::default() })
}

/// A client that is built without a TLS provider panics: there is one, installed once.
fn install_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error says that another part of the program has installed its own, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
