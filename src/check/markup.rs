//! One streaming pass over an HTML body, shared by every subject: no tree, exact positions, reused buffers.
//!
//! Broken HTML, conditional comments, Outlook's markup and minified CSS are normal input; nothing here judges.

use std::convert::Infallible;
use std::ops::Range;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Emitter, ForwardingEmitter, Span, Tokenizer};

/// A start tag.
#[derive(Debug)]
pub struct Tag<'p> {
    /// Its name in lower case.
    pub name: &'p str,
    /// Bytes from `<` to `>`.
    pub span: Range<usize>,
    attributes: &'p [Attribute],
    buffer: &'p str,
}

/// An attribute in the making: names and values live in one buffer.
#[derive(Debug)]
struct Attribute {
    name: Range<usize>,
    value: Range<usize>,
    name_span: Range<usize>,
    value_span: Range<usize>,
}

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
        let buffer = self.buffer;
        self.attributes.iter().map(move |attribute| Value {
            name: &buffer[attribute.name.clone()],
            value: &buffer[attribute.value.clone()],
            span: if attribute.value_span.is_empty() {
                attribute.name_span.clone()
            } else {
                attribute.value_span.clone()
            },
        })
    }

    /// The first attribute of a name: later ones do not count for a mail client.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value<'p>> {
        self.attributes().find(|attribute| attribute.name == name)
    }

    /// Whether the tag has an attribute.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// An attribute's value, trimmed; empty when there is none.
    #[must_use]
    pub fn value(&self, name: &str) -> &'p str {
        self.get(name).map_or("", |attribute| attribute.value.trim())
    }
}

/// What looks at a body. Every subject sees every event and keeps what it needs.
pub trait Subject {
    /// A start tag.
    fn start(&mut self, _tag: &Tag<'_>) {}
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

/// Elements whose content is text and not markup.
const RAW: [&str; 9] = ["style", "script", "title", "textarea", "noscript", "iframe", "xmp", "noembed", "plaintext"];

/// Reads a body once and hands every event to every subject.
pub fn read(html: &str, subjects: &mut [&mut dyn Subject]) {
    let mut pass = Pass {
        subjects,
        name: String::new(),
        start: 0,
        open: false,
        attributes: Vec::new(),
        buffer: String::new(),
        raw: "",
    };
    let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, span: Span<usize>| -> Option<Infallible> {
        pass.event(&event, span.start.min(html.len())..span.end.min(html.len()));
        None
    });
    emitter.naively_switch_states(true);
    let Ok(()) = Tokenizer::new_with_emitter(html, Quiet { emitter, comment: false }).finish();
}

/// Asks for errors only inside of comments, where one of them matters: looking for the others takes longer than reading the tags.
struct Quiet<E> {
    emitter: E,
    comment: bool,
}

impl<E: Emitter> ForwardingEmitter for Quiet<E> {
    type Token = E::Token;

    fn inner(&mut self) -> &mut impl Emitter<Token = Self::Token> {
        &mut self.emitter
    }

    fn should_emit_errors(&mut self) -> bool {
        self.comment
    }

    fn init_comment(&mut self) {
        self.comment = true;
        self.emitter.init_comment();
    }

    fn emit_current_comment(&mut self) {
        self.comment = false;
        self.emitter.emit_current_comment();
    }
}

struct Pass<'s, 'd> {
    subjects: &'s mut [&'d mut dyn Subject],
    name: String,
    start: usize,
    open: bool,
    attributes: Vec<Attribute>,
    buffer: String,
    raw: &'static str,
}

impl Pass<'_, '_> {
    fn event(&mut self, event: &CallbackEvent<'_>, span: Range<usize>) {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.name.clear();
                self.name.push_str(&text(name));
                self.start = span.start;
                self.open = true;
                self.attributes.clear();
                self.buffer.clear();
            }
            CallbackEvent::AttributeName { name } if self.open => {
                let from = self.buffer.len();
                self.buffer.push_str(&text(name));
                let to = self.buffer.len();
                let value_span = span.end..span.end;
                self.attributes.push(Attribute { name: from..to, value: to..to, name_span: span, value_span });
            }
            CallbackEvent::AttributeValue { value } if self.open => {
                let from = self.buffer.len();
                self.buffer.push_str(&text(value));
                if let Some(last) = self.attributes.last_mut() {
                    last.value = from..self.buffer.len();
                    last.value_span = span;
                }
            }
            CallbackEvent::CloseStartTag { .. } => {
                self.open = false;
                let tag = Tag {
                    name: &self.name,
                    span: self.start..span.end,
                    attributes: &self.attributes,
                    buffer: &self.buffer,
                };
                self.raw = RAW.into_iter().find(|raw| *raw == self.name).unwrap_or_default();
                for subject in self.subjects.iter_mut() {
                    subject.start(&tag);
                }
            }
            CallbackEvent::EndTag { name } => {
                self.open = false;
                self.raw = "";
                let name = text(name);
                self.subjects.iter_mut().for_each(|subject| subject.end(&name, &span));
            }
            CallbackEvent::String { value } => {
                let value = text(value);
                let raw = self.raw;
                self.subjects.iter_mut().for_each(|subject| subject.text(&value, &span, raw));
            }
            CallbackEvent::Comment { value } => {
                let value = text(value);
                self.subjects.iter_mut().for_each(|subject| subject.comment(&value, &span));
            }
            CallbackEvent::Doctype { .. } => self.subjects.iter_mut().for_each(|subject| subject.doctype(&span)),
            CallbackEvent::Error(html5gum::Error::EofInComment) => {
                self.subjects.iter_mut().for_each(|subject| subject.unterminated_comment(span.start));
            }
            _ => {}
        }
    }
}

/// The tokenizer hands out bytes of a text; a piece of it is text again but for what it was given in character references.
fn text<'b>(bytes: &'b [u8]) -> std::borrow::Cow<'b, str> {
    // The lossy reading goes byte by byte, and is hardly ever needed.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), std::borrow::Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Log(Vec<String>);

    impl Subject for Log {
        fn start(&mut self, tag: &Tag<'_>) {
            let attributes: Vec<String> =
                tag.attributes().map(|a| format!("{}={}@{:?}", a.name, a.value, a.span)).collect();
            self.0.push(format!("<{} {}>@{:?}", tag.name, attributes.join(" "), tag.span));
        }
        fn end(&mut self, name: &str, span: &Range<usize>) {
            self.0.push(format!("</{name}>@{span:?}"));
        }
        fn text(&mut self, text: &str, span: &Range<usize>, raw: &str) {
            self.0.push(format!("{raw}:{text}@{span:?}"));
        }
        fn comment(&mut self, content: &str, span: &Range<usize>) {
            self.0.push(format!("!{content}@{span:?}"));
        }
        fn unterminated_comment(&mut self, _: usize) {
            self.0.push("unterminated".to_owned());
        }
    }

    fn log(html: &str) -> Vec<String> {
        let mut log = Log::default();
        read(html, &mut [&mut log]);
        log.0
    }

    #[test]
    fn events_have_exact_places() {
        assert_eq!(
            log("<A HREF=\"x&amp;y\" b c=''>é</a>"),
            ["<a href=x&y@9..16 b=@18..19 c=@20..21>@0..25", ":é@25..27", "</a>@27..31"]
        );
        assert_eq!(log("<style>a{}</style>t"), ["<style >@0..7", "style:a{}@7..10", "</style>@10..18", ":t@18..19"]);
    }

    #[test]
    fn comments_of_every_kind() {
        assert_eq!(log("<!--[if mso]><p><![endif]-->"), ["![if mso]><p><![endif]@0..28"]);
        assert_eq!(log("<![if !mso]>a<![endif]>"), ["![if !mso]@0..12", ":a@12..13", "![endif]@13..23"]);
        assert!(log("a<!-- b").contains(&"unterminated".to_owned()));
    }

    proptest::proptest! {
        #[test]
        fn any_text_gives_spans_within_it(html in "[<>a/='\"! \\-é{}&;#x\n\r]{0,80}") {
            struct Spans<'h>(&'h str);
            impl Subject for Spans<'_> {
                fn start(&mut self, tag: &Tag<'_>) {
                    assert!(self.0.get(tag.span.clone()).is_some(), "{:?}", tag.span);
                    for attribute in tag.attributes() {
                        assert!(attribute.span.end <= self.0.len());
                    }
                }
                fn end(&mut self, _: &str, span: &Range<usize>) {
                    assert!(self.0.get(span.clone()).is_some());
                }
            }
            read(&html, &mut [&mut Spans(&html)]);
        }
    }
}
