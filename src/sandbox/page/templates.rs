//! Templates: the list, and one template in its versions and parts.

use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use rusqlite::{OptionalExtension as _, params};

use super::frame::{document, frame};
use super::layout::{nothing, page, pretty, size, source, tabs};
use super::{NoPage, Parameters, Shared, address, number, text};
use crate::sandbox::service::Service;
use crate::wire::{Attachment, Template};

const PART: &str = "/page/templates";
/// Rows of one page.
const ROWS: i64 = 100;

struct Row {
    id: String,
    name: String,
    project: Option<String>,
    version: i64,
    changed: String,
    bytes: i64,
}

/// The list, by name; `q` looks for a part of the name or the id.
pub async fn list(State(service): Shared, parameters: Parameters) -> Result<Response, NoPage> {
    let wanted = text(&parameters, "q").unwrap_or_default();
    let first = number(&parameters, "from").unwrap_or(0).max(0);
    let looked_for = wanted.clone();
    let read = move |connection: &rusqlite::Connection| {
        let select = "SELECT t.id, t.name, p.name, t.version, t.changed, length(t.content) FROM current_templates t
            LEFT JOIN projects p ON p.project_id = t.project
            WHERE ?1 = '' OR instr(lower(t.name), lower(?1)) OR t.id = ?1 ORDER BY t.name, t.id LIMIT ?2 OFFSET ?3";
        let mut statement = connection.prepare_cached(select)?;
        let rows = statement.query_map(params![looked_for, ROWS + 1, first], |row| {
            Ok(Row {
                id: row.get(0)?,
                name: row.get(1)?,
                project: row.get(2)?,
                version: row.get(3)?,
                changed: row.get(4)?,
                bytes: row.get(5)?,
            })
        })?;
        rows.collect::<Result<Vec<_>, _>>()
    };
    let mut rows = service.store.run(read).await?;
    let is_more = i64::try_from(rows.len()).unwrap_or(0) > ROWS;
    rows.truncate(usize::try_from(ROWS).unwrap_or(0));
    let body = html! {
        h1 { "Templates" }
        form .filters role="search" {
            label { "Name or id " input type="search" name="q" value=(wanted); }
            button { "Search" }
        }
        @if rows.is_empty() { (nothing("There is no such template. `letterpress apply` makes some.")) } @else {
            table .rows role="table" {
                thead role="rowgroup" { tr role="row" {
                    th scope="col" role="columnheader" { "Name" } th scope="col" role="columnheader" { "Project" } th scope="col" role="columnheader" { "Version" }
                    th scope="col" role="columnheader" { "Size" } th scope="col" role="columnheader" { "Changed (UTC)" }
                } }
                tbody role="rowgroup" {
                    @for row in &rows {
                        tr role="row" {
                            td role="cell" data-label="Name" { a href={ (PART) "/" (row.id) } { (row.name) } br; code .quiet { (row.id) } }
                            td role="cell" data-label="Project" { (row.project.as_deref().unwrap_or("account")) }
                            td role="cell" data-label="Version" { (row.version) }
                            td role="cell" data-label="Size" { (size(row.bytes.unsigned_abs())) }
                            td role="cell" data-label="Changed" { (row.changed) }
                        }
                    }
                }
            }
        }
        @if is_more {
            p { a rel="next" href=(address(PART, &[("q", &wanted), ("from", &(first + ROWS).to_string())])) { "Next page" } }
        }
    };
    Ok(page("Templates", PART, &body))
}

/// One version of a template.
struct Version {
    template: Template,
    number: i64,
    at: String,
    request: i64,
    newest: i64,
}

async fn read(service: &Service, id: String, wanted: Option<i64>) -> Result<Version, NoPage> {
    let read = move |connection: &rusqlite::Connection| {
        let select = "SELECT v.content, v.version, v.at, v.request, t.version FROM templates t
            JOIN template_versions v ON v.template = t.id WHERE t.id = ?1 AND v.version = coalesce(?2, t.version)";
        connection
            .query_row(select, params![id, wanted], |row| {
                Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
            })
            .optional()
    };
    let (content, number, at, request, newest) = service.store.run(read).await?.ok_or(NoPage::Missing)?;
    let template = serde_json::from_str(&content).map_err(|error| NoPage::Broken(error.to_string()))?;
    Ok(Version { template, number, at, request, newest })
}

/// A template: `part` is `html`, `text`, `amp`, `json`, `files` or `history`; `version` an older version.
pub async fn show(State(service): Shared, Path(id): Path<String>, parameters: Parameters) -> Result<Response, NoPage> {
    let version = read(&service, id.clone(), number(&parameters, "version")).await?;
    let Version { template, number, at, request, newest } = &version;
    let part = text(&parameters, "part")
        .unwrap_or_else(|| if template.body.html.is_some() { "html".to_owned() } else { "text".to_owned() });
    let here = format!("{PART}/{id}");
    let shown = number.to_string();
    let is_old = number < newest;
    let old = if is_old { shown.as_str() } else { "" };
    let files =
        [&template.inline_attachments, &template.attachments].into_iter().flatten().map(Vec::len).sum::<usize>();
    let files_name = format!("Files ({files})");
    let parts = [
        ("html", "Rendered", template.body.html.is_some()),
        ("text", "Text", template.body.plaintext.is_some()),
        ("amp", "AMP source", template.body.amp.is_some()),
        ("source", "HTML source", template.body.html.is_some()),
        ("files", &files_name, files > 0),
        ("json", "JSON", true),
        ("history", "History", true),
    ];
    let tab = |(name, words, is_there): (&str, &'_ str, bool)| {
        is_there.then(|| (address(&here, &[("part", name), ("version", old)]), words.to_owned(), part == name))
    };
    let links: Vec<_> = parts.into_iter().filter_map(tab).collect();
    let links: Vec<_> =
        links.iter().map(|(address, words, is_here)| (address.clone(), words.as_str(), *is_here)).collect();
    let body = html! {
        p .crumbs { a href=(PART) { "Templates" } }
        h1 { (template.name) }
        dl .facts {
            div { dt { "Id" } dd { code { (id) } } }
            div { dt { "Version" } dd { (shown) " of " (newest) ", " (at) " UTC"
                @if *request > 0 { " · " a href={ "/page/requests/" (request) } { "request" } } } }
            @for (name, value) in facts(template) { div { dt { (name) } dd { (value) } } }
        }
        @if is_old { p .notice { "This is an older version. " a href=(address(&here, &[("part", &part)])) { "Show the newest" } } }
        (tabs("Parts of the template", &links))
        (show_part(&version, &part, &here, old, &service, &id).await?)
    };
    Ok(page(&template.name, PART, &body))
}

/// The single values, those that are there.
fn facts(template: &Template) -> Vec<(&'static str, String)> {
    let joined = |map: &Option<std::collections::BTreeMap<String, String>>| {
        map.as_ref()
            .map(|map| map.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join("\n"))
    };
    let onoff = |value: Option<u8>| value.map(|value| if value == 1 { "on".to_owned() } else { "off".to_owned() });
    let sender = match (&template.sender_name, &template.sender_email) {
        (Some(name), Some(email)) => Some(format!("{name} <{email}>")),
        (name, email) => name.clone().or_else(|| email.clone()),
    };
    [
        ("Subject", template.subject.clone()),
        ("From", sender),
        ("Reply to", template.reply_to.clone()),
        ("Builder", template.template_builder.clone()),
        ("Replacements", joined(&template.global_replacements)),
        ("Info", joined(&template.global_info)),
        ("Headers", joined(&template.headers)),
        ("Click tracking", onoff(template.check_links)),
        ("Read tracking", onoff(template.check_read)),
    ]
    .into_iter()
    .filter_map(|(name, value)| value.map(|value| (name, value)))
    .collect()
}

async fn show_part(
    version: &Version,
    part: &str,
    here: &str,
    old: &str,
    service: &Service,
    id: &str,
) -> Result<Markup, NoPage> {
    let template = &version.template;
    let or_none = |text: &Option<String>| text.clone().unwrap_or_default();
    Ok(match part {
        "text" => source("Text", &or_none(&template.body.plaintext)),
        "amp" => source("AMP source", &or_none(&template.body.amp)),
        "source" => source("HTML source", &or_none(&template.body.html)),
        "json" => source("JSON", &pretty(&shortened(template))),
        "files" => files(template, here, old),
        "history" => history(service, id, here).await?,
        _ => html! {
            (frame("Rendered template", &address(&format!("{here}/frame"), &[("version", old)])))
            p .quiet { "Scripts do not run and remote pictures are not loaded. Merge tags stay as they are." }
        },
    })
}

/// The template as JSON, with the contents of files cut.
fn shortened(template: &Template) -> String {
    let mut template = template.clone();
    for file in [&mut template.attachments, &mut template.inline_attachments].into_iter().flatten().flatten() {
        if file.content.len() > 120 {
            // Base64 is ASCII, so that any place is a good one to cut.
            file.content = format!("{}… ({} characters)", &file.content[..80], file.content.len());
        }
    }
    serde_json::to_string(&template).unwrap_or_default()
}

fn files(template: &Template, here: &str, old: &str) -> Markup {
    let lists = [
        ("inline", "In the mail (cid:)", &template.inline_attachments),
        ("attached", "Attached", &template.attachments),
    ];
    html! {
        @for (list, title, files) in lists {
            @if let Some(files) = files {
                h2 { (title) }
                ul .files {
                    @for (at, file) in files.iter().enumerate() {
                        li {
                            a href=(address(&format!("{here}/file/{list}/{at}"), &[("version", old)])) download { (file.name) }
                            " " span .quiet { (file.mime) ", " (size((file.content.len() as u64) / 4 * 3)) }
                        }
                    }
                }
            }
        }
    }
}

async fn history(service: &Service, id: &str, here: &str) -> Result<Markup, NoPage> {
    let id = id.to_owned();
    let read = move |connection: &rusqlite::Connection| {
        let select = "SELECT version, at, length(content), content ->> '$.name' FROM template_versions
            WHERE template = ? ORDER BY version DESC LIMIT 500";
        let mut statement = connection.prepare_cached(select)?;
        let rows = statement.query_map([id], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?, row.get::<_, String>(3)?))
        })?;
        rows.collect::<Result<Vec<_>, _>>()
    };
    let versions = service.store.run(read).await?;
    Ok(html! {
        ol .history reversed {
            @for (number, at, bytes, name) in versions {
                li value=(number) {
                    a href=(address(here, &[("version", &number.to_string())])) { "Version " (number) }
                    " " (name) " " span .quiet { (at) " UTC, " (size(bytes.unsigned_abs())) }
                }
            }
        }
    })
}

/// The HTML part as the frame shows it.
pub async fn rendered(
    State(service): Shared,
    Path(id): Path<String>,
    parameters: Parameters,
) -> Result<Response, NoPage> {
    let version = read(&service, id, number(&parameters, "version")).await?;
    let html = version.template.body.html.ok_or(NoPage::Missing)?;
    Ok(document(&html, &version.template.inline_attachments.unwrap_or_default()))
}

/// A file of a template, always as a download: what it is, is the sender's word.
pub async fn file(
    State(service): Shared,
    Path((id, list, at)): Path<(String, String, usize)>,
    parameters: Parameters,
) -> Result<Response, NoPage> {
    let template = read(&service, id, number(&parameters, "version")).await?.template;
    let files: Option<Vec<Attachment>> =
        if list == "inline" { template.inline_attachments } else { template.attachments };
    let file = files.and_then(|files| files.into_iter().nth(at)).ok_or(NoPage::Missing)?;
    let bytes = STANDARD.decode(&file.content).map_err(|error| NoPage::Broken(error.to_string()))?;
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    headers.insert("content-security-policy", HeaderValue::from_static("sandbox; default-src 'none'"));
    Ok(response)
}
