//! One streaming pass over an HTML body, shared by every subject: no tree, exact positions, nothing copied that need not be.
//!
//! Broken HTML, conditional comments, Outlook's markup and minified CSS are normal input; nothing here judges.

mod known;
mod raw;
mod references;
mod tokens;

use std::ops::Range;

pub use tokens::read;

/// A start tag.
#[derive(Debug)]
pub struct Tag<'p> {
    /// Its name in lower case.
    pub name: &'p str,
    /// Bytes from `<` to `>`.
    pub span: Range<usize>,
    attributes: &'p [Attribute],
    hints: Hints,
    html: &'p str,
    buffer: &'p str,
}

/// What is known of a tag's attributes without looking at them.
#[derive(Debug, Clone, Copy, Default)]
struct Hints {
    /// One bit for each name that may be there: most questions are about attributes that are not.
    present: u64,
    may_repeat: bool,
    crowded: bool,
    may_run: bool,
}

/// An attribute as it was met: its name and value are bytes of the body, or of a buffer where they are not what stands there.
#[derive(Debug)]
struct Attribute {
    /// The bit of its name in [`Hints::present`].
    bit: u64,
    name: Piece,
    value: Piece,
    name_span: Range<usize>,
    /// Empty where there is no value.
    value_span: Range<usize>,
}

/// Where a name or value is.
#[derive(Debug, Clone)]
enum Piece {
    /// It is what its span has.
    There,
    /// Bytes of the buffer: in lower case, or with its character references decoded.
    Buffer(Range<usize>),
}

/// Attributes of one tag that are kept; a hostile tag has millions.
const ATTRIBUTES: usize = 1_000;

/// An attribute as a subject sees it.
#[derive(Debug, Clone)]
pub struct Value<'p> {
    /// The name in lower case.
    pub name: &'p str,
    /// The value with its character references decoded; empty when there is none.
    pub value: &'p str,
    /// Bytes of the value, or of the name when there is no value.
    pub span: Range<usize>,
}

impl<'p> Tag<'p> {
    /// The attributes, in order, repeated ones included.
    pub fn attributes(&self) -> impl Iterator<Item = Value<'p>> {
        let (html, buffer) = (self.html, self.buffer);
        self.attributes.iter().map(move |attribute| attribute.value(html, buffer))
    }

    /// Whether a name may stand twice; nearly no tag has one.
    #[must_use]
    pub fn may_repeat(&self) -> bool {
        self.hints.may_repeat
    }

    /// Where the tag begins, if it has more attributes than are kept: nobody knows what the others do.
    #[must_use]
    pub fn crowded(&self) -> Option<Range<usize>> {
        self.hints.crowded.then(|| self.span.start..self.span.start + 1 + self.name.len())
    }

    /// Whether a name starts with `on`.
    #[must_use]
    pub fn may_run(&self) -> bool {
        self.hints.may_run
    }

    /// The first attribute of a name: later ones do not count for a mail client.
    #[must_use]
    #[inline]
    pub fn get(&self, name: &str) -> Option<Value<'p>> {
        let bit = bit(name.as_bytes());
        // What is nearly always all that is asked is small enough to be put where it is asked.
        if self.hints.present & bit == 0 { None } else { self.find(name, bit) }
    }

    fn find(&self, name: &str, bit: u64) -> Option<Value<'p>> {
        let named = |attribute: &&Attribute| {
            attribute.bit == bit && attribute.name.of(&attribute.name_span, self.html, self.buffer) == name
        };
        self.attributes.iter().find(named).map(|attribute| attribute.value(self.html, self.buffer))
    }

    /// Whether the tag has an attribute.
    #[must_use]
    #[inline]
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// An attribute's value, trimmed; empty when there is none.
    #[must_use]
    #[inline]
    pub fn value(&self, name: &str) -> &'p str {
        self.get(name).map_or("", |attribute| attribute.value.trim())
    }
}

impl Attribute {
    fn value<'p>(&self, html: &'p str, buffer: &'p str) -> Value<'p> {
        let valued = !self.value_span.is_empty();
        Value {
            name: self.name.of(&self.name_span, html, buffer),
            value: self.value.of(&self.value_span, html, buffer),
            span: if valued { self.value_span.clone() } else { self.name_span.clone() },
        }
    }
}

impl Piece {
    fn of<'p>(&self, span: &Range<usize>, html: &'p str, buffer: &'p str) -> &'p str {
        match self {
            Self::There => html.get(span.clone()).unwrap_or_default(),
            Self::Buffer(range) => buffer.get(range.clone()).unwrap_or_default(),
        }
    }
}

/// The bit of a name in [`Tag::present`]. Of the names that most tags have and that the rules ask for, no two have the same.
#[inline]
fn bit(name: &[u8]) -> u64 {
    match name {
        [] => 1,
        [first, ..] => {
            let last = name[name.len() - 1];
            1 << ((usize::from(*first) + usize::from(last) * 51 + name.len() * 23) & 63)
        }
    }
}

/// What is to be said of a tag that is [`Tag::crowded`].
#[must_use]
pub fn crowded() -> String {
    format!("this tag has more than {ATTRIBUTES} attributes, and what follows them was not looked at")
}

/// What looks at a body. A subject sees every event and keeps what it needs.
pub trait Subject {
    /// The start tag of an element: its name in lower case, and its bytes.
    fn start(&mut self, _name: &str, _span: &Range<usize>) {}
    /// The attributes of the start tag that was just handed out; whether there was anything to see in them.
    ///
    /// Nearly all tags of a mail are repetitions of a few. Where there was nothing to see, the same bytes are not looked at again: later
    /// ones come to [`Subject::start`] only. So the answer must not depend on what was seen before, unless that never changes again.
    fn attributes(&mut self, _tag: &Tag<'_>) -> bool {
        false
    }
    /// An end tag: its name in lower case and its bytes.
    fn end(&mut self, _name: &str, _span: &Range<usize>) {}
    /// Text with its character references decoded, and the element whose raw text it is (`style`, `script`, `title`, …) or nothing.
    fn text(&mut self, _text: &str, _span: &Range<usize>, _raw: &str) {}
    /// A comment's content and its bytes, `<!--` and `-->` included.
    fn comment(&mut self, _content: &str, _span: &Range<usize>) {}
    /// A doctype.
    fn doctype(&mut self, _span: &Range<usize>) {}
    /// The comment at the end of the file never ends.
    fn unterminated_comment(&mut self, _at: usize) {}
}

#[cfg(test)]
mod tests;
