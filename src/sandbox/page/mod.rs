//! The web page: what the service holds, for people. Written by the server, without any script.
//!
//! Pages only show. What strangers wrote (a template's HTML above all) is shown in frames that may run nothing, load nothing and
//! call nobody (see [`frame`]); everything else of theirs is escaped text.

mod frame;
pub use frame::disarmed;
mod home;
mod layout;
mod outbox;
mod requests;
mod suppressions;
mod templates;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use maud::html;

use super::clock;
use super::exchange::{Answer, refused, respond};
use super::fault::CodeType;
use super::refusal::{NOT_POST, Refusal};
use super::service::Service;
use super::subscribe;

/// What every page is given: the service and the address's query.
type Shared = State<Arc<Service>>;
type Parameters = Query<BTreeMap<String, String>>;

/// Why there is no page.
pub enum NoPage {
    /// Nothing is there.
    Missing,
    /// The database failed.
    Broken(String),
}

impl From<super::store::Failed> for NoPage {
    fn from(failed: super::store::Failed) -> Self {
        Self::Broken(failed.to_string())
    }
}

impl axum::response::IntoResponse for NoPage {
    fn into_response(self) -> Response {
        let (status, title, words) = match self {
            Self::Missing => (StatusCode::NOT_FOUND, "Not found", "There is nothing at this address.".to_owned()),
            Self::Broken(why) => (StatusCode::INTERNAL_SERVER_ERROR, "Out of order", why),
        };
        let mut response = layout::page(
            title,
            "",
            &html! { h1 { (title) } p { (words) } p { a href="/" { "Back to the overview" } } },
        );
        *response.status_mut() = status;
        response
    }
}

/// All pages and links.
pub fn router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/", get(home::show))
        .route("/openapi.json", get(openapi))
        .route("/page/style.css", get(layout::style))
        .route("/page/templates", get(templates::list))
        .route("/page/templates/{id}", get(templates::show))
        .route("/page/templates/{id}/frame", get(templates::rendered))
        .route("/page/templates/{id}/file/{list}/{number}", get(templates::file))
        .route("/page/suppressions", get(suppressions::list))
        .route("/page/outbox", get(outbox::list))
        .route("/page/outbox/{id}", get(outbox::show))
        .route("/page/outbox/{id}/frame", get(outbox::rendered))
        .route("/page/requests", get(requests::list))
        .route("/page/requests/{id}", get(requests::show))
        .route("/page/{*rest}", get(|| async { NoPage::Missing }))
        .route(&format!("{}{{token}}", subscribe::LINK), get(follow))
        .method_not_allowed_fallback(|request: Request| async move {
            let message = format!("the method is {}, pages only know GET", request.method());
            respond(refused(&Refusal::new(&NOT_POST, message), CodeType::Number))
        })
        .layer(middleware::from_fn_with_state(service.clone(), guard))
        .with_state(service)
}

/// Keeps other web pages out (safety P16) and puts the headers on that keep a page to itself.
async fn guard(State(service): Shared, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let is_mail_link = parts.method == Method::GET && parts.uri.path().starts_with(subscribe::LINK);
    if let Err(refusal) = service.gate.check(&parts, is_mail_link) {
        return respond(refused(&refusal, CodeType::Number));
    }
    let mut response = next.run(Request::from_parts(parts, body)).await;
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-security-policy", layout::POLICY),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        if !headers.contains_key(name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_DNS_PREFETCH_CONTROL, HeaderValue::from_static("off"));
    response
}

/// The link of a renewal mail: opening it restores the subscription.
async fn follow(State(service): Shared, method: Method, Path(token): Path<String>) -> Result<Response, NoPage> {
    if method != Method::GET {
        return Err(NoPage::Missing);
    }
    let now = clock::text(service.clock.now());
    let recipient = service.store.run(move |connection| subscribe::follow(connection, &token, &now)).await?;
    let recipient = recipient.ok_or(NoPage::Missing)?;
    Ok(layout::page(
        "Subscribed again",
        "",
        &html! {
            h1 { "Subscribed again" }
            p { "Mail is sent to " strong { (recipient) } " again." }
        },
    ))
}

/// What the interface looks like, for machines.
async fn openapi(State(service): Shared) -> Response {
    let body = super::openapi::description(&service.base_url).to_string();
    respond(Answer { http: StatusCode::OK, code: None, body, retry_after: None })
}

/// A number of the address's query.
fn number(parameters: &Parameters, name: &str) -> Option<i64> {
    parameters.get(name).and_then(|text| text.parse().ok())
}

/// A text of the address's query; blank counts as absent.
fn text(parameters: &Parameters, name: &str) -> Option<String> {
    parameters.get(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// An address with a query, each value percent-encoded.
fn address(path: &str, query: &[(&str, &str)]) -> String {
    let mut address = path.to_owned();
    for (at, (name, value)) in query.iter().filter(|(_, value)| !value.is_empty()).enumerate() {
        address.push(if at == 0 { '?' } else { '&' });
        address.push_str(name);
        address.push('=');
        for byte in value.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                address.push(char::from(byte));
            } else {
                address.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    address
}
