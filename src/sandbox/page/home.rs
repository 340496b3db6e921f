//! The overview: what is there, and the accounts with their keys.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::html;

use super::layout::{page, size};
use super::{NoPage, Shared};
use crate::sandbox::accounts::{self, ApiKey, Caller};
use crate::sandbox::refusal::TABLE;
use crate::sandbox::service::Service;
use crate::wire::SystemInfo;

struct Numbers {
    templates: i64,
    versions: i64,
    suppressions: i64,
    mails: i64,
    requests: i64,
    bytes: i64,
}

/// The page.
pub async fn show(State(service): Shared) -> Result<Response, NoPage> {
    let (numbers, keys) = read(&service).await?;
    let cards = [
        ("/page/templates", "Templates", numbers.templates, format!("{} versions", numbers.versions)),
        ("/page/suppressions", "Suppressions", numbers.suppressions, "records".to_owned()),
        ("/page/outbox", "Outbox", numbers.mails, "renewal mails".to_owned()),
        ("/page/requests", "Requests", numbers.requests, "in the log".to_owned()),
    ];
    let body = html! {
        h1 { "Overview" }
        p .lead { "This is the built-in service of letterpress. It answers at " code { (service.base_url) } " and keeps everything on this machine. " a href="/openapi.json" { "OpenAPI description" } }
        ul .cards {
            @for (address, name, count, below) in cards {
                li { a href=(address) { span .name { (name) } span .count { (count) } span .below { (below) } } }
            }
        }
        section aria-labelledby="accounts" {
            h2 id="accounts" { "Accounts and keys" }
            @for (key, info) in &keys {
                dl .account {
                    div { dt { @if key.project.is_some() { "Project key" } @else { "Account key" } } dd { code .key { (key.key) } } }
                    div { dt { "User" } dd { (info.email) " · " (info.user_id) } }
                    @if let Some((id, name)) = &key.project {
                        div { dt { "Project" } dd { (name) " · " code { (id) } } }
                    }
                    @if let Some(period) = &info.account_details {
                        div { dt { "Period" } dd { (period.start_period) " to " (period.end_period) } }
                        div { dt { "Emails" } dd { (period.emails_sent.unwrap_or(0)) " of " (period.emails_by_period.unwrap_or(0)) } }
                    }
                }
            }
        }
        section aria-labelledby="errors" {
            h2 id="errors" { "Error codes" }
            p { "The interface names three codes and no status. Codes of 9000 and above, and every status, are this service's own." }
            div .scroll tabindex="0" role="region" aria-label="Table of error codes" {
                table {
                    thead { tr { th scope="col" { "Code" } th scope="col" { "Status" } th scope="col" { "Meaning" } } }
                    tbody { @for kind in TABLE { tr { td { (kind.code) } td { (kind.http.as_u16()) } td { (kind.meaning) } } } }
                }
            }
        }
        p .quiet { "The database takes " (size(numbers.bytes.unsigned_abs())) "." }
    };
    Ok(page("Overview", "/", &body))
}

async fn read(service: &Arc<Service>) -> Result<(Numbers, Vec<(ApiKey, SystemInfo)>), NoPage> {
    let now = service.clock.now();
    let read = move |connection: &rusqlite::Connection| {
        let count = |query: &str| connection.query_row(query, [], |row| row.get(0));
        let numbers = Numbers {
            templates: count("SELECT count(*) FROM templates")?,
            versions: count("SELECT count(*) FROM template_versions")?,
            suppressions: count("SELECT count(*) FROM suppressions")?,
            mails: count("SELECT count(*) FROM mails")?,
            requests: count("SELECT count(*) FROM requests")?,
            bytes: count("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")?,
        };
        let mut keys = Vec::new();
        for key in accounts::keys(connection)? {
            let caller = Caller {
                user_id: i64::try_from(key.user_id).unwrap_or(0),
                project_id: key.project.as_ref().map(|(id, _)| id.clone()),
            };
            let info = accounts::info(connection, &caller, now)?;
            keys.push((key, info));
        }
        Ok((numbers, keys))
    };
    Ok(service.store.run(read).await?)
}
