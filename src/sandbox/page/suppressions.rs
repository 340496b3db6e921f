//! The suppression list with its filters.

use axum::extract::State;
use axum::response::Response;
use maud::html;
use rusqlite::params;

use super::layout::{nothing, page};
use super::{NoPage, Parameters, Shared, address, text};
use crate::wire::{REASONS, SOURCES};

const PART: &str = "/page/suppressions";
/// Rows of one page.
const ROWS: usize = 100;

struct Row {
    email: String,
    reason: String,
    source: String,
    created: String,
    project: Option<String>,
    is_deletable: bool,
    position: String,
}

/// The list, newest first; `reason`, `source` and a part of the address narrow it, `before` is a position.
pub async fn list(State(service): Shared, parameters: Parameters) -> Result<Response, NoPage> {
    let parameter = |name| text(&parameters, name).unwrap_or_default();
    let (reason, origin, email) = (parameter("reason"), parameter("source"), parameter("email"));
    let filter = (reason.clone(), origin.clone(), email.clone(), parameter("before"));
    let read = move |connection: &rusqlite::Connection| {
        let (reason, source, email, before) = filter;
        let select =
            "SELECT s.email, s.reason, s.source, s.created, p.name, s.is_deletable, s.position FROM suppressions s
            LEFT JOIN projects p USING (project_id)
            WHERE (?1 = '' OR reason = ?1) AND (?2 = '' OR source = ?2) AND (?3 = '' OR instr(lower(email), lower(?3)))
            AND (?4 = '' OR position < ?4) ORDER BY position DESC LIMIT ?5";
        let mut statement = connection.prepare_cached(select)?;
        let limit = i64::try_from(ROWS + 1).unwrap_or(1);
        let rows = statement.query_map(params![reason, source, email, before, limit], |row| {
            Ok(Row {
                email: row.get(0)?,
                reason: row.get(1)?,
                source: row.get(2)?,
                created: row.get(3)?,
                project: row.get(4)?,
                is_deletable: row.get(5)?,
                position: row.get(6)?,
            })
        })?;
        rows.collect::<Result<Vec<_>, _>>()
    };
    let mut rows = service.store.run(read).await?;
    let is_more = rows.len() > ROWS;
    rows.truncate(ROWS);
    let next = rows.last().filter(|_| is_more).map(|row| {
        address(PART, &[("reason", &reason), ("source", &origin), ("email", &email), ("before", &row.position)])
    });
    let choice = |name: &'static str, label: &'static str, chosen: &str, values: &[&'static str]| {
        html! {
            label { (label) " "
                select name=(name) {
                    option value="" { "all" }
                    @for value in values { option value=(value) selected[*value == chosen] { (value) } }
                }
            }
        }
    };
    let body = html! {
        h1 { "Suppressions" }
        form .filters role="search" {
            (choice("reason", "Reason", &reason, &REASONS))
            (choice("source", "Source", &origin, &SOURCES))
            label { "Address " input type="search" name="email" value=(email); }
            button { "Filter" }
        }
        @if rows.is_empty() { (nothing("No record matches.")) } @else {
            table .rows role="table" {
                thead role="rowgroup" { tr role="row" {
                    th scope="col" role="columnheader" { "Address" } th scope="col" role="columnheader" { "Reason" } th scope="col" role="columnheader" { "Source" }
                    th scope="col" role="columnheader" { "Created (UTC)" } th scope="col" role="columnheader" { "Project" } th scope="col" role="columnheader" { "Deletable" }
                } }
                tbody role="rowgroup" {
                    @for row in &rows {
                        tr role="row" {
                            td role="cell" data-label="Address" { (row.email) }
                            td role="cell" data-label="Reason" { (row.reason) }
                            td role="cell" data-label="Source" { (row.source) }
                            td role="cell" data-label="Created" { (row.created) }
                            td role="cell" data-label="Project" { (row.project.as_deref().unwrap_or("account")) }
                            td role="cell" data-label="Deletable" { @if row.is_deletable { "yes" } @else { "no" } }
                        }
                    }
                }
            }
        }
        @if let Some(next) = next { p { a rel="next" href=(next) { "Older records" } } }
    };
    Ok(page("Suppressions", PART, &body))
}
