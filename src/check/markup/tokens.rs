//! The tokenizer: the states of the HTML standard that matter to a mail, driven by searches for the next byte that ends something.
//!
//! What it says of any text is what `html5gum` says of it; a test compares the two. It is written anew because it must tell the exact bytes of
//! everything and copy nothing, and because three quarters of a mail are text and quoted values that a vector search passes over.

use std::ops::Range;

use memchr::{memchr, memchr2, memmem};

use super::known::Known;
use super::raw::raw;
use super::references::{self, Within};
use super::{ATTRIBUTES, Attribute, Hints, Piece, Subject, Tag, bit};

/// Reads a body once and hands every event to the subject; `controls` says whether it may have control characters.
pub fn read(html: &str, controls: bool, subject: &mut impl Subject) {
    let bytes = html.as_bytes();
    let mut reader = Reader {
        html,
        bytes,
        at: 0,
        raw: "",
        odd: controls && memchr2(b'\r', 0, bytes).is_some(),
        attributes: Vec::new(),
        hints: Hints::default(),
        buffer: String::new(),
        scratch: String::new(),
        known: Known::default(),
        subject,
    };
    while reader.at < bytes.len() {
        match reader.raw {
            "" => reader.data(),
            _ => reader.raw_text(),
        }
    }
}

pub(super) struct Reader<'h, 's, S> {
    pub(super) html: &'h str,
    pub(super) bytes: &'h [u8],
    pub(super) at: usize,
    /// The element whose raw text is being read.
    pub(super) raw: &'static str,
    /// Whether there is a carriage return or a NUL anywhere, which are read as something else.
    pub(super) odd: bool,
    attributes: Vec<Attribute>,
    hints: Hints,
    /// Names and values of the current tag that are not what stands there.
    buffer: String,
    /// A text or comment that is not what stands there.
    pub(super) scratch: String,
    /// Start tags in whose attributes nobody saw anything.
    known: Known,
    pub(super) subject: &'s mut S,
}

/// Bytes before which the name of a tag ends.
const ENDS_TAG: u8 = 1;
/// Bytes before which the name of an attribute ends.
const ENDS_ATTRIBUTE: u8 = 2;
/// Bytes before which a value without quotes ends.
const ENDS_VALUE: u8 = 4;
/// Blanks.
const BLANK: u8 = 8;
/// Bytes that are not themselves in a name.
const CHANGES: u8 = 16;

/// What each byte is.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0_u8;
    loop {
        classes[byte as usize] = match byte {
            b'\t' | b'\n' | 0x0c | b'\r' | b' ' => ENDS_TAG | ENDS_ATTRIBUTE | ENDS_VALUE | BLANK,
            b'>' => ENDS_TAG | ENDS_ATTRIBUTE | ENDS_VALUE,
            b'/' => ENDS_TAG | ENDS_ATTRIBUTE,
            b'=' => ENDS_ATTRIBUTE,
            0 | b'A'..=b'Z' => CHANGES,
            _ => 0,
        };
        if byte == u8::MAX {
            break classes;
        }
        byte += 1;
    }
};

fn is_blank(byte: u8) -> bool {
    CLASSES[usize::from(byte)] & BLANK != 0
}

/// Whether a tag's name ends before this byte.
pub(super) fn ends_name(byte: u8) -> bool {
    CLASSES[usize::from(byte)] & ENDS_TAG != 0
}

impl<S: Subject> Reader<'_, '_, S> {
    /// Text up to the next tag, comment or doctype, and that too.
    fn data(&mut self) {
        let start = self.at;
        let mut from = start;
        let (mut references, mut dropped) = (false, false);
        loop {
            let rest = &self.bytes[from..];
            let found = if references { memchr(b'<', rest) } else { memchr2(b'<', b'&', rest) };
            let Some(found) = found.map(|found| from + found) else {
                self.at = self.bytes.len();
                return self.text(start..self.at, references, dropped);
            };
            if self.bytes[found] == b'&' {
                references = true;
                from = found + 1;
                continue;
            }
            let next = |ahead: usize| self.bytes.get(found + ahead).copied();
            let is: fn(&mut Self, usize) = match (next(1), next(2)) {
                (Some(b'/'), Some(b'>')) => {
                    (dropped, from) = (true, found + 3);
                    continue;
                }
                (Some(b'/'), Some(first)) if first.is_ascii_alphabetic() => Self::end_tag,
                (Some(b'/'), Some(_)) => |reader, at| reader.bogus_comment(at, at + 2),
                (Some(b'!'), _) => Self::declaration,
                (Some(b'?'), _) => |reader, at| reader.bogus_comment(at, at + 1),
                (Some(first), _) if first.is_ascii_alphabetic() => Self::start_tag,
                _ => {
                    from = found + 1;
                    continue;
                }
            };
            self.text(start..found, references, dropped);
            return is(self, found);
        }
    }

    /// Hands out a text outside of raw elements. `</>` within it is nothing at all.
    fn text(&mut self, mut span: Range<usize>, references: bool, dropped: bool) {
        if dropped {
            while self.bytes[span.clone()].starts_with(b"</>") {
                span.start += 3;
            }
            while self.bytes[span.clone()].ends_with(b"</>") {
                span.end -= 3;
            }
        }
        let text = &self.html[span.clone()];
        if text.is_empty() {
            return;
        }
        if !references && !dropped && !self.odd {
            return self.subject.text(text, &span, "");
        }
        self.scratch.clear();
        for piece in text.split("</>") {
            references::decode(piece, Within::Text, &mut self.scratch);
        }
        self.subject.text(&self.scratch, &span, "");
    }

    fn start_tag(&mut self, start: usize) {
        let angle = self.after_angle(start);
        if let Some(name) = self.known.name(self.bytes, start..angle) {
            self.at = angle;
            return self.subject.start(&self.html[name], &(start..angle));
        }
        let Some((name, place)) = self.tag(start + 1) else { return };
        let span = start..self.at;
        let written = matches!(name, Piece::There);
        let name = match name {
            Piece::There => &self.html[place.clone()],
            Piece::Buffer(range) => &self.buffer[range],
        };
        self.raw = raw(name);
        self.subject.start(name, &span);
        let seen = self.subject.attributes(&Tag {
            name,
            span: span.clone(),
            attributes: &self.attributes,
            hints: self.hints,
            html: self.html,
            buffer: &self.buffer,
        });
        // What has a `>` in a value would not be found again.
        if !seen && written && self.raw.is_empty() && self.at == angle {
            self.known.keep(self.bytes, span, place.len());
        }
    }

    pub(super) fn end_tag(&mut self, start: usize) {
        let Some((name, span)) = self.tag(start + 2) else { return };
        let name = match name {
            Piece::There => &self.html[span],
            Piece::Buffer(range) => &self.buffer[range],
        };
        self.raw = "";
        self.subject.end(name, &(start..self.at));
    }

    /// Reads a tag whose name starts at `from`: the name, and its bytes. A tag that never ends is none, and nothing follows it.
    fn tag(&mut self, from: usize) -> Option<(Piece, Range<usize>)> {
        self.attributes.clear();
        self.hints = Hints::default();
        self.buffer.clear();
        let bytes = self.bytes;
        // Where the tag does not end.
        self.at = bytes.len();
        let (mut at, changes) = self.name_end(from, ENDS_TAG);
        let span = from..at;
        let name = self.lower(span.clone(), changes);
        loop {
            match *bytes.get(at)? {
                b'>' => {
                    self.at = at + 1;
                    return Some((name, span));
                }
                byte if ends_name(byte) => at += 1,
                _ => at = self.attribute(at)?,
            }
        }
    }

    /// Reads an attribute that starts at `from`; where it ends.
    fn attribute(&mut self, from: usize) -> Option<usize> {
        let bytes = self.bytes;
        // The first byte may even be `=`.
        let (to, changes) = self.name_end(from + 1, ENDS_ATTRIBUTE);
        let changes = changes || CLASSES[usize::from(bytes[from])] & CHANGES != 0;
        let blanks = |at: usize| bytes[at..].iter().position(|byte| !is_blank(*byte)).map(|blanks| at + blanks);
        let name_span = from..to;
        let next = blanks(to)?;
        if bytes[next] != b'=' {
            self.keep(name_span, changes, to..to, false);
            return Some(next);
        }
        let at = blanks(next + 1)?;
        match bytes[at] {
            b'>' => {
                self.keep(name_span, changes, to..to, false);
                Some(at)
            }
            quote @ (b'"' | b'\'') => {
                let start = at + 1;
                let mut end = start + memchr2(quote, b'&', &bytes[start..])?;
                let references = bytes[end] == b'&';
                if references {
                    end += memchr(quote, &bytes[end..])?;
                }
                let span = if start == end { to..to } else { start..end };
                self.keep(name_span, changes, span, references);
                Some(end + 1)
            }
            _ => {
                let (end, _) = self.name_end(at, ENDS_VALUE);
                bytes.get(end)?;
                self.keep(name_span, changes, at..end, memchr(b'&', &bytes[at..end]).is_some());
                Some(end)
            }
        }
    }

    fn keep(&mut self, name_span: Range<usize>, changes: bool, value_span: Range<usize>, references: bool) {
        if self.attributes.len() >= ATTRIBUTES {
            self.hints.crowded = true;
            return;
        }
        let name = self.lower(name_span.clone(), changes);
        let value = if references || self.odd {
            let from = self.buffer.len();
            references::decode(&self.html[value_span.clone()], Within::Attribute, &mut self.buffer);
            Piece::Buffer(from..self.buffer.len())
        } else {
            Piece::There
        };
        let letters = match &name {
            Piece::There => &self.bytes[name_span.clone()],
            Piece::Buffer(range) => &self.buffer.as_bytes()[range.clone()],
        };
        let bit = bit(letters);
        self.hints.may_run |= letters.starts_with(b"on");
        self.hints.may_repeat |= self.hints.present & bit != 0;
        self.hints.present |= bit;
        self.attributes.push(Attribute { bit, name, value, name_span, value_span });
    }

    /// Where what starts at `from` ends: at the first byte of a class, or with the text; and whether a byte of it is not itself in a name.
    fn name_end(&self, from: usize, class: u8) -> (usize, bool) {
        let mut any = 0;
        for (length, byte) in self.bytes[from..].iter().enumerate() {
            let classes = CLASSES[usize::from(*byte)];
            if classes & class != 0 {
                return (from + length, any & CHANGES != 0);
            }
            any |= classes;
        }
        (self.bytes.len(), any & CHANGES != 0)
    }

    /// A name in lower case.
    fn lower(&mut self, span: Range<usize>, changes: bool) -> Piece {
        if !changes {
            return Piece::There;
        }
        let from = self.buffer.len();
        let letters = self.html[span].chars().map(|c| if c == '\0' { '\u{fffd}' } else { c.to_ascii_lowercase() });
        self.buffer.extend(letters);
        Piece::Buffer(from..self.buffer.len())
    }

    /// `<!…`: a comment, a doctype, or what browsers take for a comment, such as `<![if mso]>`.
    fn declaration(&mut self, start: usize) {
        let rest = &self.bytes[start + 2..];
        if rest.starts_with(b"--") {
            self.comment(start, start + 4);
        } else if rest.get(..7).is_some_and(|word| word.eq_ignore_ascii_case(b"doctype")) {
            self.at = self.after_angle(start);
            self.subject.doctype(&(start..self.at));
        } else {
            self.bogus_comment(start, start + 2);
        }
    }

    fn after_angle(&self, from: usize) -> usize {
        memchr(b'>', &self.bytes[from..]).map_or(self.bytes.len(), |found| from + found + 1)
    }

    fn bogus_comment(&mut self, start: usize, from: usize) {
        self.at = self.after_angle(from);
        let ended = self.bytes[from..self.at].ends_with(b">");
        self.hand_comment(from..self.at - usize::from(ended), start..self.at);
    }

    fn comment(&mut self, start: usize, from: usize) {
        let rest = &self.bytes[from..];
        let abrupt = if rest.starts_with(b">") {
            Some(1)
        } else if rest.starts_with(b"->") {
            Some(2)
        } else {
            None
        };
        if let Some(length) = abrupt {
            self.at = from + length;
            return self.hand_comment(from..from, start..self.at);
        }
        for found in memmem::find_iter(rest, b"--") {
            // Of three dashes the last two may be the end.
            let length = match &rest[found + 2..] {
                [b'>', ..] => 3,
                [b'!', b'>', ..] => 4,
                [b'-', b'>', ..] => {
                    self.at = from + found + 4;
                    return self.hand_comment(from..from + found + 1, start..self.at);
                }
                [b'-', b'!', b'>', ..] => {
                    self.at = from + found + 5;
                    return self.hand_comment(from..from + found + 1, start..self.at);
                }
                _ => continue,
            };
            self.at = from + found + length;
            return self.hand_comment(from..from + found, start..self.at);
        }
        self.at = self.bytes.len();
        let begun = ["--!", "--", "-"].into_iter().find(|end| rest.ends_with(end.as_bytes()));
        let content = from..self.at - begun.map_or(0, str::len);
        self.hand_comment(content, start..self.at);
        self.subject.unterminated_comment(self.at);
    }

    fn hand_comment(&mut self, content: Range<usize>, span: Range<usize>) {
        let text = &self.html[content];
        if self.odd {
            self.scratch.clear();
            references::decode(text, Within::Raw, &mut self.scratch);
            self.subject.comment(&self.scratch, &span);
        } else {
            self.subject.comment(text, &span);
        }
    }
}
