//! A template as a mail that a mail client opens (`build --format eml`). Merge tags stay as they are; the recipient is a stand-in.

use std::fs;

use anyhow::Context as _;
use lettre::Message;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment as Part, Mailbox, MultiPart, SinglePart};

use crate::desired::{Attachment, Template};

/// Who the mail is for: no template names a recipient.
const RECIPIENT: &str = "recipient@example.com";

/// Renders the mail. Attachments are read into memory.
///
/// # Errors
///
/// An address or header that no mail can carry, or a file that cannot be read.
pub fn render(template: &Template) -> anyhow::Result<Vec<u8>> {
    let sender = template.sender_email.as_deref().unwrap_or("sender@example.com");
    let address = sender.parse().with_context(|| format!("`{}`: the sender's address", template.key))?;
    let mut message = Message::builder()
        .from(Mailbox::new(template.sender_name.clone(), address))
        .to(RECIPIENT.parse::<Mailbox>()?)
        .subject(template.subject.clone().unwrap_or_default());
    if let Some(reply_to) = &template.reply_to {
        message = message.reply_to(reply_to.parse().with_context(|| format!("`{}`: reply_to", template.key))?);
    }
    for (name, value) in &template.headers {
        let name =
            HeaderName::new_from_ascii(name.clone()).with_context(|| format!("`{}`: a header's name", template.key))?;
        message = message.raw_header(HeaderValue::new(name, value.clone()));
    }
    let mut mail = MultiPart::mixed().multipart(related(template)?);
    for file in &template.attachments {
        mail = mail.singlepart(Part::new(file.name.clone()).body(read(file)?, kind(file)));
    }
    Ok(message.multipart(mail)?.formatted())
}

/// The bodies, with the files that the HTML shows.
fn related(template: &Template) -> anyhow::Result<MultiPart> {
    let mut alternatives = MultiPart::alternative().build();
    if let Some(text) = &template.plaintext {
        alternatives = alternatives.singlepart(SinglePart::plain(text.clone()));
    }
    if let Some(amp) = &template.amp {
        let kind = ContentType::parse("text/x-amp-html; charset=utf-8")?;
        alternatives = alternatives.singlepart(SinglePart::builder().header(kind).body(amp.clone()));
    }
    if let Some(html) = &template.html {
        alternatives = alternatives.singlepart(SinglePart::html(html.clone()));
    }
    let mut related = MultiPart::related().multipart(alternatives);
    for file in &template.inline_attachments {
        related = related.singlepart(Part::new_inline(file.name.clone()).body(read(file)?, kind(file)));
    }
    Ok(related)
}

fn read(file: &Attachment) -> anyhow::Result<Vec<u8>> {
    fs::read(&file.file).with_context(|| format!("cannot read {}", file.file.display()))
}

/// The declared type, or the one for anything.
fn kind(file: &Attachment) -> ContentType {
    ContentType::parse(&file.mime)
        .or_else(|_| ContentType::parse("application/octet-stream"))
        .unwrap_or(ContentType::TEXT_PLAIN)
}
