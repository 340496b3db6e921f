//! The operations of the interface: which path means which, and how each is read and executed.

use jiff::Timestamp;
use rusqlite::Connection;

use super::accounts::{self, Caller};
use super::fields::{Fields, Notes};
use super::json;
use super::refusal::Refusal;
use super::service::Quotas;
use super::subscribe;
use super::suppression;
use super::template;
use crate::wire::{
    SubscribeRequest, SuppressionCreateRequest, SuppressionDeleteRequest, SuppressionListRequest, Template, path,
};

/// A path of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// `interface §4.1`
    SuppressionList,
    /// `interface §4.2`
    SystemInfo,
    /// `interface §4.3`
    SuppressionCreate,
    /// `interface §4.4`
    EmailSubscribe,
    /// `interface §4.5`
    SuppressionDelete,
    /// `interface §4.6`
    TemplateCreate,
}

/// A request that is well-formed, whoever sent it.
#[derive(Debug)]
pub enum Operation {
    /// A page of the list.
    SuppressionList(SuppressionListRequest),
    /// Who does the key belong to.
    SystemInfo,
    /// Suppress an address.
    SuppressionCreate(SuppressionCreateRequest),
    /// Send a renewal mail.
    EmailSubscribe(SubscribeRequest),
    /// Free an address.
    SuppressionDelete(SuppressionDeleteRequest),
    /// Create or edit.
    TemplateCreate(Box<Template>),
}

impl Endpoint {
    /// The endpoint at a path.
    pub fn at(text: &str) -> Option<Self> {
        match text {
            path::SUPPRESSION_LIST => Some(Self::SuppressionList),
            path::SUPPRESSION_CREATE => Some(Self::SuppressionCreate),
            path::EMAIL_SUBSCRIBE => Some(Self::EmailSubscribe),
            path::SUPPRESSION_DELETE => Some(Self::SuppressionDelete),
            path::SYSTEM_INFO => Some(Self::SystemInfo),
            path::TEMPLATE_CREATE => Some(Self::TemplateCreate),
            _ => None,
        }
    }

    /// Reads a body: pure, and without regard to what is stored.
    pub fn read(self, body: &[u8], notes: &mut Notes) -> Result<Operation, Refusal> {
        let request = Fields::of_request(json::parse(body)?)?;
        match self {
            Self::SuppressionList => suppression::read_list(request, notes).map(Operation::SuppressionList),
            Self::SuppressionCreate => suppression::read_create(request, notes).map(Operation::SuppressionCreate),
            Self::EmailSubscribe => subscribe::read(request, notes).map(Operation::EmailSubscribe),
            Self::SuppressionDelete => suppression::read_delete(request, notes).map(Operation::SuppressionDelete),
            Self::SystemInfo => request.finish(notes).map(|()| Operation::SystemInfo),
            Self::TemplateCreate => template::read(request, notes).map(Box::new).map(Operation::TemplateCreate),
        }
    }
}

/// What an operation needs besides its body.
#[derive(Debug)]
pub struct Circumstances {
    /// Whose key it is.
    pub caller: Caller,
    /// What may be had.
    pub quotas: Quotas,
    /// The moment.
    pub now: Timestamp,
    /// Its row in the request log.
    pub request: i64,
    /// Where links in mails point.
    pub base_url: String,
    /// What a new mail's `delivery` says.
    pub delivery: &'static str,
}

impl Operation {
    /// Executes within the transaction of the caller, and gives the body of the answer.
    pub fn execute(self, connection: &Connection, at: &Circumstances) -> rusqlite::Result<Result<String, Refusal>> {
        match self {
            Self::SuppressionList(request) => {
                suppression::list(connection, at, &request).and_then(|page| json(&page)).map(Ok)
            }
            Self::SuppressionCreate(request) => suppression::create(connection, at, &request).map(|()| Ok(done())),
            Self::EmailSubscribe(request) => Ok(subscribe::send(connection, at, &request)?.map(|()| done())),
            Self::SuppressionDelete(request) => Ok(suppression::delete(connection, at, &request)?.map(|()| done())),
            Self::SystemInfo => accounts::info(connection, &at.caller, at.now).and_then(|info| json(&info)).map(Ok),
            Self::TemplateCreate(template) => {
                let stored = template::store(connection, at, *template)?;
                Ok(stored.map(|content| format!(r#"{{"status":"{}","template":{content}}}"#, super::SUCCESS)))
            }
        }
    }
}

/// An answer that carries nothing but its status.
fn done() -> String {
    format!(r#"{{"status":"{}"}}"#, super::SUCCESS)
}

fn json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    use super::*;
    use crate::sandbox::refusal::TABLE;

    const ENDPOINTS: [Endpoint; 6] = [
        Endpoint::SuppressionList,
        Endpoint::SystemInfo,
        Endpoint::SuppressionCreate,
        Endpoint::EmailSubscribe,
        Endpoint::SuppressionDelete,
        Endpoint::TemplateCreate,
    ];

    /// Names that the service knows, so that values get past the first check.
    fn name() -> impl Strategy<Value = String> {
        let known = [
            "template",
            "id",
            "name",
            "body",
            "html",
            "plaintext",
            "subject",
            "sender_email",
            "reply_to",
            "headers",
            "global_info",
            "global_replacements",
            "attachments",
            "type",
            "content",
            "check_links",
            "email",
            "reason",
            "created",
            "limit",
            "start_position",
            "recipient_email",
            "sender_name",
            "X-A",
        ];
        prop_oneof![8 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => any::<String>()]
    }

    fn value() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            Just("a@example.com"),
            Just("2026-01-01 00:00:00"),
            Just("aGk="),
            Just("a.txt"),
            Just("text/plain")
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            text.prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 64, 12, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(name(), inner, 0..12)
                    .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>())),
            ]
        })
    }

    fn judge(body: &[u8]) {
        for endpoint in ENDPOINTS {
            if let Err(refusal) = endpoint.read(body, &mut Notes::default()) {
                assert!(TABLE.contains(&refusal.kind) && !refusal.message.is_empty());
                assert!(refusal.message.chars().count() < 600, "{}", refusal.message);
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_judged(body in proptest::collection::vec(any::<u8>(), 0..400)) {
            judge(&body);
        }

        #[test]
        fn any_json_is_judged(value in value()) {
            judge(value.to_string().as_bytes());
        }
    }
}
