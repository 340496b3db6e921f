//! The suppression list (`interface §2.1` to `§2.3`, `§3`, `§4.1`, `§4.3`, `§4.5`).
//!
//! Ours, where the interface is silent: both filters must match; a project key sees and deletes the records of its project, an account key all
//! records of the account; the list has ended when a page has no records, and `start_position` is then the one that was sent; a page has at most
//! [`PAGE_MAX`] records whatever `limit` says; creating the same address and reason again renews the record.

use rusqlite::{Connection, OptionalExtension as _, Row, named_params, params};

use super::address;
use super::clock;
use super::fields::{Fields, Notes, bad_value, shown};
use super::operation::Circumstances;
use super::refusal::{DELETE_LIMIT, NOT_DELETABLE, NOT_SUPPRESSED, Refusal};
use crate::limits;
use crate::wire::{
    REASONS, SOURCES, Suppression, SuppressionCreateRequest, SuppressionDeleteRequest, SuppressionListAnswer,
    SuppressionListRequest,
};

/// Records in one page, at most; ours.
pub const PAGE_MAX: u32 = 1_000;

/// Reads `/suppression/list`.
pub fn read_list(mut fields: Fields<'_>, notes: &mut Notes) -> Result<SuppressionListRequest, Refusal> {
    let reason = fields.text("reason")?;
    let source = fields.text("source")?;
    one_of("reason", reason.as_deref(), &REASONS)?;
    one_of("source", source.as_deref(), &SOURCES)?;
    let from_date = date(&mut fields, "from_date")?;
    let start_position = fields.text("start_position")?.filter(|position| !position.is_empty());
    if start_position.as_ref().is_some_and(|position| !is_position(position)) {
        return Err(bad_value("start_position", "is not a position that an answer gave"));
    }
    let limit = match fields.integer("limit")? {
        None => None,
        Some(limit @ 1..) => Some(u32::try_from(limit).unwrap_or(u32::MAX)),
        Some(_) => return Err(bad_value("limit", "is less than 1")),
    };
    fields.finish(notes)?;
    Ok(SuppressionListRequest { reason, source, from_date, start_position, limit })
}

/// Reads `/suppression/create`.
pub fn read_create(mut fields: Fields<'_>, notes: &mut Notes) -> Result<SuppressionCreateRequest, Refusal> {
    let email = fields.required_text("email")?;
    address::check("email", &email)?;
    let reason = fields.required_text("reason")?;
    one_of("reason", Some(&reason), &REASONS)?;
    let created = date(&mut fields, "created")?;
    fields.finish(notes)?;
    Ok(SuppressionCreateRequest { email, reason, created })
}

/// Reads `/suppression/delete`.
pub fn read_delete(mut fields: Fields<'_>, notes: &mut Notes) -> Result<SuppressionDeleteRequest, Refusal> {
    let email = fields.required_text("email")?;
    address::check("email", &email)?;
    fields.finish(notes)?;
    Ok(SuppressionDeleteRequest { email })
}

fn one_of(name: &str, value: Option<&str>, allowed: &[&str]) -> Result<(), Refusal> {
    match value {
        Some(value) if !allowed.contains(&value) => {
            Err(bad_value(name, format_args!("is `{}`, not one of {}", shown(value), allowed.join(", "))))
        }
        _ => Ok(()),
    }
}

fn date(fields: &mut Fields<'_>, name: &str) -> Result<Option<String>, Refusal> {
    let text = fields.text(name)?;
    match &text {
        Some(text) if clock::parse(text).is_none() => Err(bad_value(name, "is not a date `YYYY-MM-DD hh:mm:ss`")),
        _ => Ok(text),
    }
}

/// A position is the moment of a record, with nine digits that number the records of one second.
fn is_position(text: &str) -> bool {
    let (moment, rest) = text.split_at_checked(19).unwrap_or((text, ""));
    let counted =
        rest.strip_prefix('.').is_some_and(|digits| digits.len() == 9 && digits.bytes().all(|b| b.is_ascii_digit()));
    clock::parse(moment).is_some() && (rest.is_empty() || counted)
}

/// One page.
pub fn list(
    connection: &Connection,
    at: &Circumstances,
    request: &SuppressionListRequest,
) -> rusqlite::Result<SuppressionListAnswer> {
    let select = "SELECT reason, source, created, project_id, is_deletable, position FROM suppressions
        WHERE user_id = :user AND (:project IS NULL OR project_id = :project)
        AND (:reason IS NULL OR reason = :reason) AND (:source IS NULL OR source = :source)
        AND position > :after ORDER BY position LIMIT :limit";
    // A moment without its nine digits stands before every record of that second.
    let after = request.start_position.as_ref().or(request.from_date.as_ref()).map_or("", String::as_str);
    let mut start_position = request.start_position.clone().unwrap_or_default();
    let mut statement = connection.prepare_cached(select)?;
    let mut rows = statement.query(named_params! {
        ":user": at.caller.user_id,
        ":project": at.caller.project_id,
        ":reason": request.reason,
        ":source": request.source,
        ":after": after,
        ":limit": request.limit.unwrap_or(limits::PAGE_RECORDS).min(PAGE_MAX),
    })?;
    let mut suppressions = Vec::new();
    while let Some(row) = rows.next()? {
        suppressions.push(record(row)?);
        start_position = row.get(5)?;
    }
    Ok(SuppressionListAnswer { status: super::SUCCESS.to_owned(), suppressions, start_position })
}

fn record(row: &Row<'_>) -> rusqlite::Result<Suppression> {
    Ok(Suppression {
        email: None,
        reason: row.get(0)?,
        source: row.get(1)?,
        created: row.get(2)?,
        project_id: row.get(3)?,
        is_deletable: row.get(4)?,
    })
}

/// A record as it is stored.
#[derive(Debug)]
pub struct New<'a> {
    /// The account.
    pub user_id: i64,
    /// The project, where it belongs to one.
    pub project_id: Option<&'a str>,
    /// The address.
    pub email: &'a str,
    /// The reason.
    pub reason: &'a str,
    /// The source.
    pub source: &'a str,
    /// UTC `YYYY-MM-DD hh:mm:ss`.
    pub created: &'a str,
    /// Whether a request may delete it.
    pub is_deletable: bool,
}

/// Adds a record at the end of its second.
pub fn insert(connection: &Connection, new: &New<'_>) -> rusqlite::Result<()> {
    let last = "SELECT position FROM suppressions WHERE user_id = ?1 AND position > ?2 AND position < ?2 || '/' ORDER BY position DESC LIMIT 1";
    let last: Option<String> =
        connection.prepare_cached(last)?.query_row(params![new.user_id, new.created], |row| row.get(0)).optional()?;
    let number = last.and_then(|last| last.get(20..)?.parse::<u32>().ok()).map_or(0, |last| last + 1);
    let insert =
        "INSERT INTO suppressions (user_id, project_id, email, reason, source, created, position, is_deletable)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    let position = format!("{}.{number:09}", new.created);
    connection
        .prepare_cached(insert)?
        .execute(params![
            new.user_id,
            new.project_id,
            new.email,
            new.reason,
            new.source,
            new.created,
            position,
            new.is_deletable
        ])
        .map(drop)
}

/// Adds a record with source `user`, in place of one with the same address and reason.
pub fn create(connection: &Connection, at: &Circumstances, request: &SuppressionCreateRequest) -> rusqlite::Result<()> {
    let caller = &at.caller;
    let old = "DELETE FROM suppressions WHERE user_id = ? AND email = ? AND reason = ? AND source = 'user' AND project_id IS ?";
    connection.prepare_cached(old)?.execute(params![
        caller.user_id,
        request.email,
        request.reason,
        caller.project_id
    ])?;
    let now = clock::text(at.now);
    let new = New {
        user_id: caller.user_id,
        project_id: caller.project_id.as_deref(),
        email: &request.email,
        reason: &request.reason,
        source: "user",
        created: request.created.as_deref().unwrap_or(&now),
        is_deletable: true,
    };
    insert(connection, &new)
}

/// Deletes the deletable records of an address.
pub fn delete(
    connection: &Connection,
    at: &Circumstances,
    request: &SuppressionDeleteRequest,
) -> rusqlite::Result<Result<(), Refusal>> {
    let (user, project, day) = (at.caller.user_id, &at.caller.project_id, clock::day(at.now));
    let used = "SELECT coalesce(sum(deleted), 0) FROM deletes WHERE user_id = ? AND day = ?";
    let used: i64 = connection.prepare_cached(used)?.query_row(params![user, day], |row| row.get(0))?;
    if used >= at.quotas.deletes_per_day {
        let message = format!("the daily limit of {} deletes is exceeded", at.quotas.deletes_per_day);
        return Ok(Err(Refusal::new(&DELETE_LIMIT, message)));
    }
    let found = "SELECT count(*), coalesce(sum(is_deletable), 0) FROM suppressions
        WHERE user_id = ?1 AND email = ?2 AND (?3 IS NULL OR project_id = ?3)";
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let (records, deletable): (i64, i64) =
        connection.prepare_cached(found)?.query_row(params![user, request.email, project], read)?;
    if records == 0 {
        return Ok(Err((&NOT_SUPPRESSED).into()));
    }
    if deletable == 0 {
        return Ok(Err((&NOT_DELETABLE).into()));
    }
    let delete = "DELETE FROM suppressions
        WHERE user_id = ?1 AND email = ?2 AND (?3 IS NULL OR project_id = ?3) AND is_deletable";
    connection.prepare_cached(delete)?.execute(params![user, request.email, project])?;
    let count =
        "INSERT INTO deletes (user_id, day, deleted) VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET deleted = deleted + 1";
    connection.prepare_cached(count)?.execute(params![user, day])?;
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_a_moment_or_a_numbered_one() {
        assert!(is_position("2026-11-21 10:00:00") && is_position("2026-11-21 10:00:00.000000012"));
        for wrong in
            ["x", "2026-11-21", "2026-11-21 10:00:00.", "2026-11-21 10:00:00.1", "2026-11-21 10:00:00.00000000é"]
        {
            assert!(!is_position(wrong), "{wrong}");
        }
    }
}
