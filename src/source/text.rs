//! A text file as it is on disk and as it is sent.
//!
//! A byte order mark is dropped and CRLF becomes LF in what is sent, so that a checkout on another platform has the same digest
//! (safety P15); positions and fixes speak of the file on disk.

use std::ops::Range;

use crate::diagnostic::Location;

/// One text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Below the project's root, parts joined by `/`.
    pub path: String,
    /// What is sent: no byte order mark, LF line ends, otherwise byte for byte.
    pub sent: String,
    /// Whether the file starts with a byte order mark.
    pub mark: bool,
    /// Whether there may be a control character other than line feeds and tabs.
    pub controls: bool,
    /// The line feeds, where one of them is CRLF on disk.
    line_feeds: Vec<LineFeeds>,
}

/// A few dozen line feeds of a text, so that ten megabytes of them take one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LineFeeds {
    /// Where the first of them is in what is sent.
    start: u32,
    /// Carriage returns that stood before the first of them and its own.
    dropped: u32,
    /// Which of them are CRLF on disk, a bit for each from the lowest.
    crlf: u64,
}

/// Why bytes are no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotText {
    /// As [`Text::path`].
    pub path: String,
    /// The first byte that cannot be.
    pub offset: usize,
    /// Its line, from 1.
    pub line: u32,
    /// Its column in characters, from 1.
    pub column: u32,
    /// What the file probably is.
    pub likely: &'static str,
}

impl NotText {
    fn new(path: String, bytes: &[u8], offset: usize) -> Self {
        let before = String::from_utf8_lossy(bytes.get(..offset).unwrap_or_default());
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1);
        let (line, column) =
            (before.matches('\n').count(), before.rsplit('\n').next().unwrap_or_default().chars().count());
        Self { path, offset, line: number(line), column: number(column), likely: likely(bytes) }
    }

    /// The place of the byte.
    #[must_use]
    pub fn at(&self) -> Location {
        let bytes = self.offset..self.offset + 1;
        Location { line: self.line, column: self.column, bytes, ..Location::whole(self.path.clone()) }
    }
}

impl Text {
    /// Reads bytes as UTF-8.
    ///
    /// # Errors
    ///
    /// [`NotText`] with the first bad byte.
    pub fn new(path: String, bytes: Vec<u8>) -> Result<Self, NotText> {
        let raw = match String::from_utf8(bytes) {
            Ok(raw) => raw,
            Err(error) => return Err(NotText::new(path, error.as_bytes(), error.utf8_error().valid_up_to())),
        };
        let mark = raw.starts_with('\u{feff}');
        let controls = has_controls(raw.as_bytes());
        if !mark && !controls {
            return Ok(Self { path, sent: raw, mark, controls, line_feeds: Vec::new() });
        }
        // English in UTF-16 without a byte order mark is also UTF-8, with a zero after each letter.
        if let Some(zero) = memchr::memchr(0, raw.as_bytes()).filter(|_| likely(raw.as_bytes()) != ONE_BYTE) {
            return Err(NotText::new(path, raw.as_bytes(), zero));
        }
        let body = if mark { &raw['\u{feff}'.len_utf8()..] } else { &raw };
        let mut sent = String::with_capacity(body.len());
        let mut line_feeds: Vec<LineFeeds> = Vec::new();
        let mut from = 0;
        for (line, end) in memchr::memchr_iter(b'\n', body.as_bytes()).enumerate() {
            let crlf = body.as_bytes()[..end].ends_with(b"\r");
            sent.push_str(&body[from..end - usize::from(crlf)]);
            from = end;
            if line % BITS == 0 {
                // Files are far smaller.
                let number = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
                line_feeds.push(LineFeeds { start: number(sent.len()), dropped: number(end - sent.len()), crlf: 0 });
            }
            if let Some(last) = line_feeds.last_mut() {
                last.crlf |= u64::from(crlf) << (line % BITS);
            }
        }
        sent.push_str(&body[from..]);
        if sent.len() == body.len() {
            line_feeds = Vec::new();
        }
        Ok(Self { path, sent, mark, controls, line_feeds })
    }

    /// A file with nothing in it.
    #[must_use]
    pub fn empty(path: String) -> Self {
        Self { path, sent: String::new(), mark: false, controls: false, line_feeds: Vec::new() }
    }

    /// The offset on disk of an offset in `sent`.
    #[must_use]
    pub fn raw(&self, offset: usize) -> usize {
        offset + self.dropped(offset) + if self.mark { '\u{feff}'.len_utf8() } else { 0 }
    }

    /// Carriage returns that stood before an offset in `sent`.
    fn dropped(&self, offset: usize) -> usize {
        let after = self.line_feeds.partition_point(|some| (some.start as usize) < offset);
        let Some(some) = after.checked_sub(1).and_then(|at| self.line_feeds.get(at)) else { return 0 };
        let between = self.sent.as_bytes().get(some.start as usize + 1..offset).unwrap_or_default();
        let lines = memchr::memchr_iter(b'\n', between).count().min(BITS - 1);
        // The first of them is in `dropped`.
        some.dropped as usize + (some.crlf >> 1 & ((1 << lines) - 1)).count_ones() as usize
    }

    /// Bytes on disk of a span in `sent`.
    #[must_use]
    pub fn raw_span(&self, span: Range<usize>) -> Range<usize> {
        self.raw(span.start)..self.raw(span.end)
    }

    /// A text that is going to stand in the file, with the line ends that the file has.
    #[must_use]
    pub fn with_line_ends(&self, text: String) -> String {
        if self.line_feeds.is_empty() { text } else { text.replace('\n', "\r\n") }
    }

    /// The place of a span in `sent`.
    #[must_use]
    pub fn at(&self, span: Range<usize>) -> Location {
        let mut location = Location::at(self.path.clone(), &self.sent, span);
        location.bytes = self.raw_span(location.bytes);
        location
    }
}

/// Line feeds that stand together in [`LineFeeds`].
const BITS: usize = u64::BITS as usize;

/// Whether bytes have a control character other than line feeds and tabs. Without a branch many are looked at in one step.
fn has_controls(bytes: &[u8]) -> bool {
    let control = |byte: u8| (byte < 0x20) & (byte != b'\n') & (byte != b'\t') | (byte == 0x7f);
    bytes.chunks(4096).any(|piece| piece.iter().fold(false, |any, byte| any | control(*byte)))
}

const ONE_BYTE: &str = "Windows-1252 or another one-byte encoding";

/// Guesses an encoding from the byte order mark or from where the zero bytes are.
fn likely(bytes: &[u8]) -> &'static str {
    let head = &bytes[..bytes.len().min(1024)];
    let zeros = |start: usize| head.iter().skip(start).step_by(2).filter(|byte| **byte == 0).count();
    let zeros = |start: usize| zeros(start) > 1 && zeros(start) * 4 > head.len();
    match head {
        [0xff, 0xfe, ..] => "UTF-16, little endian",
        [0xfe, 0xff, ..] => "UTF-16, big endian",
        _ if zeros(1) => "UTF-16, little endian",
        _ if zeros(0) => "UTF-16, big endian",
        _ => ONE_BYTE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_speak_of_the_file_on_disk() {
        let text = Text::new("a".into(), b"\xef\xbb\xbfone\r\ntwo\r\nthree".to_vec()).unwrap();
        assert_eq!(text.sent, "one\ntwo\nthree");
        let at = text.at(4..7);
        assert_eq!((at.line, at.column, at.bytes), (2, 1, 8..11));
    }

    proptest::proptest! {
        #[test]
        fn every_place_is_found_on_disk(lines in proptest::collection::vec("(a|é|\r|)(\n|\r\n)", 0..200), last in "a?\r?") {
            let disk = lines.concat() + &last;
            let text = Text::new("a".into(), disk.clone().into_bytes()).unwrap();
            proptest::prop_assert_eq!(&text.sent, &disk.replace("\r\n", "\n"));
            let mut dropped = 0;
            for (at, byte) in text.sent.bytes().enumerate() {
                proptest::prop_assert_eq!(text.raw(at), at + dropped);
                dropped += usize::from(byte == b'\n' && disk.as_bytes()[at + dropped] == b'\r');
            }
            proptest::prop_assert_eq!(text.raw(text.sent.len()), disk.len());
        }
    }

    #[test]
    fn a_lone_carriage_return_stays() {
        assert_eq!(Text::new("a".into(), b"a\rb\r\n".to_vec()).unwrap().sent, "a\rb\n");
    }

    #[test]
    fn a_wrong_encoding_is_named() {
        let bad = Text::new("a".into(), b"\xff\xfeh\0i\0".to_vec()).unwrap_err();
        assert_eq!((bad.offset, bad.likely), (0, "UTF-16, little endian"));
        let bad = Text::new("a".into(), b"n\xc3\xa9e\n\xc3\xa9caf\xe9".to_vec()).unwrap_err();
        assert_eq!((bad.offset, bad.line, bad.column, bad.likely), (10, 2, 5, ONE_BYTE));
        let bad = Text::new("a".into(), b"h\0i\0\n\0".to_vec()).unwrap_err();
        assert_eq!((bad.offset, bad.likely), (1, "UTF-16, little endian"));
        let bad = Text::new("a".into(), b"\0h\0i\0\n".to_vec()).unwrap_err();
        assert_eq!((bad.offset, bad.likely), (0, "UTF-16, big endian"));
        assert!(Text::new("a".into(), b"<p>Hel\0lo</p>".to_vec()).is_ok());
    }
}
