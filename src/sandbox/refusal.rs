//! Every way in which the service says no: one table.
//!
//! The interface names three codes (`interface §7`) and no HTTP status at all. Everything else in this table is **ours**: the statuses follow
//! the habits of similar services, and our codes are numbers of 9000 and above so that nobody takes them for the real service's.

use axum::http::StatusCode;

/// One row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// The API error code.
    pub code: u32,
    /// The HTTP status; ours throughout.
    pub http: StatusCode,
    /// What it means.
    pub meaning: &'static str,
}

macro_rules! table {
    ($($name:ident = $code:literal, $http:ident, $meaning:literal;)+) => {
        $(#[doc = $meaning] pub const $name: Kind = Kind { code: $code, http: StatusCode::$http, meaning: $meaning };)+
        /// The whole table, in the order of the codes.
        pub const TABLE: &[&Kind] = &[$(&$name),+];
    };
}

table! {
    DELETE_LIMIT = 906, BAD_REQUEST, "The daily limit of deletes is exceeded.";
    NOT_SUPPRESSED = 3003, BAD_REQUEST, "No entries for the address exist in the suppression list.";
    NOT_DELETABLE = 3004, BAD_REQUEST, "Entries exist, but none of them can be deleted.";
    KEY_MISSING = 9001, UNAUTHORIZED, "The request has no `X-API-KEY` header.";
    KEY_UNKNOWN = 9002, UNAUTHORIZED, "The API key is not known.";
    FOREIGN_PAGE = 9003, FORBIDDEN, "The request comes from a web page of another origin, or for another host.";
    UNKNOWN_PATH = 9004, NOT_FOUND, "There is no such path.";
    NOT_POST = 9005, METHOD_NOT_ALLOWED, "The method is not POST.";
    TOO_LARGE = 9006, PAYLOAD_TOO_LARGE, "The body is larger than 10 MB.";
    NOT_JSON_TYPE = 9007, UNSUPPORTED_MEDIA_TYPE, "The `Content-Type` is not `application/json`.";
    TOO_SLOW = 9008, REQUEST_TIMEOUT, "The body did not arrive in time.";
    CUT_OFF = 9009, BAD_REQUEST, "The body broke off.";
    NOT_JSON = 9010, BAD_REQUEST, "The body is not JSON in UTF-8.";
    DUPLICATE_KEY = 9011, BAD_REQUEST, "An object has the same key twice.";
    MISSING_FIELD = 9012, BAD_REQUEST, "A required field is missing.";
    WRONG_TYPE = 9013, BAD_REQUEST, "A field has the wrong type.";
    BAD_VALUE = 9014, BAD_REQUEST, "A field has a value that is not allowed.";
    OVER_LIMIT = 9015, BAD_REQUEST, "A limit of the interface is exceeded.";
    UNKNOWN_FIELD = 9016, BAD_REQUEST, "A field is not known (only with `--strict`).";
    UNKNOWN_TEMPLATE = 9017, BAD_REQUEST, "No template has this id.";
    TOO_MANY_TEMPLATES = 9018, BAD_REQUEST, "The account holds as many templates as it may.";
    VISUAL_BUILDER = 9019, BAD_REQUEST, "A `visual` template can be created only in the web interface.";
    NOT_UNSUBSCRIBED = 9020, BAD_REQUEST, "The recipient neither unsubscribed nor complained.";
    ONCE_A_DAY = 9021, TOO_MANY_REQUESTS, "The recipient was sent a renewal mail within the last day.";
    FAULT = 9022, INTERNAL_SERVER_ERROR, "A rule of `--faults` asked for this answer; its status may be another one.";
    INTERNAL = 9023, INTERNAL_SERVER_ERROR, "The service itself failed.";
}

/// A refusal with the words for this request. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The row of the table.
    pub kind: &'static Kind,
    /// One English sentence with the field's path and the numbers.
    pub message: String,
    /// Seconds for `Retry-After`.
    pub retry_after: Option<u64>,
}

impl Refusal {
    /// A refusal with its sentence.
    pub fn new(kind: &'static Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None }
    }
}

impl From<&'static Kind> for Refusal {
    fn from(kind: &'static Kind) -> Self {
        Self::new(kind, kind.meaning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::code;

    #[test]
    fn codes_are_unique_and_only_the_documented_ones_are_below_9000() {
        assert!(TABLE.is_sorted_by(|a, b| a.code < b.code));
        let documented: Vec<_> = TABLE.iter().map(|kind| kind.code).filter(|code| *code < 9000).collect();
        let named = [code::DELETE_LIMIT, code::NOT_SUPPRESSED, code::NOT_DELETABLE];
        assert_eq!(documented, named.map(|code| code.parse::<u32>().unwrap()));
    }
}
