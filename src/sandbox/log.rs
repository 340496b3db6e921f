//! The request log: one row per request to the interface.

use std::time::Duration;

use axum::http::request::Parts;
use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::accounts::Caller;
use super::clock;

/// Bytes of a body that are kept.
const BODY_BYTES: usize = 65_536;
/// Requests whose bodies are kept.
const BODIES: i64 = 2_000;
/// How often older bodies are let go.
const EVERY: i64 = 500;

/// A request and its answer, as they are kept. The key is not.
#[derive(Debug)]
pub struct Entry {
    method: String,
    path: String,
    fault: Option<String>,
    request_bytes: usize,
    request: Vec<u8>,
    http: u16,
    code: Option<u32>,
    answer: Vec<u8>,
    took: Duration,
}

impl Entry {
    /// A request that has no answer yet.
    pub fn of(parts: &Parts, body: &[u8], fault: Option<String>) -> Self {
        Self {
            method: parts.method.to_string(),
            path: parts.uri.path().chars().take(500).collect(),
            fault,
            request_bytes: body.len(),
            request: head(body),
            http: 0,
            code: None,
            answer: Vec::new(),
            took: Duration::ZERO,
        }
    }

    /// With its answer.
    pub fn answered(mut self, http: u16, code: Option<u32>, body: &str, took: Duration) -> Self {
        (self.http, self.code, self.took) = (http, code, took);
        self.answer = head(body.as_bytes());
        self
    }
}

fn head(body: &[u8]) -> Vec<u8> {
    body[..body.len().min(BODY_BYTES)].to_vec()
}

/// The id of the next row.
pub fn next(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("SELECT coalesce(max(id), 0) + 1 FROM requests")?.query_row([], |row| row.get(0))
}

/// Writes the row, and now and then lets go of old bodies.
pub fn write(
    connection: &Connection,
    caller: Option<&Caller>,
    now: Timestamp,
    entry: &Entry,
    notes: &[String],
) -> rusqlite::Result<()> {
    let id = next(connection)?;
    let insert = "INSERT INTO requests (id, at, method, path, user_id, project_id, http, code, fault, micros, request_bytes, request, answer, notes)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    connection.prepare_cached(insert)?.execute(params![
        id,
        clock::text(now),
        entry.method,
        entry.path,
        caller.map(|caller| caller.user_id),
        caller.and_then(|caller| caller.project_id.as_ref()),
        entry.http,
        entry.code.map(|code| code.to_string()),
        entry.fault,
        i64::try_from(entry.took.as_micros()).unwrap_or(i64::MAX),
        i64::try_from(entry.request_bytes).unwrap_or(i64::MAX),
        entry.request,
        entry.answer,
        notes.join("\n"),
    ])?;
    if id % EVERY == 0 {
        let forget = "UPDATE requests SET request = NULL, answer = NULL WHERE id > ?1 - 2 * ?2 AND id <= ?1";
        connection.prepare_cached(forget)?.execute(params![id - BODIES, EVERY])?;
    }
    Ok(())
}
