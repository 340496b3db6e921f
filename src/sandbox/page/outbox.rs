//! The mails that the service sent.

use axum::extract::{Path, State};
use axum::response::Response;
use maud::html;
use rusqlite::{OptionalExtension as _, Row, params};

use super::frame::{document, frame};
use super::layout::{nothing, page, source, tabs};
use super::{NoPage, Parameters, Shared, address, number, text};
use crate::sandbox::service::Service;
use crate::sandbox::subscribe::LINK;

const PART: &str = "/page/outbox";
/// Rows of one page.
const ROWS: i64 = 100;

struct Mail {
    id: i64,
    at: String,
    sender: String,
    recipient: String,
    subject: String,
    html: String,
    plaintext: String,
    token: String,
    followed: Option<String>,
    delivery: String,
}

const COLUMNS: &str = "id, at, sender, recipient, subject, html, plaintext, token, followed, delivery";

fn mail(row: &Row<'_>) -> rusqlite::Result<Mail> {
    Ok(Mail {
        id: row.get(0)?,
        at: row.get(1)?,
        sender: row.get(2)?,
        recipient: row.get(3)?,
        subject: row.get(4)?,
        html: row.get(5)?,
        plaintext: row.get(6)?,
        token: row.get(7)?,
        followed: row.get(8)?,
        delivery: row.get(9)?,
    })
}

/// The list, newest first; `before` is an id.
pub async fn list(State(service): Shared, parameters: Parameters) -> Result<Response, NoPage> {
    let before = number(&parameters, "before").unwrap_or(i64::MAX);
    let read = move |connection: &rusqlite::Connection| {
        let select = format!("SELECT {COLUMNS} FROM mails WHERE id < ? ORDER BY id DESC LIMIT ?");
        let mut statement = connection.prepare_cached(&select)?;
        let rows = statement.query_map(params![before, ROWS], mail)?;
        rows.collect::<Result<Vec<_>, _>>()
    };
    let mails = service.store.run(read).await?;
    let next = mails.last().filter(|_| i64::try_from(mails.len()) == Ok(ROWS)).map(|mail| mail.id.to_string());
    let body = html! {
        h1 { "Outbox" }
        @if mails.is_empty() { (nothing("Nothing was sent. `/email/subscribe` sends a renewal mail.")) } @else {
            table .rows role="table" {
                thead role="rowgroup" { tr role="row" {
                    th scope="col" role="columnheader" { "To" } th scope="col" role="columnheader" { "Subject" } th scope="col" role="columnheader" { "Sent (UTC)" }
                    th scope="col" role="columnheader" { "Delivery" } th scope="col" role="columnheader" { "Link followed" }
                } }
                tbody role="rowgroup" {
                    @for mail in &mails {
                        tr role="row" {
                            td role="cell" data-label="To" { a href={ (PART) "/" (mail.id) } { (mail.recipient) } }
                            td role="cell" data-label="Subject" { (mail.subject) }
                            td role="cell" data-label="Sent" { (mail.at) }
                            td role="cell" data-label="Delivery" { (mail.delivery) }
                            td role="cell" data-label="Followed" { (mail.followed.as_deref().unwrap_or("not yet")) }
                        }
                    }
                }
            }
        }
        @if let Some(next) = next { p { a rel="next" href=(address(PART, &[("before", &next)])) { "Older mails" } } }
    };
    Ok(page("Outbox", PART, &body))
}

async fn read(service: &Service, id: i64) -> Result<Mail, NoPage> {
    let read = move |connection: &rusqlite::Connection| {
        let select = format!("SELECT {COLUMNS} FROM mails WHERE id = ?");
        connection.query_row(&select, [id], mail).optional()
    };
    service.store.run(read).await?.ok_or(NoPage::Missing)
}

/// One mail; `part` is `html` or `text`.
pub async fn show(State(service): Shared, Path(id): Path<i64>, parameters: Parameters) -> Result<Response, NoPage> {
    let mail = read(&service, id).await?;
    let is_text = text(&parameters, "part").as_deref() == Some("text");
    let here = format!("{PART}/{id}");
    let links = [
        (address(&here, &[("part", "html")]), "Rendered", !is_text),
        (address(&here, &[("part", "text")]), "Text", is_text),
    ];
    let body = html! {
        p .crumbs { a href=(PART) { "Outbox" } }
        h1 { (mail.subject) }
        dl .facts {
            div { dt { "From" } dd { (mail.sender) } }
            div { dt { "To" } dd { (mail.recipient) } }
            div { dt { "Sent" } dd { (mail.at) " UTC" } }
            div { dt { "Delivery" } dd { (mail.delivery) } }
            div { dt { "Link" } dd {
                // The frame below may not open anything, so the mail's link stands here.
                a href={ (LINK) (mail.token) } { "Follow the link as the recipient" }
                @if let Some(followed) = &mail.followed { " (followed " (followed) " UTC)" }
            } }
        }
        (tabs("Parts of the mail", &links))
        @if is_text { (source("Text", &mail.plaintext)) } @else { (frame("Rendered mail", &format!("{here}/frame"))) }
    };
    Ok(page(&mail.subject, PART, &body))
}

/// The HTML part as the frame shows it.
pub async fn rendered(State(service): Shared, Path(id): Path<i64>) -> Result<Response, NoPage> {
    let mail = read(&service, id).await?;
    Ok(document(&mail.html, &[]))
}
