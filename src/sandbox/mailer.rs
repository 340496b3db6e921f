//! The way of a mail out of the outbox to a real SMTP server (`--smtp`).

use std::sync::Arc;

use lettre::message::{Mailbox, MultiPart};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};
use rusqlite::params;

use super::service::Service;

/// What a mail's `delivery` says while it waits for the SMTP server.
pub const WAITING: &str = "smtp: waiting";

struct Mail {
    id: i64,
    sender: String,
    recipient: String,
    subject: String,
    html: String,
    plaintext: String,
}

/// Sends what waits, whenever something new may wait, until the service stops. Plain SMTP: the server is one for tests.
pub async fn run(service: Arc<Service>, host: String, port: u16) {
    let transport = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host).port(port).build();
    loop {
        while let Ok(Some(mail)) = next(&service).await {
            let id = mail.id;
            let delivery = match deliver(&transport, mail).await {
                Ok(()) => "smtp: sent".to_owned(),
                Err(why) => format!("smtp: {why}"),
            };
            let mark = move |connection: &rusqlite::Connection| {
                connection.execute("UPDATE mails SET delivery = ? WHERE id = ?", params![delivery, id]).map(drop)
            };
            if service.store.run(mark).await.is_err() {
                return;
            }
        }
        tokio::select! {
            () = service.outbox.notified() => {}
            () = service.stopped() => return,
        }
    }
}

async fn next(service: &Service) -> Result<Option<Mail>, super::store::Failed> {
    service
        .store
        .run(|connection| {
            use rusqlite::OptionalExtension as _;
            let select = "SELECT id, sender, recipient, subject, html, plaintext FROM mails WHERE delivery = ? ORDER BY id LIMIT 1";
            connection
                .query_row(select, [WAITING], |row| {
                    Ok(Mail {
                        id: row.get(0)?,
                        sender: row.get(1)?,
                        recipient: row.get(2)?,
                        subject: row.get(3)?,
                        html: row.get(4)?,
                        plaintext: row.get(5)?,
                    })
                })
                .optional()
        })
        .await
}

async fn deliver(transport: &AsyncSmtpTransport<Tokio1Executor>, mail: Mail) -> Result<(), String> {
    let mailbox = |text: String| text.parse::<Mailbox>().map_err(|error| error.to_string());
    let message = Message::builder()
        .from(mailbox(mail.sender)?)
        .to(mailbox(mail.recipient)?)
        .subject(mail.subject)
        .multipart(MultiPart::alternative_plain_html(mail.plaintext, mail.html))
        .map_err(|error| error.to_string())?;
    transport.send(message).await.map(drop).map_err(|error| error.to_string())
}
