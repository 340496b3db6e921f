//! Renewal mails (`interface §3`, `§4.4`): the request sends a mail, the link in it restores the subscription.

use maud::html;
use rusqlite::{Connection, OptionalExtension as _, params};
use uuid::Uuid;

use super::address;
use super::clock;
use super::fields::{Fields, Notes, bad_value};
use super::operation::Circumstances;
use super::refusal::{NOT_UNSUBSCRIBED, ONCE_A_DAY, Refusal};
use crate::limits;
use crate::wire::SubscribeRequest;

/// Path of the links in the mails; a token follows.
pub const LINK: &str = "/subscribe/";

/// Reads `/email/subscribe`.
pub fn read(mut fields: Fields<'_>, notes: &mut Notes) -> Result<SubscribeRequest, Refusal> {
    let sender_email = fields.required_text("sender_email")?;
    address::check("sender_email", &sender_email)?;
    let sender_name = fields.required_text("sender_name")?;
    if sender_name.trim().is_empty() || sender_name.contains(char::is_control) {
        return Err(bad_value("sender_name", "is blank or has a control character"));
    }
    let recipient_email = fields.required_text("recipient_email")?;
    address::check("recipient_email", &recipient_email)?;
    fields.finish(notes)?;
    Ok(SubscribeRequest { sender_email, sender_name, recipient_email })
}

/// Writes the mail into the outbox.
pub fn send(
    connection: &Connection,
    at: &Circumstances,
    request: &SubscribeRequest,
) -> rusqlite::Result<Result<(), Refusal>> {
    let (user, project) = (at.caller.user_id, &at.caller.project_id);
    if !is_former_subscriber(connection, at, &request.recipient_email)? {
        return Ok(Err((&NOT_UNSUBSCRIBED).into()));
    }
    let last = "SELECT max(at) FROM mails WHERE user_id = ? AND recipient = ?";
    let last: Option<String> =
        connection.prepare_cached(last)?.query_row(params![user, request.recipient_email], |row| row.get(0))?;
    let pause = i64::from(limits::SUBSCRIBE_DAYS) * 86_400;
    if let Some(last) = last.as_deref().and_then(clock::parse) {
        let passed = at.now.as_second() - last.as_second();
        if passed < pause {
            let mut refusal = Refusal::from(&ONCE_A_DAY);
            refusal.retry_after = u64::try_from(pause - passed).ok();
            return Ok(Err(refusal));
        }
    }

    let token = Uuid::new_v4().simple().to_string();
    let link = format!("{}{LINK}{token}", at.base_url);
    let SubscribeRequest { sender_email, sender_name, recipient_email } = request;
    let subject = format!("Do you want mail from {sender_name} again?");
    let html = html! {
        (maud::DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { (subject) } }
            body style="font-family:sans-serif;line-height:1.5;max-width:36em;margin:2em auto;padding:0 1em" {
                p { "Mail from " (sender_name) " to " (recipient_email) " has been stopped, because you unsubscribed or reported it as spam." }
                p { "If you want to receive it again, follow this link:" }
                p { a href=(link) { "Yes, send me mail again" } }
                p { "If not, you need not do anything." }
            }
        }
    };
    let plaintext = format!(
        "Mail from {sender_name} to {recipient_email} has been stopped, because you unsubscribed or reported it as spam.\n\n\
         If you want to receive it again, follow this link:\n\n{link}\n\nIf not, you need not do anything.\n"
    );
    let insert =
        "INSERT INTO mails (at, user_id, project_id, sender, recipient, subject, html, plaintext, token, delivery)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    connection.prepare_cached(insert)?.execute(params![
        clock::text(at.now),
        user,
        project,
        format!("{} <{sender_email}>", quoted(sender_name)),
        recipient_email,
        subject,
        html.into_string(),
        plaintext,
        token,
        at.delivery,
    ])?;
    Ok(Ok(()))
}

/// A display name as a quoted string (RFC 5322).
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

fn is_former_subscriber(connection: &Connection, at: &Circumstances, email: &str) -> rusqlite::Result<bool> {
    let select = "SELECT 1 FROM suppressions WHERE user_id = ?1 AND email = ?2 AND (?3 IS NULL OR project_id = ?3)
        AND reason IN ('unsubscribed', 'complained')";
    connection.prepare_cached(select)?.exists(params![at.caller.user_id, email, at.caller.project_id])
}

/// Follows a link: the recipient's records for unsubscribing and complaints go, in the project that sent the mail.
/// Gives the recipient, or nothing where there is no such link.
pub fn follow(connection: &Connection, token: &str, now: &str) -> rusqlite::Result<Option<String>> {
    let select = "SELECT user_id, project_id, recipient FROM mails WHERE token = ?";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let mail: Option<(i64, Option<String>, String)> =
        connection.prepare_cached(select)?.query_row([token], read).optional()?;
    let Some((user_id, project_id, recipient)) = mail else { return Ok(None) };
    let delete = "DELETE FROM suppressions WHERE user_id = ?1 AND email = ?2 AND (?3 IS NULL OR project_id = ?3)
        AND reason IN ('unsubscribed', 'complained')";
    connection.prepare_cached(delete)?.execute(params![user_id, recipient, project_id])?;
    let mark = "UPDATE mails SET followed = ? WHERE token = ? AND followed IS NULL";
    connection.prepare_cached(mark)?.execute(params![now, token])?;
    Ok(Some(recipient))
}
