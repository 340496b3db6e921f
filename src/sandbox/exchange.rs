//! One request to the interface and its answer: read, judge, execute, log, answer.
//!
//! Whatever arrives, the answer is JSON of `interface §7`, and the request is in the log. Execution and log row are one transaction.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use futures_util::StreamExt as _;
use rusqlite::Connection;

use super::accounts;
use super::fault::{CodeType, Rule, When};
use super::fields::{Notes, shown};
use super::log::{self, Entry};
use super::misbehave::misbehave;
use super::operation::{Circumstances, Endpoint, Operation};
use super::refusal::{
    CUT_OFF, INTERNAL, KEY_MISSING, KEY_UNKNOWN, NOT_JSON_TYPE, NOT_POST, Refusal, TOO_LARGE, TOO_SLOW, UNKNOWN_PATH,
};
use super::service::Service;
use crate::limits;
use crate::wire::{API_KEY_HEADER, path};

/// What the service says.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub http: StatusCode,
    /// The code of an error.
    pub code: Option<u32>,
    /// JSON.
    pub body: String,
    /// Seconds.
    pub retry_after: Option<u64>,
}

/// What is known of a request without asking the database. The order of the fields is the order in which refusals win.
struct Judged {
    /// Wrong page, path, method, or no key.
    door: Result<(Endpoint, String), Refusal>,
    /// The body and what it asks for.
    operation: Result<Operation, Refusal>,
    notes: Notes,
}

/// Answers one request.
pub async fn answer(service: Arc<Service>, request: Request) -> Response {
    let began = Instant::now();
    let (parts, body) = request.into_parts();
    let body = collect(body, service.patience).await;
    let sent = body.as_deref().unwrap_or_default();
    let fault = service.faults.pick(parts.uri.path(), sent).cloned();
    if let Some(delay) = fault.as_ref().map(|fault| fault.delay_ms).filter(|ms| *ms > 0) {
        // The runtime's own clock counts whole milliseconds, and rounds up twice.
        futures_timer::Delay::new(Duration::from_millis(delay)).await;
    }
    let code_type = fault.as_ref().and_then(|fault| fault.code).unwrap_or_else(|| code_type(parts.uri.path()));
    let entry = Entry::of(&parts, sent, fault.as_ref().map(Rule::name));
    let prevented = fault.as_ref().is_some_and(|fault| fault.answer.is_some() && fault.when == When::Before);

    let answered = if prevented {
        let entry = entry.answered(fault.as_ref().map_or(0, Rule::logged_status), None, "", began.elapsed());
        let now = service.clock.now();
        let logged = service.store.run(move |connection| log::write(connection, None, now, &entry, &[])).await;
        logged.map(|()| Answer { http: StatusCode::OK, code: None, body: String::new(), retry_after: None })
    } else {
        let judged = judge(&service, parts, body).await;
        let now = service.clock.now();
        let job = Job { service: service.clone(), now, judged, entry, code_type, began };
        let executed = service.store.run(move |connection| job.execute(connection)).await;
        service.outbox.notify_one();
        executed
    };
    let answer = match answered {
        Ok(answer) => answer,
        Err(error) => refused(&Refusal::new(&INTERNAL, error.to_string()), code_type),
    };
    match fault.filter(|fault| fault.answer.is_some()) {
        Some(fault) => misbehave(&service, &fault, answer, code_type).await,
        None => respond(answer),
    }
}

/// `code` is a string in the template call and a number elsewhere (`interface §7`).
fn code_type(at: &str) -> CodeType {
    if at == path::TEMPLATE_CREATE { CodeType::String } else { CodeType::Number }
}

/// Reads a body up to the limit. What is over the limit is read and thrown away for a while, so that the client gets
/// to read its answer instead of a broken connection.
async fn collect(body: Body, patience: Duration) -> Result<Vec<u8>, Refusal> {
    let limit = usize::try_from(limits::REQUEST_BYTES).unwrap_or(usize::MAX);
    let mut stream = body.into_data_stream();
    let mut collected = Vec::new();
    let mut total = 0;
    let read = async {
        while let Some(piece) = stream.next().await {
            let piece = piece.map_err(|_| Refusal::from(&CUT_OFF))?;
            total += piece.len();
            if total <= limit {
                collected.extend_from_slice(&piece);
            } else if total > 4 * limit {
                break;
            }
        }
        Ok::<_, Refusal>(())
    };
    tokio::time::timeout(patience, read).await.unwrap_or_else(|_| Err((&TOO_SLOW).into()))?;
    if total > limit {
        let message = format!("the body is larger than {limit} bytes (10 MB)");
        return Err(Refusal::new(&TOO_LARGE, message));
    }
    Ok(collected)
}

async fn judge(service: &Arc<Service>, parts: Parts, body: Result<Vec<u8>, Refusal>) -> Judged {
    let door = door(service, &parts);
    let mut notes = Notes { strict: service.strict, ignored: Vec::new() };
    let endpoint = match &door {
        Ok((endpoint, _)) => *endpoint,
        Err(refusal) => return Judged { operation: Err(refusal.clone()), door, notes },
    };
    let body = content_type(&parts).and(body);
    let operation = match body {
        Err(refusal) => Err(refusal),
        Ok(body) if body.len() < 262_144 => endpoint.read(&body, &mut notes),
        // A large body takes milliseconds to read: that is not for the workers that serve everybody.
        Ok(body) => {
            let read = move || {
                let operation = endpoint.read(&body, &mut notes);
                (operation, notes)
            };
            match tokio::task::spawn_blocking(read).await {
                Ok((operation, read)) => return Judged { door, operation, notes: read },
                Err(error) => {
                    return Judged {
                        door,
                        operation: Err(Refusal::new(&INTERNAL, error.to_string())),
                        notes: Notes::default(),
                    };
                }
            }
        }
    };
    Judged { door, operation, notes }
}

fn door(service: &Service, parts: &Parts) -> Result<(Endpoint, String), Refusal> {
    service.gate.check(parts, false)?;
    let at = parts.uri.path();
    let endpoint =
        Endpoint::at(at).ok_or_else(|| Refusal::new(&UNKNOWN_PATH, format!("there is no path `{}`", shown(at))))?;
    if parts.method != Method::POST {
        return Err(Refusal::new(
            &NOT_POST,
            format!("the method is {}, only POST is allowed", shown(parts.method.as_str())),
        ));
    }
    let key = parts.headers.get(API_KEY_HEADER).ok_or_else(|| Refusal::from(&KEY_MISSING))?;
    let key = key.to_str().map_err(|_| Refusal::from(&KEY_UNKNOWN))?;
    Ok((endpoint, key.to_owned()))
}

fn content_type(parts: &Parts) -> Result<(), Refusal> {
    let sent = parts.headers.get(header::CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let Some(sent) = sent else {
        return Err(Refusal::new(&NOT_JSON_TYPE, "the request has no `Content-Type`; it wants `application/json`"));
    };
    let mut pieces = sent.split(';').map(str::trim);
    let is_json = pieces.next().is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"));
    let is_utf8 = pieces.all(|parameter| match parameter.split_once('=') {
        Some((name, value)) if name.eq_ignore_ascii_case("charset") => {
            value.trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    });
    if is_json && is_utf8 {
        return Ok(());
    }
    Err(Refusal::new(&NOT_JSON_TYPE, format!("the `Content-Type` is `{}`, not `application/json`", shown(&sent))))
}

/// A judged request on its way through the database.
struct Job {
    service: Arc<Service>,
    now: jiff::Timestamp,
    judged: Judged,
    entry: Entry,
    code_type: CodeType,
    began: Instant,
}

impl Job {
    fn execute(self, connection: &Connection) -> rusqlite::Result<Answer> {
        let Self { service, now, judged, entry, code_type, began } = self;
        let mut caller = None;
        let result = match judged.door {
            Err(refusal) => Err(refusal),
            Ok((_, key)) => {
                caller = accounts::caller(connection, &key)?;
                match (&caller, judged.operation) {
                    (None, _) => Err((&KEY_UNKNOWN).into()),
                    (Some(_), Err(refusal)) => Err(refusal),
                    (Some(caller), Ok(operation)) => {
                        let at = Circumstances {
                            caller: caller.clone(),
                            quotas: service.quotas,
                            now,
                            request: log::next(connection)?,
                            base_url: service.base_url.clone(),
                            delivery: service.delivery,
                        };
                        operation.execute(connection, &at)?
                    }
                }
            }
        };
        let answer = match result {
            Ok(body) => Answer { http: StatusCode::OK, code: None, body, retry_after: None },
            Err(refusal) => refused(&refusal, code_type),
        };
        let entry = entry.answered(answer.http.as_u16(), answer.code, &answer.body, began.elapsed());
        log::write(connection, caller.as_ref(), now, &entry, &judged.notes.ignored)?;
        Ok(answer)
    }
}

/// The body of `interface §7`.
pub fn refused(refusal: &Refusal, code_type: CodeType) -> Answer {
    let code = refusal.kind.code;
    let code_value = match code_type {
        CodeType::String => serde_json::Value::from(code.to_string()),
        CodeType::Number => serde_json::Value::from(code),
    };
    let body = serde_json::json!({ "status": super::ERROR, "code": code_value, "message": refusal.message });
    Answer { http: refusal.kind.http, code: Some(code), body: body.to_string(), retry_after: refusal.retry_after }
}

/// The answer as it goes out.
pub fn respond(answer: Answer) -> Response {
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = answer.http;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(seconds) = answer.retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if answer.http == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
    }
    response
}
