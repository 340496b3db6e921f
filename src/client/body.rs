//! The body of a template request: measured, written out, or cut into pieces for the network.
//!
//! One function, [`render`], decides the JSON for all three; what differs is the [`Sink`] that it writes to. Attachments stay on disk until their
//! bytes are due, so that sixteen requests of 10 MB fit in a few megabytes of memory.

use std::io::{self, Read as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::desired::{Attachment, Digest, Hasher, Id, Template};

/// Raw bytes of a file that are encoded at a time: a multiple of three, so that padding appears only at the end.
pub(super) const BLOCK: usize = 48 * 1024;

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

/// Bytes of `\u0001`, the longest that one byte of text becomes.
const ESCAPE: u64 = 6;

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
    let mut pieces = Collector { list: Vec::new(), text: Vec::new(), bytes: 0 };
    // Memory does not fail.
    let _ = render(&mut pieces, template, id);
    pieces.finish()
}

/// The placeholder of safety §1.1: a name, a body that says what it is, and the sender that the interface wants of a create (§2.5).
pub(super) fn placeholder(name: &str, sender_email: Option<&str>) -> Pieces {
    let mut pieces = Collector { list: Vec::new(), text: Vec::new(), bytes: 0 };
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

/// Where a request goes.
trait Sink {
    fn put(&mut self, json: &[u8]) -> io::Result<()>;
    /// Text in quotes, escaped.
    fn text(&mut self, text: &str) -> io::Result<()>
    where
        Self: Sized,
    {
        json(self, text)
    }
    fn file(&mut self, file: &Attachment) -> io::Result<()>;
}

/// Counts.
struct Counter {
    bytes: u64,
    /// Whether the text parts count as the most that they could come to.
    roughly: bool,
}

impl Sink for Counter {
    fn put(&mut self, json: &[u8]) -> io::Result<()> {
        self.bytes += json.len() as u64;
        Ok(())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        if !self.roughly {
            return json(self, text);
        }
        self.bytes += 2 + text.len() as u64 * ESCAPE;
        Ok(())
    }

    fn file(&mut self, file: &Attachment) -> io::Result<()> {
        self.bytes += base64_bytes(file.bytes);
        Ok(())
    }
}

/// Cuts into pieces.
struct Collector {
    list: Vec<Piece>,
    text: Vec<u8>,
    bytes: u64,
}

impl Collector {
    fn finish(mut self) -> Pieces {
        self.list.push(Piece::Text(self.text));
        Pieces { list: self.list, bytes: self.bytes }
    }
}

impl Sink for Collector {
    fn put(&mut self, json: &[u8]) -> io::Result<()> {
        self.bytes += json.len() as u64;
        self.text.extend_from_slice(json);
        Ok(())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        // Other controls than line ends have escapes that are left to the serializer.
        if text.bytes().fold(false, |strange, byte| strange | (byte < 0x20 && byte != b'\n')) {
            return json(self, text);
        }
        let before = self.text.len();
        quote(&mut self.text, text.as_bytes());
        self.bytes += (self.text.len() - before) as u64;
        Ok(())
    }

    fn file(&mut self, file: &Attachment) -> io::Result<()> {
        self.bytes += base64_bytes(file.bytes);
        self.list.push(Piece::Text(std::mem::take(&mut self.text)));
        self.list.push(Piece::File(file.clone()));
        Ok(())
    }
}

/// Puts text into quotes that has no other controls than `\n`: looking for the three bytes that need an escape takes a third of looking at each.
fn quote(out: &mut Vec<u8>, text: &[u8]) {
    out.reserve(text.len() + text.len() / 8 + 2);
    out.push(b'"');
    let mut rest = text;
    while let Some(at) = memchr::memchr3(b'"', b'\\', b'\n', rest) {
        let (plain, behind) = rest.split_at(at);
        out.extend_from_slice(plain);
        let (special, behind) = behind.split_at(1);
        out.extend_from_slice(if special == b"\n" { b"\\n" } else { b"\\" });
        if special != b"\n" {
            out.extend_from_slice(special);
        }
        rest = behind;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Writes everything, files included.
struct Whole<'a>(&'a mut dyn io::Write);

impl Sink for Whole<'_> {
    fn put(&mut self, json: &[u8]) -> io::Result<()> {
        self.0.write_all(json)
    }

    fn file(&mut self, file: &Attachment) -> io::Result<()> {
        let mut source = open(&file.file)?;
        let mut seen = Seen::default();
        let mut block = vec![0; BLOCK];
        loop {
            let filled = fill(&mut source, &mut block)?;
            seen.add(&block[..filled]);
            self.0.write_all(STANDARD.encode(&block[..filled]).as_bytes())?;
            if filled < block.len() {
                break;
            }
        }
        if seen.is(file) { Ok(()) } else { Err(changed(file)) }
    }
}

/// Size and digest of what has been read of a file.
#[derive(Default)]
pub(super) struct Seen {
    bytes: u64,
    hasher: Hasher,
}

impl Seen {
    pub(super) fn add(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.hasher.piece(piece);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether it is the file that was checked.
    pub(super) fn is(&self, file: &Attachment) -> bool {
        self.bytes == file.bytes && Digest::eq(&self.hasher.digest(), &file.digest)
    }
}

pub(super) fn encode(block: &[u8]) -> Vec<u8> {
    STANDARD.encode(block).into_bytes()
}

/// Says that a file is another one than was checked.
pub(super) fn changed(file: &Attachment) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{} changed on disk since it was checked", file.file.display()))
}

/// Opens a file for sending: not through a symlink, and only a regular file (safety P6).
pub(super) fn open(path: &Path) -> io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Without NONBLOCK, opening a FIFO would wait for its writer.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    let located = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let file = options.open(path).map_err(located)?;
    if file.metadata().map_err(located)?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} is not a regular file", path.display())))
    }
}

/// Reads until the block is full or the file ends.
pub(super) fn fill(source: &mut std::fs::File, block: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < block.len() {
        match source.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn base64_bytes(raw: u64) -> u64 {
    raw.div_ceil(3) * 4
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

fn json<T: Serialize + ?Sized>(out: &mut impl Sink, value: &T) -> io::Result<()> {
    struct Put<'a, S>(&'a mut S);
    impl<S: Sink> io::Write for Put<'_, S> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.put(bytes).map(|()| bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    serde_json::to_writer(Put(out), value).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;
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

    proptest! {
        #[test]
        fn a_text_is_quoted_as_the_serializer_does(text in "[\\n\"\\\\a-cé\\x7f\u{2028}]{0,400}", other in "[\\t\\r\\x00]?") {
            for text in [text.clone(), text + &other] {
                let mut pieces = Collector { list: Vec::new(), text: Vec::new(), bytes: 0 };
                pieces.text(&text).unwrap();
                prop_assert_eq!(pieces.bytes, pieces.text.len() as u64);
                prop_assert_eq!(pieces.text, serde_json::to_vec(&text).unwrap());
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
