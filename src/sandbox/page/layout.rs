//! The frame around every page, and the pieces that several pages use.

use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse as _, Response};
use maud::{DOCTYPE, Markup, html};

/// What a page of ours may load: its style sheet, its own pictures, its own frames. No script at all.
pub const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// An envelope, as a picture without a request.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect x='1' y='3' width='14' height='10' rx='1.5' fill='%231f6f5c'/%3E%3Cpath d='M2 4.5l6 4.5 6-4.5' fill='none' stroke='%23fff' stroke-width='1.4'/%3E%3C/svg%3E";

/// The parts of the page, in the order of the menu.
const MENU: [(&str, &str); 5] = [
    ("/", "Overview"),
    ("/page/templates", "Templates"),
    ("/page/suppressions", "Suppressions"),
    ("/page/outbox", "Outbox"),
    ("/page/requests", "Requests"),
];

/// A whole page. `part` is the address of the menu's entry that it belongs to.
pub fn page(title: &str, part: &str, body: &Markup) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · letterpress sandbox" }
                link rel="icon" href=(ICON);
                link rel="stylesheet" href="/page/style.css";
            }
            body {
                a .skip href="#main" { "Skip to the content" }
                header {
                    span .brand { "letterpress " span { "sandbox" } }
                    nav aria-label="Parts" {
                        ul {
                            @for (address, name) in MENU {
                                li { a href=(address) aria-current=[(address == part).then_some("page")] { (name) } }
                            }
                        }
                    }
                }
                main id="main" tabindex="-1" { (body) }
            }
        }
    };
    Html(page.into_string()).into_response()
}

/// The style sheet.
pub async fn style() -> Response {
    let mut response = include_str!("style.css").into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/css; charset=utf-8"));
    response
}

/// A row of links of which one is where the reader is.
pub fn tabs(label: &str, tabs: &[(String, &str, bool)]) -> Markup {
    html! {
        nav .tabs aria-label=(label) {
            ul {
                @for (address, name, is_here) in tabs {
                    li { a href=(address) aria-current=[is_here.then_some("page")] { (name) } }
                }
            }
        }
    }
}

/// What stands in place of a list without rows.
pub fn nothing(words: &str) -> Markup {
    html! { p .nothing { (words) } }
}

/// Source text that can be scrolled with the keyboard.
pub fn source(label: &str, text: &str) -> Markup {
    html! { pre tabindex="0" role="region" aria-label=(label) { code { (text) } } }
}

/// A size for people.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{}.{} KiB", bytes / 1_024, bytes % 1_024 * 10 / 1_024),
        _ => format!("{}.{} MiB", bytes / 1_048_576, bytes % 1_048_576 * 10 / 1_048_576),
    }
}

/// JSON on several lines; anything else as it is.
pub fn pretty(text: &str) -> String {
    serde_json::from_str::<serde_json::Value>(text)
        .and_then(|value| serde_json::to_string_pretty(&value))
        .unwrap_or_else(|_| text.to_owned())
}

/// A status with a sign besides its colour.
pub fn status(http: i64) -> Markup {
    let (class, word) = match http {
        0 => ("bad", "no answer".to_owned()),
        200..=299 => ("good", format!("{http} ok")),
        _ => ("bad", format!("{http} refused")),
    };
    html! { span .tag .(class) { (word) } }
}
