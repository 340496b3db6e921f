//! HTTP: one function per operation of the interface, one attempt per call.
//!
//! A failure says what the caller may do next (safety §6): [`SendError`] separates what certainly did not happen from what may have.

use std::time::Duration;

/// Why a request brought no result. The variants differ by what the caller may do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The service cannot have seen the whole request: safe to send again, always.
    #[error("the request was not sent: {why}")]
    NotSent {
        /// The reason, for people. Untrusted.
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
}
