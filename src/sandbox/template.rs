//! `/template/create` (`interface §4.6`): every field rule of §2.5 and every limit of §8.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::{Connection, OptionalExtension as _, params};
use uuid::Uuid;

use super::accounts::Caller;
use super::address;
use super::clock;
use super::fields::{Fields, Notes, at_most, bad_value, shown};
use super::operation::Circumstances;
use super::refusal::{MISSING_FIELD, OVER_LIMIT, Refusal, TOO_MANY_TEMPLATES, UNKNOWN_TEMPLATE, VISUAL_BUILDER};
use crate::limits;
use crate::wire::{Attachment, Body, Template};

/// Reads and checks a request. What depends on the stored template is checked when it is executed.
pub fn read(mut request: Fields<'_>, notes: &mut Notes) -> Result<Template, Refusal> {
    let mut fields = request.required_object("template")?;
    request.finish(notes)?;

    let id = fields.text("id")?.map(|id| read_id(&fields.path("id"), &id)).transpose()?;
    let name = fields.required_text("name")?;
    check_name(&fields.path("name"), &name)?;
    let mut parts = fields.required_object("body")?;
    let body = Body { html: parts.text("html")?, plaintext: parts.text("plaintext")?, amp: parts.text("amp")? };
    parts.finish(notes)?;
    if is_blank(body.html.as_ref()) && is_blank(body.plaintext.as_ref()) {
        return Err(Refusal::new(&MISSING_FIELD, "`template.body` has neither `html` nor `plaintext`"));
    }

    let template = Template {
        name,
        body,
        subject: one_line(&mut fields, "subject")?,
        sender_email: literal_address(&mut fields, "sender_email")?,
        sender_name: one_line(&mut fields, "sender_name")?,
        reply_to: literal_address(&mut fields, "reply_to")?,
        template_builder: builder(&mut fields, id.is_some())?,
        global_replacements: replacements(&mut fields)?,
        global_info: info(&mut fields)?,
        headers: headers(&mut fields, notes)?,
        attachments: attachments(&mut fields, "attachments", notes)?,
        inline_attachments: attachments(&mut fields, "inline_attachments", notes)?,
        check_links: switch(&mut fields, "check_links")?,
        check_read: switch(&mut fields, "check_read")?,
        template_creator: None,
        id,
    };
    fields.finish(notes)?;
    if template.id.is_none() && is_blank(template.sender_email.as_ref()) {
        notes.ignored.push("no `template.sender_email`: some services want one when creating".to_owned());
    }
    Ok(template)
}

fn is_blank(text: Option<&String>) -> bool {
    text.is_none_or(String::is_empty)
}

fn read_id(path: &str, id: &str) -> Result<String, Refusal> {
    match Uuid::try_parse(id) {
        Ok(uuid) if id.len() == 36 => Ok(uuid.hyphenated().to_string()),
        _ => Err(bad_value(path, "is not a UUID")),
    }
}

fn check_name(path: &str, name: &str) -> Result<(), Refusal> {
    if name.trim().is_empty() {
        return Err(bad_value(path, "is blank"));
    }
    if name.contains(char::is_control) {
        return Err(bad_value(path, "has a control character"));
    }
    at_most(path, "bytes", name.len(), limits::NAME_BYTES)
}

/// A string that becomes a line of the mail's head.
fn one_line(fields: &mut Fields<'_>, name: &str) -> Result<Option<String>, Refusal> {
    let text = fields.text(name)?;
    if text.as_ref().is_some_and(|text| breaks_a_line(text)) {
        return Err(bad_value(&fields.path(name), "has a line break or NUL"));
    }
    Ok(text)
}

fn breaks_a_line(text: &str) -> bool {
    text.contains(['\r', '\n', '\0'])
}

/// An address in a field where no merge tag is substituted. An empty string means none.
fn literal_address(fields: &mut Fields<'_>, name: &str) -> Result<Option<String>, Refusal> {
    let text = fields.text(name)?;
    if let Some(text) = text.as_ref().filter(|text| !text.is_empty()) {
        address::check(&fields.path(name), text)?;
    }
    Ok(text)
}

fn builder(fields: &mut Fields<'_>, is_update: bool) -> Result<Option<String>, Refusal> {
    let text = fields.text("template_builder")?;
    match text.as_deref() {
        None | Some("html") => Ok(text),
        Some("visual") if is_update => Ok(text),
        Some("visual") => Err((&VISUAL_BUILDER).into()),
        Some(_) => Err(bad_value(&fields.path("template_builder"), "is neither `html` nor `visual`")),
    }
}

fn replacements(fields: &mut Fields<'_>) -> Result<Option<BTreeMap<String, String>>, Refusal> {
    let map = fields.map("global_replacements")?;
    for name in map.iter().flatten().map(|(name, _)| name) {
        let starts = name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !starts || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
            let path = fields.path("global_replacements");
            return Err(bad_value(
                &path,
                format_args!(
                    "has the name `{}`; a name consists of Latin letters, digits, `_` or `-` and starts with a letter",
                    shown(name)
                ),
            ));
        }
    }
    Ok(map)
}

fn info(fields: &mut Fields<'_>) -> Result<Option<BTreeMap<String, String>>, Refusal> {
    let map = fields.map("global_info")?;
    let path = fields.path("global_info");
    at_most(&path, "keys", map.as_ref().map_or(0, BTreeMap::len), limits::INFO_KEYS)?;
    for (key, value) in map.iter().flatten() {
        if key.trim().is_empty() {
            return Err(bad_value(&path, "has a blank key"));
        }
        let below = format!("{path}.{}", shown(key));
        at_most(&below, "symbols in its key", key.chars().count(), limits::INFO_KEY_SYMBOLS)?;
        at_most(&below, "symbols in its value", value.chars().count(), limits::INFO_VALUE_SYMBOLS)?;
    }
    Ok(map)
}

/// Headers as sent count toward the limit; those that do not start with `X-` are then dropped.
fn headers(fields: &mut Fields<'_>, notes: &mut Notes) -> Result<Option<BTreeMap<String, String>>, Refusal> {
    let map = fields.map("headers")?;
    let path = fields.path("headers");
    at_most(&path, "headers", map.as_ref().map_or(0, BTreeMap::len), limits::HEADERS)?;
    let mut seen = BTreeSet::new();
    let mut kept = BTreeMap::new();
    for (name, value) in map.iter().flatten() {
        let below = format!("{path}.{}", shown(name));
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(bad_value(&below, "is not a header name"));
        }
        if !seen.insert(name.to_ascii_lowercase()) {
            return Err(bad_value(&below, "is there twice: header names are compared without case"));
        }
        if breaks_a_line(value) {
            return Err(bad_value(&below, "has a line break or NUL"));
        }
        let prefix = name.as_bytes().get(..limits::HEADER_PREFIX.len());
        if prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(limits::HEADER_PREFIX.as_bytes())) {
            kept.insert(name.clone(), value.clone());
        } else {
            notes.ignored.push(format!("header `{}`: only names that start with `X-` are accepted", shown(name)));
        }
    }
    Ok(map.map(|_| kept))
}

/// A character of a header name (RFC 9110, token).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn attachments(fields: &mut Fields<'_>, list: &str, notes: &mut Notes) -> Result<Option<Vec<Attachment>>, Refusal> {
    let Some(items) = fields.objects(list)? else { return Ok(None) };
    let mut names = BTreeSet::new();
    let mut read = Vec::with_capacity(items.len());
    for mut item in items {
        let file = Attachment {
            mime: item.required_text("type")?,
            name: item.required_text("name")?,
            content: item.required_text("content")?,
        };
        check_mime(&item.path("type"), &file.mime)?;
        check_file_name(&item.path("name"), &file.name)?;
        if !names.insert(file.name.to_lowercase()) {
            return Err(bad_value(&item.path("name"), "is there twice in this list"));
        }
        check_content(&item.path("content"), &file.content)?;
        item.finish(notes)?;
        read.push(file);
    }
    Ok(Some(read))
}

fn check_mime(path: &str, mime: &str) -> Result<(), Refusal> {
    let essence = mime.split(';').next().unwrap_or_default();
    let parts: Vec<_> = essence.split('/').collect();
    let good = parts.len() == 2 && parts.iter().all(|part| !part.is_empty() && part.bytes().all(is_token));
    if good && !mime.contains(char::is_control) { Ok(()) } else { Err(bad_value(path, "is not a MIME type")) }
}

fn check_file_name(path: &str, name: &str) -> Result<(), Refusal> {
    at_most(path, "bytes", name.len(), limits::ATTACHMENT_NAME_BYTES)?;
    if name.contains(|c: char| c.is_control() || matches!(c, '/' | '\\' | '"')) {
        return Err(bad_value(path, "has a slash, a quote or a control character"));
    }
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && !extension.is_empty() => Ok(()),
        _ => Err(bad_value(path, "is not of the form `name.extension`")),
    }
}

fn check_content(path: &str, content: &str) -> Result<(), Refusal> {
    if content.len() as u64 > limits::ATTACHMENT_BASE64 {
        let (actual, allowed) = (content.len(), limits::ATTACHMENT_BASE64);
        return Err(Refusal::new(
            &OVER_LIMIT,
            format!("`{path}` has {actual} characters of base64, at most {allowed} are allowed (7 MB)"),
        ));
    }
    // Decoded in pieces, so that a large file is not held a second time.
    let mut piece = Vec::new();
    let last = content.len().saturating_sub(1) / 65_536;
    for (at, chunk) in content.as_bytes().chunks(65_536).enumerate() {
        piece.clear();
        let decoded = STANDARD.decode_vec(chunk, &mut piece);
        if decoded.is_err() || (at < last && chunk.ends_with(b"=")) {
            return Err(bad_value(path, "is not base64 with its padding"));
        }
    }
    if content.is_empty() { Err(bad_value(path, "is empty")) } else { Ok(()) }
}

fn switch(fields: &mut Fields<'_>, name: &str) -> Result<Option<u8>, Refusal> {
    match fields.integer(name)? {
        None => Ok(None),
        Some(number @ (0 | 1)) => Ok(u8::try_from(number).ok()),
        Some(_) => Err(bad_value(&fields.path(name), "is neither 0 nor 1")),
    }
}

/// Creates or edits, and gives the stored template as JSON.
pub fn store(
    connection: &Connection,
    circumstances: &Circumstances,
    new: Template,
) -> rusqlite::Result<Result<String, Refusal>> {
    let Circumstances { caller, quotas, now, request, .. } = circumstances;
    let at = clock::text(*now);
    let (id, old, version) = match &new.id {
        Some(id) => match find(connection, caller, id)? {
            Some((old, version)) => (id.clone(), Some(old), version + 1),
            None => return Ok(Err(Refusal::new(&UNKNOWN_TEMPLATE, format!("no template has the id `{id}`")))),
        },
        None => {
            let count = "UPDATE accounts SET templates = templates + 1 WHERE user_id = ? AND templates < ?";
            if connection.prepare_cached(count)?.execute(params![caller.user_id, quotas.templates])? == 0 {
                let most = quotas.templates;
                return Ok(Err(Refusal::new(&TOO_MANY_TEMPLATES, format!("the account has {most} templates already"))));
            }
            (Uuid::new_v4().hyphenated().to_string(), None, 1)
        }
    };
    let was_visual = old.as_ref().is_some_and(|old| old.template_builder.as_deref() == Some("visual"));
    if new.template_builder.as_deref() == Some("visual") && !was_visual {
        return Ok(Err((&VISUAL_BUILDER).into()));
    }
    let merged = Template { id: Some(id.clone()), ..merge(old, new) };
    let content =
        serde_json::to_string(&merged).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    if version == 1 {
        let insert = "INSERT INTO templates (id, user_id, project, name, version, created, changed) VALUES (?1, ?2, ?3, ?4, 1, ?5, ?5)";
        connection.prepare_cached(insert)?.execute(params![id, caller.user_id, caller.project_id, merged.name, at])?;
    } else {
        let update = "UPDATE templates SET name = ?2, version = ?3, changed = ?4 WHERE id = ?1";
        connection.prepare_cached(update)?.execute(params![id, merged.name, version, at])?;
    }
    let insert = "INSERT INTO template_versions (template, version, at, request, content) VALUES (?, ?, ?, ?, ?)";
    connection.prepare_cached(insert)?.execute(params![id, version, at, request, content])?;
    Ok(Ok(content))
}

/// A template that this key may edit: of its project, or, for an account key, of any project of the account.
fn find(connection: &Connection, caller: &Caller, id: &str) -> rusqlite::Result<Option<(Template, i64)>> {
    let select = "SELECT content, version FROM current_templates WHERE id = ?1 AND user_id = ?2 AND (?3 IS NULL OR project = ?3)";
    let row = connection
        .prepare_cached(select)?
        .query_row(params![id, caller.user_id, caller.project_id], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))
        .optional()?;
    row.map(|(content, version)| match serde_json::from_str(&content) {
        Ok(template) => Ok((template, version)),
        Err(error) => Err(rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, error.into())),
    })
    .transpose()
}

/// The stored template after a request. What an update leaves out stays as it was (the interface does not say); an
/// empty string, object or array clears a field.
pub fn merge(old: Option<Template>, new: Template) -> Template {
    let old = old.unwrap_or_default();
    let text = |new: Option<String>, old: Option<String>| new.or(old).filter(|text| !text.is_empty());
    let map = |new: Option<BTreeMap<_, _>>, old: Option<_>| new.or(old).filter(|map| !map.is_empty());
    let list = |new: Option<Vec<_>>, old: Option<_>| new.or(old).filter(|list| !list.is_empty());
    Template {
        id: new.id,
        name: new.name,
        body: Body {
            html: text(new.body.html, old.body.html),
            plaintext: text(new.body.plaintext, old.body.plaintext),
            amp: text(new.body.amp, old.body.amp),
        },
        subject: text(new.subject, old.subject),
        sender_email: text(new.sender_email, old.sender_email),
        sender_name: text(new.sender_name, old.sender_name),
        reply_to: text(new.reply_to, old.reply_to),
        template_builder: new.template_builder.or(old.template_builder).or_else(|| Some("html".to_owned())),
        global_replacements: map(new.global_replacements, old.global_replacements),
        global_info: map(new.global_info, old.global_info),
        headers: map(new.headers, old.headers),
        attachments: list(new.attachments, old.attachments),
        inline_attachments: list(new.inline_attachments, old.inline_attachments),
        check_links: new.check_links.or(old.check_links).or(Some(1)),
        check_read: new.check_read.or(old.check_read).or(Some(1)),
        template_creator: old.template_creator.or_else(|| Some(super::OUR_CREATOR.to_owned())),
    }
}
