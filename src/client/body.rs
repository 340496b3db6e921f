//! The body of a template request: measured, written out, or cut into pieces for the network.
//!
//! One function, [`render`], decides the JSON for all three; what differs is the [`Sink`] that it writes to. Attachments stay on disk until their
//! bytes are due, so that sixteen requests of 10 MB fit in a few megabytes of memory.

mod attached;
mod sink;

use std::io;

use serde::Serialize;

pub(super) use attached::{BLOCK, Seen, changed, encode, fill, open};
use sink::{Collector, Counter, Sink, Whole, json};

use crate::desired::{Attachment, Id, Template};

/// A piece of a request, in order.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    /// JSON as it is.
    Text(Vec<u8>),
    /// A file, to be sent as base64 without quotes.
    File(Attachment),
}

/// A request in pieces, and the exact number of bytes it comes to.
#[derive(Debug)]
pub(super) struct Pieces {
    pub(super) list: Vec<Piece>,
    pub(super) bytes: u64,
}

/// The size in bytes of the request that sends this template as an update (`interface §4.6`), with an id as long as a UUID; nothing where
/// it is surely not larger than `limit`.
///
/// Nothing is built and no file is read: text is measured as it would be escaped, attachments by their size.
#[must_use]
pub fn request_bytes_over(template: &Template, limit: u64) -> Option<u64> {
    // Nearly every template is far below the limit, and needs no look at its text to know it.
    (measured(template, true) > limit).then(|| measured(template, false))
}

/// Bytes of the request, or at most so many.
fn measured(template: &Template, roughly: bool) -> u64 {
    let mut counter = Counter { bytes: 0, roughly };
    // A counter cannot fail.
    let _ = render(&mut counter, template, None);
    counter.bytes + ID_FIELD
}

/// `"id":"<36 characters>",`
const ID_FIELD: u64 = 5 + 36 + 3;

/// Writes the exact request for a template: an update where an id is given, else a create.
///
/// # Errors
///
/// A file that cannot be read or is not the one that was checked, or what `out` fails with.
pub fn write(template: &Template, id: Option<&Id>, out: &mut dyn io::Write) -> io::Result<()> {
    render(&mut Whole(out), template, id)
}

pub(super) fn pieces(template: &Template, id: Option<&Id>) -> Pieces {
    let texts = template.text_bytes();
    let mut pieces = Collector::of_about(texts + texts / 8 + 2048);
    // Memory does not fail.
    let _ = render(&mut pieces, template, id);
    pieces.finish()
}

/// The placeholder of safety §1.1: a name, a body that says what it is, and the sender that the interface wants of a create (§2.5).
pub(super) fn placeholder(name: &str, sender_email: Option<&str>) -> Pieces {
    let mut pieces = Collector::default();
    let mut whole = || -> io::Result<()> {
        pieces.put(b"{\"template\":")?;
        let mut object = Object::open(&mut pieces)?;
        object.value("name", name)?;
        object.key("body")?;
        let mut body = Object::open(object.out)?;
        body.value("plaintext", "Reserved by letterpress.")?;
        body.close()?;
        if let Some(address) = sender_email {
            object.value("sender_email", address)?;
        }
        object.close()?;
        pieces.put(b"}")
    };
    let _ = whole();
    pieces.finish()
}

/// The request, field by field in the order of [`crate::wire::Template`].
///
/// Every field is sent, also an empty one: whether a field that an update leaves out keeps its old value is not shown (silent.md), and what was
/// removed from a manifest must not live on at the service.
fn render(out: &mut impl Sink, template: &Template, id: Option<&Id>) -> io::Result<()> {
    out.put(b"{\"template\":")?;
    let mut object = Object::open(out)?;
    if let Some(id) = id {
        object.value("id", id)?;
    }
    object.value("name", &template.name)?;
    object.key("body")?;
    let mut body = Object::open(object.out)?;
    body.text("html", text(&template.html))?;
    body.text("plaintext", text(&template.plaintext))?;
    body.text("amp", text(&template.amp))?;
    body.close()?;
    object.value("subject", text(&template.subject))?;
    object.value("sender_email", text(&template.sender_email))?;
    object.value("sender_name", text(&template.sender_name))?;
    object.value("reply_to", text(&template.reply_to))?;
    object.value("template_builder", template.builder.word())?;
    object.value("global_replacements", &template.global_replacements)?;
    object.value("global_info", &template.global_info)?;
    object.value("headers", &template.headers)?;
    object.key("attachments")?;
    files(object.out, &template.attachments)?;
    object.key("inline_attachments")?;
    files(object.out, &template.inline_attachments)?;
    object.value("check_links", &u8::from(template.check_links))?;
    object.value("check_read", &u8::from(template.check_read))?;
    object.close()?;
    out.put(b"}")
}

fn text(optional: &Option<String>) -> &str {
    optional.as_deref().unwrap_or("")
}

fn files(out: &mut impl Sink, list: &[Attachment]) -> io::Result<()> {
    out.put(b"[")?;
    for (at, file) in list.iter().enumerate() {
        if at > 0 {
            out.put(b",")?;
        }
        let mut object = Object::open(out)?;
        object.value("type", &file.mime)?;
        object.value("name", &file.name)?;
        object.key("content")?;
        object.out.put(b"\"")?;
        object.out.file(file)?;
        object.out.put(b"\"")?;
        object.close()?;
    }
    out.put(b"]")
}

/// A JSON object in the making.
struct Object<'a, S: Sink> {
    out: &'a mut S,
    empty: bool,
}

impl<'a, S: Sink> Object<'a, S> {
    fn open(out: &'a mut S) -> io::Result<Self> {
        out.put(b"{")?;
        Ok(Self { out, empty: true })
    }

    fn key(&mut self, name: &str) -> io::Result<()> {
        if !std::mem::take(&mut self.empty) {
            self.out.put(b",")?;
        }
        json(self.out, name)?;
        self.out.put(b":")
    }

    fn value<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> io::Result<()> {
        self.key(name)?;
        json(self.out, value)
    }

    fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.key(name)?;
        self.out.text(text)
    }

    fn close(self) -> io::Result<()> {
        self.out.put(b"}")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Write as _;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;
    use crate::desired::Digest;
    use crate::wire;

    fn file(content: &[u8]) -> (tempfile::NamedTempFile, Attachment) {
        let mut disk = tempfile::NamedTempFile::new().unwrap();
        disk.write_all(content).unwrap();
        let file = Attachment {
            name: "terms \"1\".pdf".to_owned(),
            mime: "application/pdf".to_owned(),
            file: disk.path().to_owned(),
            bytes: content.len() as u64,
            digest: Digest::of(content),
        };
        (disk, file)
    }

    fn template(words: &str) -> Template {
        let map = || BTreeMap::from([("team".to_owned(), words.to_owned()), ("a".to_owned(), String::new())]);
        Template {
            name: words.to_owned(),
            subject: Some(words.to_owned()),
            sender_email: Some("hello@example.com".to_owned()),
            html: Some(words.repeat(3)),
            global_replacements: map(),
            headers: map(),
            check_links: false,
            ..Template::bare("welcome")
        }
    }

    fn on_the_wire(template: &Template, id: Option<&Id>, contents: &[&[u8]]) -> Vec<u8> {
        let text = |part: &Option<String>| Some(part.clone().unwrap_or_default());
        let mut contents = contents.iter();
        let mut list = |files: &[Attachment]| {
            let each = |file: &Attachment| wire::Attachment {
                mime: file.mime.clone(),
                name: file.name.clone(),
                content: STANDARD.encode(contents.next().unwrap()),
            };
            Some(files.iter().map(each).collect())
        };
        let request = wire::TemplateRequest {
            template: wire::Template {
                id: id.map(ToString::to_string),
                name: template.name.clone(),
                body: wire::Body {
                    html: text(&template.html),
                    plaintext: text(&template.plaintext),
                    amp: text(&template.amp),
                },
                subject: text(&template.subject),
                sender_email: text(&template.sender_email),
                sender_name: text(&template.sender_name),
                reply_to: text(&template.reply_to),
                template_builder: Some(template.builder.word().to_owned()),
                global_replacements: Some(template.global_replacements.clone()),
                global_info: Some(template.global_info.clone()),
                headers: Some(template.headers.clone()),
                attachments: list(&template.attachments),
                inline_attachments: list(&template.inline_attachments),
                check_links: Some(u8::from(template.check_links)),
                check_read: Some(u8::from(template.check_read)),
                template_creator: None,
            },
        };
        serde_json::to_vec(&request).unwrap()
    }

    fn id() -> Id {
        Id::new("0f0e0d0c-0b0a-4908-8706-050403020100").unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn the_request_is_what_the_wire_says(words in ".*", size in 0_usize..200_000, with_id: bool) {
            let content: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            let (_disk, attached) = file(&content);
            let mut template = template(&words);
            template.attachments = vec![attached.clone(), attached.clone()];
            template.inline_attachments = vec![attached];
            let id = with_id.then(id);
            let expected = on_the_wire(&template, id.as_ref(), &[&content, &content, &content]);

            let mut written = Vec::new();
            write(&template, id.as_ref(), &mut written).unwrap();
            prop_assert!(written == expected);
            prop_assert_eq!(pieces(&template, id.as_ref()).bytes, expected.len() as u64);
            if with_id {
                let bytes = expected.len() as u64;
                prop_assert_eq!(request_bytes_over(&template, bytes - 1), Some(bytes));
                let roughly = measured(&template, true);
                prop_assert!(roughly >= bytes);
                prop_assert_eq!(request_bytes_over(&template, roughly), None);
            }
        }
    }

    #[test]
    fn a_file_that_changed_is_not_written() {
        let (mut disk, attached) = file(b"checked");
        let mut template = template("Hello");
        template.attachments = vec![attached];
        disk.write_all(b" and changed").unwrap();
        let error = write(&template, None, &mut Vec::new()).unwrap_err();
        assert!(error.to_string().ends_with("changed on disk since it was checked"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_symlink_in_place_of_the_file_is_not_followed() {
        let (disk, mut attached) = file(b"checked");
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link.pdf");
        std::os::unix::fs::symlink(disk.path(), &link).unwrap();
        attached.file = link;
        let mut template = template("Hello");
        template.attachments = vec![attached];
        assert!(write(&template, None, &mut Vec::new()).is_err());
    }

    #[test]
    fn a_placeholder_has_a_name_a_body_and_the_sender_only() {
        let text = |sender: Option<&str>| {
            let Pieces { list, bytes } = placeholder("letterpress-1", sender);
            let [Piece::Text(text)] = &list[..] else { panic!("{list:?}") };
            assert_eq!(text.len() as u64, bytes);
            String::from_utf8(text.to_vec()).unwrap()
        };
        let bare = r#"{"template":{"name":"letterpress-1","body":{"plaintext":"Reserved by letterpress."}}}"#;
        assert_eq!(text(None), bare);
        let sent = bare.replace("}}}", r#"},"sender_email":"a@example.com"}}"#);
        assert_eq!(text(Some("a@example.com")), sent);
    }
}
