//! Which connection a request takes.
//!
//! Creates and updates take a fresh connection each where the service speaks HTTP/1.1 and promises nothing: on one that was idle, a request
//! that the service never saw looks lost (safety §1.8). A service that promises to hold idle connections (`Keep-Alive: timeout=…`) is taken at
//! its word for a small part of that time. Over HTTP/2 they share a live connection, and so do the other operations everywhere, since they may be
//! sent again.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Once, OnceLock};
use std::time::Duration;

use super::{SendError, Timeouts, send};

/// The ways to the service, and what its last answer said about them.
pub(super) struct Connections {
    loopback: bool,
    timeouts: Timeouts,
    shared: reqwest::Client,
    /// Made when it is first used: each client reads all trusted certificates.
    fresh: OnceLock<reqwest::Client>,
    /// The same.
    warm: OnceLock<reqwest::Client>,
    last: AtomicU8,
}

/// What the last answer said about its connection: the number is how it is kept in [`Connections::last`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Nothing to rely on.
    Fresh = 0,
    /// HTTP/1.1, held open when idle for at least [`PROMISED`].
    Warm = 1,
    /// HTTP/2: requests share it while it lives.
    Shared = 2,
}

/// How long a connection may have been idle for the next create or update.
const WARM: Duration = Duration::from_millis(500);
/// How long a service must promise to hold an idle connection: far longer than [`WARM`] and any way there.
const PROMISED: Duration = Duration::from_secs(4);

impl Connections {
    /// No connection yet. To a service on this machine no proxy is used.
    pub(super) fn new(loopback: bool, timeouts: Timeouts) -> Result<Self, reqwest::Error> {
        install_tls();
        let shared = http(loopback, timeouts).build()?;
        let (fresh, warm) = (OnceLock::new(), OnceLock::new());
        Ok(Self { loopback, timeouts, shared, fresh, warm, last: AtomicU8::new(Line::Fresh as u8) })
    }

    /// For what may be sent again.
    pub(super) fn shared(&self) -> &reqwest::Client {
        &self.shared
    }

    /// For creates and updates.
    pub(super) fn for_template(&self) -> Result<&reqwest::Client, SendError> {
        let new = || http(self.loopback, self.timeouts);
        match self.last.load(Ordering::Relaxed) {
            last if last == Line::Shared as u8 => Ok(&self.shared),
            last if last == Line::Warm as u8 => made(&self.warm, || new().pool_idle_timeout(WARM)),
            _ => made(&self.fresh, || new().pool_max_idle_per_host(0)),
        }
    }

    /// Takes in what an answer says about its connection.
    pub(super) fn answered(&self, response: &reqwest::Response) {
        self.last.store(line(response) as u8, Ordering::Relaxed);
    }
}

/// What an answer says about its connection.
fn line(response: &reqwest::Response) -> Line {
    if response.version() == reqwest::Version::HTTP_2 {
        return Line::Shared;
    }
    let promise = response.headers().get("keep-alive").and_then(|value| value.to_str().ok());
    let mut words = promise.unwrap_or_default().split(',').filter_map(|word| word.trim().strip_prefix("timeout="));
    let seconds = words.next().and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs);
    if seconds.is_some_and(|seconds| seconds >= PROMISED) { Line::Warm } else { Line::Fresh }
}

fn http(loopback: bool, timeouts: Timeouts) -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder()
        .user_agent(concat!("letterpress/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(timeouts.connect);
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    let builder = builder.tcp_user_timeout(timeouts.taken);
    if loopback { builder.no_proxy() } else { builder }
}

/// The client of a cell, made with its first use.
fn made(
    cell: &OnceLock<reqwest::Client>,
    how: impl FnOnce() -> reqwest::ClientBuilder,
) -> Result<&reqwest::Client, SendError> {
    if let Some(client) = cell.get() {
        return Ok(client);
    }
    let client = how().build().map_err(|error| SendError::NotSent { why: send::words(error) })?;
    Ok(cell.get_or_init(|| client))
}

/// A client that is built without a TLS provider panics: there is one, installed once.
fn install_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error says that the embedding program has installed its own, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
