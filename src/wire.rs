//! The service's JSON, field for field (`interface §2` to `§7`).
//!
//! The client writes and reads these values, the sandbox reads and writes them; nobody else knows that a wire
//! exists. Reading is tolerant where the interface asks for it: unknown reasons and sources pass through,
//! `code` may be a number or a string, `status` is compared without case.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// The header that carries the API key (`interface §5`).
pub const API_KEY_HEADER: &str = "X-API-KEY";

/// The paths of the service, below its base address (`interface §4`).
pub mod path {
    /// `interface §4.1`
    pub const SUPPRESSION_LIST: &str = "/suppression/list";
    /// `interface §4.2`
    pub const SYSTEM_INFO: &str = "/system/info";
    /// `interface §4.3`
    pub const SUPPRESSION_CREATE: &str = "/suppression/create";
    /// `interface §4.4`
    pub const EMAIL_SUBSCRIBE: &str = "/email/subscribe";
    /// `interface §4.5`
    pub const SUPPRESSION_DELETE: &str = "/suppression/delete";
    /// `interface §4.6`
    pub const TEMPLATE_CREATE: &str = "/template/create";
}

/// The codes that the interface names (`interface §7`).
pub mod code {
    /// The daily limit of deletes is exceeded.
    pub const DELETE_LIMIT: &str = "906";
    /// No record for the address exists.
    pub const NOT_SUPPRESSED: &str = "3003";
    /// Records exist, but none of them can be deleted.
    pub const NOT_DELETABLE: &str = "3004";
}

/// Why an address is suppressed, as a request may name it (`interface §2.1`). Answers carry a plain string, since new reasons may appear.
pub const REASONS: [&str; 5] =
    ["unsubscribed", "temporary_unavailable", "permanent_unavailable", "complained", "blocked"];

/// Who suppressed an address, as a request may name it (`interface §2.2`).
pub const SOURCES: [&str; 3] = ["user", "system", "subscriber"];

/// A template in a request or an answer (`interface §2.5`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Template {
    /// Absent in a request: create. Present: edit that template. Always present in an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The template's name; the interface declares it a UUID, free text is what services accept.
    pub name: String,
    /// The parts of the mail.
    pub body: Body,
    /// Subject line; merge tags are substituted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Sender address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_email: Option<String>,
    /// Sender name; merge tags are substituted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_name: Option<String>,
    /// Reply-To address where it differs from the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// `html` (default) or `visual`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_builder: Option<String>,
    /// Merge tags common to all recipients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_replacements: Option<BTreeMap<String, String>>,
    /// Metadata handed to the webhook: at most 10 keys of 64 symbols with values of 1,024 symbols.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_info: Option<BTreeMap<String, String>>,
    /// Mail headers, at most 50, only `X-…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
    /// Attached files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachments: Option<Vec<Attachment>>,
    /// Files used in the HTML as `cid:<name>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline_attachments: Option<Vec<Attachment>>,
    /// Click tracking: 1 on (default), 0 off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_links: Option<u8>,
    /// Read tracking: 1 on (default), 0 off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_read: Option<u8>,
    /// Only in answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_creator: Option<String>,
}

/// The parts of a mail (`interface §2.5`); `html` or `plaintext` is required.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Body {
    /// The HTML part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// The plain-text part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plaintext: Option<String>,
    /// The AMP part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amp: Option<String>,
}

/// A file in a template (`interface §2.5`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attachment {
    /// MIME type.
    #[serde(rename = "type")]
    pub mime: String,
    /// `name.extension`; also the content id.
    pub name: String,
    /// Base64 of the file, at most 9,786,710 characters.
    pub content: String,
}

/// `/template/create` (`interface §4.6`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TemplateRequest {
    /// The template to create or edit.
    pub template: Template,
}

/// The answer to `/template/create`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TemplateAnswer {
    /// `Success`.
    pub status: String,
    /// The template as stored, with its id.
    pub template: Template,
}

/// The answer to `/system/info` (`interface §2.4`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SystemInfo {
    /// `Success`.
    pub status: String,
    /// The user that the key belongs to.
    pub user_id: u64,
    /// The user's address.
    pub email: String,
    /// Only for a project key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// Only for a project key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_name: Option<String>,
    /// The accounting period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_details: Option<AccountDetails>,
}

/// The accounting period (`interface §2.4`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountDetails {
    /// UTC `YYYY-MM-DD hh:mm:ss`.
    pub start_period: String,
    /// UTC `YYYY-MM-DD hh:mm:ss`.
    pub end_period: String,
    /// Emails included in the period (our reading; the interface shows only the type).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emails_by_period: Option<i64>,
    /// Emails sent in the period (our reading).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emails_sent: Option<i64>,
}

/// `/suppression/list` (`interface §4.1`); both filters must match when both are given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuppressionListRequest {
    /// Only records with this reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Only records from this source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Only records since then, UTC `YYYY-MM-DD hh:mm:ss`; ignored when a position is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_date: Option<String>,
    /// Empty or absent for the first page; then what the previous answer said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_position: Option<String>,
    /// Records in one page; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The answer to `/suppression/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuppressionListAnswer {
    /// `Success`.
    pub status: String,
    /// The records of this page.
    pub suppressions: Vec<Suppression>,
    /// Where the next page starts.
    pub start_position: String,
}

/// A suppression record (`interface §2.3`). Fields that a newer server adds are kept in `other`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Suppression {
    /// The address; not in the documented answer, shown when a server sends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// One of [`REASONS`], or a newer one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// One of [`SOURCES`], or a newer one.
    pub source: String,
    /// UTC `YYYY-MM-DD hh:mm:ss`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// The project that the record belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// Whether `/suppression/delete` can remove it.
    pub is_deletable: bool,
}

/// `/suppression/create` (`interface §4.3`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuppressionCreateRequest {
    /// The address to suppress.
    pub email: String,
    /// One of [`REASONS`].
    pub reason: String,
    /// UTC `YYYY-MM-DD hh:mm:ss`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
}

/// `/suppression/delete` (`interface §4.5`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuppressionDeleteRequest {
    /// The address to free.
    pub email: String,
}

/// `/email/subscribe` (`interface §4.4`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubscribeRequest {
    /// Sender address.
    pub sender_email: String,
    /// Sender name.
    pub sender_name: String,
    /// The former subscriber.
    pub recipient_email: String,
}

/// An answer that carries nothing but its status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusAnswer {
    /// `Success`.
    pub status: String,
}

/// The body of every failure (`interface §7`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorAnswer {
    /// `Error`.
    pub status: String,
    /// The service's code; a number on the wire, a string in the template call. Read either.
    #[serde(deserialize_with = "number_or_string")]
    pub code: String,
    /// What went wrong, in English.
    pub message: String,
}

/// Whether a `status` field says success; the case of the word does not count.
#[must_use]
pub fn is_success(status: &str) -> bool {
    status.eq_ignore_ascii_case("success")
}

fn number_or_string<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Code {
        Number(serde_json::Number),
        Text(String),
    }
    Ok(match Code::deserialize(from)? {
        Code::Number(number) => number.to_string(),
        Code::Text(text) => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_a_number_and_as_a_string() {
        for body in
            [r#"{"status":"Error","code":906,"message":"m"}"#, r#"{"status":"Error","code":"906","message":"m"}"#]
        {
            let error: ErrorAnswer = serde_json::from_str(body).unwrap();
            assert_eq!(error.code, code::DELETE_LIMIT);
        }
    }
}
