//! The answers of `--faults`.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::stream;

use super::exchange::{Answer as Honest, refused, respond};
use super::fault::{Answer, CodeType, Rule};
use super::refusal::{FAULT, Refusal};
use super::service::Service;

/// A mark in a response's extensions: close the connection instead of answering.
#[derive(Debug, Clone, Copy)]
pub struct Hangup;

/// A stream that breaks.
#[derive(Debug, thiserror::Error)]
#[error("a rule of `--faults` asked for this")]
struct Broken;

impl Rule {
    /// The status that stands in the request log when nothing was executed; 0 where the client sees none.
    pub fn logged_status(&self) -> u16 {
        match self.answer {
            Some(Answer::Drop | Answer::Hold) => 0,
            _ => self.shown_status().as_u16(),
        }
    }

    fn shown_status(&self) -> StatusCode {
        let fallback = match self.answer {
            Some(Answer::Redirect) => StatusCode::TEMPORARY_REDIRECT,
            _ => StatusCode::OK,
        };
        self.status.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or(fallback)
    }
}

/// Answers as the rule says. `honest` is what the service would have said, empty where nothing was executed.
pub async fn misbehave(service: &Service, rule: &Rule, honest: Honest, code_type: CodeType) -> Response {
    let error = || {
        let mut refusal = Refusal::from(&FAULT);
        refusal.retry_after = rule.retry_after;
        refused(&refusal, code_type)
    };
    match rule.answer {
        None => respond(honest),
        Some(Answer::Drop) => hangup(),
        Some(Answer::Hold) => {
            service.stopped().await;
            hangup()
        }
        Some(Answer::Truncate) => {
            let whole = if honest.body.is_empty() { error().body } else { honest.body };
            let half = whole.as_bytes()[..whole.len() / 2].to_vec();
            let pieces = stream::iter([Ok(half), Err(Broken)]);
            let mut response = respond(Honest { http: rule.shown_status(), body: String::new(), ..honest });
            response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(whole.len()));
            *response.body_mut() = Body::from_stream(pieces);
            response
        }
        Some(Answer::Html) => {
            let page =
                "<!doctype html><html><head><title>Gateway</title></head><body><h1>Bad gateway</h1></body></html>";
            let mut response = respond(Honest { http: rule.shown_status(), body: page.to_owned(), ..honest });
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
            response
        }
        Some(Answer::ErrorIn200) => respond(Honest { http: StatusCode::OK, ..error() }),
        Some(Answer::Status) => respond(Honest { http: rule.shown_status(), ..error() }),
        Some(Answer::Redirect) => {
            let mut response = respond(Honest { http: rule.shown_status(), ..error() });
            if let Some(location) = rule.location.as_ref().and_then(|location| HeaderValue::from_str(location).ok()) {
                response.headers_mut().insert(header::LOCATION, location);
            }
            response
        }
    }
}

fn hangup() -> Response {
    let mut response = Response::new(Body::empty());
    response.extensions_mut().insert(Hangup);
    response
}
