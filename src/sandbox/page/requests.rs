//! The request log.

use axum::extract::{Path, State};
use axum::response::Response;
use maud::html;
use rusqlite::{OptionalExtension as _, Row, params};

use super::layout::{nothing, page, pretty, size, source, status};
use super::{NoPage, Parameters, Shared, address, number, text};
use crate::wire::path;

const PART: &str = "/page/requests";
/// Rows of one page.
const ROWS: i64 = 100;

const PATHS: [&str; 6] = [
    path::TEMPLATE_CREATE,
    path::SYSTEM_INFO,
    path::SUPPRESSION_LIST,
    path::SUPPRESSION_CREATE,
    path::SUPPRESSION_DELETE,
    path::EMAIL_SUBSCRIBE,
];

struct Exchange {
    id: i64,
    at: String,
    method: String,
    path: String,
    http: i64,
    code: Option<String>,
    fault: Option<String>,
    micros: i64,
    bytes: i64,
    notes: String,
    project: Option<String>,
}

const COLUMNS: &str =
    "r.id, r.at, r.method, r.path, r.http, r.code, r.fault, r.micros, r.request_bytes, r.notes, p.name";

fn exchange(row: &Row<'_>) -> rusqlite::Result<Exchange> {
    Ok(Exchange {
        id: row.get(0)?,
        at: row.get(1)?,
        method: row.get(2)?,
        path: row.get(3)?,
        http: row.get(4)?,
        code: row.get(5)?,
        fault: row.get(6)?,
        micros: row.get(7)?,
        bytes: row.get(8)?,
        notes: row.get(9)?,
        project: row.get(10)?,
    })
}

/// The log, newest first; `path` and `only=errors` narrow it, `before` is an id.
pub async fn list(State(service): Shared, parameters: Parameters) -> Result<Response, NoPage> {
    let path = text(&parameters, "path").unwrap_or_default();
    let only_errors = parameters.get("only").is_some_and(|only| only == "errors");
    let before = number(&parameters, "before").unwrap_or(i64::MAX);
    let wanted = path.clone();
    let read = move |connection: &rusqlite::Connection| {
        let select = format!(
            "SELECT {COLUMNS} FROM requests r LEFT JOIN projects p USING (project_id)
            WHERE r.id < ?1 AND (?2 = '' OR r.path = ?2) AND (NOT ?3 OR r.http <> 200 OR r.fault IS NOT NULL)
            ORDER BY r.id DESC LIMIT ?4"
        );
        let mut statement = connection.prepare_cached(&select)?;
        let rows = statement.query_map(params![before, wanted, only_errors, ROWS], exchange)?;
        rows.collect::<Result<Vec<_>, _>>()
    };
    let rows = service.store.run(read).await?;
    let only = if only_errors { "errors" } else { "" };
    let next = rows.last().filter(|_| i64::try_from(rows.len()) == Ok(ROWS)).map(|row| row.id.to_string());
    let body = html! {
        h1 { "Requests" }
        form .filters role="search" {
            label { "Path "
                select name="path" {
                    option value="" { "all" }
                    @for known in PATHS { option value=(known) selected[known == path] { (known) } }
                }
            }
            label .check { input type="checkbox" name="only" value="errors" checked[only_errors]; " only what went wrong" }
            button { "Filter" }
        }
        @if rows.is_empty() { (nothing("There was no such request.")) } @else {
            table .rows role="table" {
                thead role="rowgroup" { tr role="row" {
                    th scope="col" role="columnheader" { "Request" } th scope="col" role="columnheader" { "Answer" } th scope="col" role="columnheader" { "Size" }
                    th scope="col" role="columnheader" { "Took" } th scope="col" role="columnheader" { "At (UTC)" }
                } }
                tbody role="rowgroup" {
                    @for row in &rows {
                        tr role="row" {
                            td role="cell" data-label="Request" { a href={ (PART) "/" (row.id) } { (row.method) " " (row.path) } }
                            td role="cell" data-label="Answer" {
                                (status(row.http)) @if let Some(code) = &row.code { " " (code) }
                                @if let Some(fault) = &row.fault { " " span .tag .fault { (fault) } }
                                @if !row.notes.is_empty() { " " span .tag .note { "ignored something" } }
                            }
                            td role="cell" data-label="Size" { (size(row.bytes.unsigned_abs())) }
                            td role="cell" data-label="Took" { (took(row.micros)) }
                            td role="cell" data-label="At" { (row.at) }
                        }
                    }
                }
            }
        }
        @if let Some(next) = next {
            p { a rel="next" href=(address(PART, &[("path", &path), ("only", only), ("before", &next)])) { "Older requests" } }
        }
    };
    Ok(page("Requests", PART, &body))
}

/// One request with its body and its answer.
pub async fn show(State(service): Shared, Path(id): Path<i64>) -> Result<Response, NoPage> {
    let read = move |connection: &rusqlite::Connection| {
        let select = format!(
            "SELECT {COLUMNS}, r.request, r.answer FROM requests r LEFT JOIN projects p USING (project_id) WHERE r.id = ?"
        );
        let both = |row: &Row<'_>| {
            Ok((exchange(row)?, row.get::<_, Option<Vec<u8>>>(11)?, row.get::<_, Option<Vec<u8>>>(12)?))
        };
        connection.query_row(&select, [id], both).optional()
    };
    let (row, request, answer) = service.store.run(read).await?.ok_or(NoPage::Missing)?;
    let shown = |label: &str, body: Option<Vec<u8>>| match body {
        None => nothing("It is no longer kept."),
        Some(body) if body.is_empty() => nothing("It is empty."),
        Some(body) => source(label, &pretty(&String::from_utf8_lossy(&body))),
    };
    let body = html! {
        p .crumbs { a href=(PART) { "Requests" } }
        h1 { (row.method) " " (row.path) }
        dl .facts {
            div { dt { "Answer" } dd { (status(row.http)) @if let Some(code) = &row.code { " code " (code) } } }
            @if let Some(fault) = &row.fault { div { dt { "Fault" } dd { (fault) } } }
            div { dt { "Project" } dd { (row.project.as_deref().unwrap_or("none")) } }
            div { dt { "At" } dd { (row.at) " UTC, took " (took(row.micros)) } }
            div { dt { "Size" } dd { (size(row.bytes.unsigned_abs())) } }
            @if !row.notes.is_empty() { div { dt { "Ignored" } dd { (row.notes) } } }
        }
        h2 { "Request" }
        (shown("Request body", request))
        h2 { "Answer" }
        (shown("Answer body", answer))
    };
    Ok(page(&row.path, PART, &body))
}

fn took(micros: i64) -> String {
    format!("{}.{} ms", micros / 1_000, micros % 1_000 / 100)
}
