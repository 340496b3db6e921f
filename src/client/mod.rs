//! HTTP: one function per operation of the interface, one attempt per call.
//!
//! A failure says what the caller may do next (safety §6): [`SendError`] separates what certainly did not happen from what may have. No
//! redirect is followed, nothing is sent again in here, and the API key leaves in a header only.

mod address;
pub mod answer;
pub mod body;
mod connections;
pub mod retry;
mod secret;
mod send;
#[cfg(test)]
mod tests;
mod window;

use std::fmt;
use std::time::{Duration, SystemTime};

use secrecy::SecretString;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use address::{BaseUrl, BaseUrlError};
use body::{Piece, Pieces};
use connections::Connections;
use secret::ApiKey;
pub use window::Window;

/// What the operations take and give (`interface §2` and `§4`).
pub use crate::wire::{
    AccountDetails, REASONS, SOURCES, SubscribeRequest, Suppression, SuppressionCreateRequest,
    SuppressionDeleteRequest, SuppressionListAnswer, SuppressionListRequest, SystemInfo, code,
};

use crate::desired::{Id, Template};
use crate::wire::{self, path};

/// Why a request brought no result. The variants differ by what the caller may do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The service cannot have seen the whole request: safe to send again, always.
    #[error("the request was not sent: {why}")]
    NotSent {
        /// The reason, for people. Untrusted.
        why: String,
    },
    /// A file of the request cannot be read, or is not the one that was checked. Nothing was sent, and sending again would end the same.
    #[error("the request was not sent: {why}")]
    File {
        /// The reason, with the file's path. Untrusted.
        why: String,
    },
    /// The whole request may have reached the service and no readable answer came back.
    #[error("no usable answer: {why}")]
    Unknown {
        /// The reason, for people. Untrusted.
        why: String,
    },
    /// A well-formed refusal: nothing was done, the same request would be refused again.
    #[error("refused: {message} (code {code}, HTTP {http})")]
    Refused {
        /// HTTP status.
        http: u16,
        /// The service's code. Untrusted.
        code: String,
        /// The service's words. Untrusted.
        message: String,
    },
    /// 429: nothing was done; wait, then send again.
    #[error("the service asks for fewer requests (HTTP 429)")]
    Throttled {
        /// From `Retry-After`, at most 120 s.
        retry_after: Option<Duration>,
    },
    /// 401 or 403: the run stops.
    #[error("the API key is refused (HTTP {http}): {message}")]
    Denied {
        /// HTTP status.
        http: u16,
        /// The service's words. Untrusted.
        message: String,
    },
    /// 3xx: never followed; the run stops.
    #[error("the service answers with a redirect (HTTP {http}) to {to}: check `base_url`")]
    Redirected {
        /// HTTP status.
        http: u16,
        /// The `Location` header. Untrusted.
        to: String,
    },
    /// The answer to an update names another template than was asked for: the run stops.
    #[error("the service answers for the template {got} where {asked} was sent")]
    WrongId {
        /// The id in the request.
        asked: Id,
        /// The id in the answer.
        got: Id,
    },
}

/// How long a client waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection, with name resolution and TLS.
    pub connect: Duration,
    /// For the first byte of an answer after the last byte of the request; also for any progress before.
    pub answer: Duration,
    /// For the body of an answer.
    pub body: Duration,
    /// `TCP_USER_TIMEOUT`: for the other side to take what was sent. Bounds how late a request can arrive (safety §6).
    pub taken: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            answer: Duration::from_secs(60),
            body: Duration::from_secs(30),
            taken: Duration::from_secs(20),
        }
    }
}

/// What a client is made from.
#[derive(Debug)]
pub struct Options {
    /// Where the service is.
    pub base_url: BaseUrl,
    /// What is sent as `X-API-KEY`.
    pub api_key: SecretString,
    /// How long to wait.
    pub timeouts: Timeouts,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The key is empty or has characters that a header cannot carry. The key itself is not shown.
    #[error("the API key is empty, or has blanks or characters outside ASCII in it")]
    Key,
    /// The HTTP library cannot start, for example without any trusted certificate.
    #[error("cannot start the HTTP client: {0}")]
    Http(String),
}

/// `/system/info` with what its answer's head tells; for `doctor`.
#[derive(Debug)]
pub struct Probe {
    /// The answer.
    pub info: wire::SystemInfo,
    /// The service's clock, from the `Date` header.
    pub date: Option<SystemTime>,
    /// `HTTP/1.1`, `HTTP/2.0`.
    pub version: String,
}

/// The service, by one key.
pub struct Client {
    base_url: BaseUrl,
    key: ApiKey,
    header: reqwest::header::HeaderValue,
    timeouts: Timeouts,
    connections: Connections,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base_url", &self.base_url.as_str()).finish_non_exhaustive()
    }
}

impl Client {
    /// Makes a client; nothing is sent yet. Proxies come from the environment (`HTTPS_PROXY`, `NO_PROXY`, …), but for this machine none is used.
    ///
    /// # Errors
    ///
    /// [`ClientError`]: the key cannot be sent, or the HTTP library cannot start.
    pub fn new(options: Options) -> Result<Self, ClientError> {
        let Options { base_url, api_key, timeouts } = options;
        let key = ApiKey::new(api_key);
        let header = key.header().ok_or(ClientError::Key)?;
        let connections = Connections::new(base_url.is_loopback(), timeouts);
        let connections = connections.map_err(|error| ClientError::Http(send::words(error)))?;
        Ok(Self { base_url, key, header, timeouts, connections })
    }

    /// Where the service is.
    #[must_use]
    pub fn base_url(&self) -> &BaseUrl {
        &self.base_url
    }

    /// Creates a template with a name and next to no content (`interface §4.6`, safety §1.1), and returns its id. Never sent blindly again.
    /// The sender's address goes with it, since the interface asks for one when there is no id (§2.5).
    ///
    /// `gate` is asked just before the last byte is handed to the transport; when it says no, nothing was sent.
    ///
    /// # Errors
    ///
    /// [`SendError`] says what may have happened.
    pub async fn create_placeholder(
        &self,
        name: &str,
        sender_email: Option<&str>,
        gate: impl Fn() -> bool + Send + 'static,
    ) -> Result<Id, SendError> {
        self.template(body::placeholder(name, sender_email), gate).await
    }

    /// Replaces a template's content, every field of it (`interface §4.6`). May be sent again with the same content.
    ///
    /// `gate` as in [`Client::create_placeholder`]. Attachments are read from disk as they are sent.
    ///
    /// # Errors
    ///
    /// [`SendError`] says what may have happened.
    pub async fn update(
        &self,
        id: &Id,
        template: &Template,
        gate: impl Fn() -> bool + Send + 'static,
    ) -> Result<(), SendError> {
        let got = self.template(body::pieces(template, Some(id)), gate).await?;
        if got == *id { Ok(()) } else { Err(SendError::WrongId { asked: id.clone(), got }) }
    }

    /// Who the key belongs to (`interface §4.2`).
    ///
    /// # Errors
    ///
    /// [`SendError`] says what may have happened.
    pub async fn system_info(&self) -> Result<wire::SystemInfo, SendError> {
        Ok(self.probe().await?.info)
    }

    /// As [`Client::system_info`], with the head of the answer.
    ///
    /// # Errors
    ///
    /// [`SendError`] says what may have happened.
    pub async fn probe(&self) -> Result<Probe, SendError> {
        let response =
            self.post(self.connections.shared(), path::SYSTEM_INFO, whole(&serde_json::json!({}))?, || true).await?;
        let (date, version) = (answer::date(&response), format!("{:?}", response.version()));
        let info = answer::read(response, &self.key, self.timeouts).await?;
        Ok(Probe { info, date, version })
    }

    /// One page of the suppression list (`interface §4.1`).
    ///
    /// # Errors
    ///
    /// [`SendError`] says what may have happened.
    pub async fn suppression_list(
        &self,
        request: &wire::SuppressionListRequest,
    ) -> Result<wire::SuppressionListAnswer, SendError> {
        self.call(path::SUPPRESSION_LIST, request).await
    }

    /// Suppresses an address (`interface §4.3`).
    ///
    /// # Errors
    ///
    /// [`SendError`] says what may have happened.
    pub async fn suppression_create(&self, request: &wire::SuppressionCreateRequest) -> Result<(), SendError> {
        self.call(path::SUPPRESSION_CREATE, request).await.map(|_: wire::StatusAnswer| ())
    }

    /// Frees an address (`interface §4.5`): 3003, 3004 and 906 come back as [`SendError::Refused`].
    ///
    /// # Errors
    ///
    /// [`SendError`] says what may have happened.
    pub async fn suppression_delete(&self, request: &wire::SuppressionDeleteRequest) -> Result<(), SendError> {
        self.call(path::SUPPRESSION_DELETE, request).await.map(|_: wire::StatusAnswer| ())
    }

    /// Has the service mail a renewal link (`interface §4.4`). Never to be sent again after [`SendError::Unknown`].
    ///
    /// # Errors
    ///
    /// [`SendError`] says what may have happened.
    pub async fn subscribe(&self, request: &wire::SubscribeRequest) -> Result<(), SendError> {
        self.call(path::EMAIL_SUBSCRIBE, request).await.map(|_: wire::StatusAnswer| ())
    }

    async fn template(&self, pieces: Pieces, gate: impl Fn() -> bool + Send + 'static) -> Result<Id, SendError> {
        let http = self.connections.for_template()?;
        let response = self.post(http, path::TEMPLATE_CREATE, pieces, gate).await?;
        answer::read_id(response, &self.key, self.timeouts).await
    }

    async fn call<T: DeserializeOwned>(&self, path: &str, request: &impl Serialize) -> Result<T, SendError> {
        let response = self.post(self.connections.shared(), path, whole(request)?, || true).await?;
        answer::read(response, &self.key, self.timeouts).await
    }

    async fn post(
        &self,
        http: &reqwest::Client,
        path: &str,
        pieces: Pieces,
        gate: impl Fn() -> bool + Send + 'static,
    ) -> Result<reqwest::Response, SendError> {
        let url = self.base_url.operation(path);
        let response = send::send(http, url, self.header.clone(), pieces, self.timeouts, gate).await;
        if let Ok(response) = &response {
            self.connections.answered(response);
        }
        response.map_err(|error| self.masked(error))
    }

    /// A proxy's words on the way out are foreign too.
    fn masked(&self, error: SendError) -> SendError {
        match error {
            SendError::NotSent { why } => SendError::NotSent { why: self.key.mask(&why) },
            SendError::Unknown { why } => SendError::Unknown { why: self.key.mask(&why) },
            other => other,
        }
    }
}

/// A small request in one piece.
fn whole(request: &impl Serialize) -> Result<Pieces, SendError> {
    let text = serde_json::to_vec(request).map_err(|error| SendError::NotSent { why: error.to_string() })?;
    Ok(Pieces { bytes: text.len() as u64, list: vec![Piece::Text(text)] })
}
