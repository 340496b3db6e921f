//! The visible text of a mail: what its reader sees, one line per block, in one pass over the tokens.

use std::convert::Infallible;

use html5gum::emitters::callback::{Callback, CallbackEmitter, CallbackEvent};
use html5gum::{Emitter, ForwardingEmitter, Span, Tokenizer};

/// Elements that flow with the text around them; every other one begins a new line.
const INLINE: [&str; 27] = [
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "del", "em", "font", "i", "img", "ins", "kbd", "label",
    "mark", "q", "s", "small", "span", "strike", "strong", "sub", "sup", "tt", "u",
];

/// Elements whose text nobody sees.
const HIDDEN: [&str; 7] = ["head", "noscript", "script", "style", "svg", "template", "title"];

/// The lines that a reader sees. Images show as `[image: alt]`, and the target of a link stands behind its text, since a changed target matters as
/// much as a changed word. Invisible padding is dropped and blanks are joined.
#[must_use]
pub fn visible_lines(html: &str) -> Vec<String> {
    let mut page = Page::default();
    let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| {
        page.take(event);
        None
    });
    emitter.naively_switch_states(true);
    let Ok(()) = Tokenizer::new_with_emitter(html, Quiet(emitter)).finish();
    page.end_line();
    page.lines
}

/// An emitter that nobody asks for the mistakes in a page: looking for them takes a tenth of the time.
struct Quiet<F: Callback<Infallible, ()>>(CallbackEmitter<F, Infallible>);

impl<F: Callback<Infallible, ()>> ForwardingEmitter for Quiet<F> {
    type Token = Infallible;

    fn inner(&mut self) -> &mut impl Emitter<Token = Infallible> {
        &mut self.0
    }

    fn should_emit_errors(&mut self) -> bool {
        false
    }
}

#[derive(Default)]
struct Page {
    lines: Vec<String>,
    line: String,
    /// The element that hides the text, and how often it is open inside itself.
    hidden: Option<(Vec<u8>, usize)>,
    /// Where the open link leads.
    link: Option<String>,
    tag: Tag,
}

/// The start tag that is being read.
#[derive(Default)]
struct Tag {
    name: Vec<u8>,
    /// The value of the attribute that counts in it, if it has that.
    value: Option<Vec<u8>>,
    /// Whether the value comes next.
    is_next: bool,
}

impl Tag {
    /// The attribute that counts: where a link leads, what stands for an image.
    fn wants(&self, attribute: &[u8]) -> bool {
        matches!((&self.name[..], attribute), (b"a", b"href") | (b"img", b"alt"))
    }

    fn attribute(&self) -> Option<String> {
        let text = String::from_utf8_lossy(self.value.as_deref()?).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }
}

impl Page {
    fn take(&mut self, event: CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag.name.clear();
                self.tag.name.extend_from_slice(name);
                (self.tag.value, self.tag.is_next) = (None, false);
            }
            CallbackEvent::AttributeName { name } => {
                // Of two with one name the first counts.
                self.tag.is_next = self.tag.value.is_none() && self.tag.wants(name);
                if self.tag.is_next {
                    self.tag.value = Some(Vec::new());
                }
            }
            CallbackEvent::AttributeValue { value } if self.tag.is_next => {
                self.tag.value.get_or_insert_default().extend_from_slice(value);
            }
            CallbackEvent::CloseStartTag { self_closing } => {
                let tag = std::mem::take(&mut self.tag);
                self.start(&tag, self_closing);
                self.tag = tag;
            }
            CallbackEvent::EndTag { name } => self.end(name),
            CallbackEvent::String { value } if self.hidden.is_none() => self.push(&String::from_utf8_lossy(value)),
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag, self_closing: bool) {
        let name = &tag.name[..];
        if let Some((hiding, depth)) = &mut self.hidden {
            *depth += usize::from(hiding == name && !self_closing);
            // A head without an end tag ends where the body begins.
            if name != b"body" {
                return;
            }
            self.hidden = None;
        }
        if HIDDEN.iter().any(|hidden| hidden.as_bytes() == name) {
            if !self_closing {
                self.hidden = Some((name.to_vec(), 1));
            }
            return;
        }
        if !INLINE.iter().any(|inline| inline.as_bytes() == name) {
            self.end_line();
        }
        match name {
            b"a" => {
                self.end_link();
                self.link = tag.attribute();
            }
            b"img" => {
                if let Some(alt) = tag.attribute() {
                    self.push(&format!(" [image: {alt}] "));
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &[u8]) {
        if let Some((hiding, depth)) = &mut self.hidden {
            if hiding == name {
                *depth -= 1;
                if *depth == 0 {
                    self.hidden = None;
                }
            }
            return;
        }
        if name == b"a" {
            self.end_link();
        } else if !INLINE.iter().any(|inline| inline.as_bytes() == name) {
            self.end_line();
        }
    }

    /// Adds text with its blanks joined and what is invisible left out.
    fn push(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let (word, after) = rest.split_at(rest.bytes().take_while(u8::is_ascii_graphic).count());
            self.line.push_str(word);
            let mut chars = after.chars();
            match chars.next() {
                Some(c) if c.is_whitespace() => {
                    if !self.line.is_empty() && !self.line.ends_with(' ') {
                        self.line.push(' ');
                    }
                }
                None | Some('\u{ad}' | '\u{34f}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}') => {}
                Some(c) => self.line.push(c),
            }
            rest = chars.as_str();
        }
    }

    fn end_link(&mut self) {
        if let Some(target) = self.link.take() {
            self.push(&format!(" <{target}>"));
        }
    }

    fn end_line(&mut self) {
        let line = self.line.trim_end();
        if !line.is_empty() {
            self.lines.push(line.to_owned());
        }
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minified_html_becomes_the_lines_that_a_reader_sees() {
        let html = "<!doctype html><html><head><title>T</title><style>p{color:red}</style></head><body><table><tr><td>Hello <b>{{name}}</b>,</td><td>it&nbsp;is&#8203;&zwnj; here.</td></tr></table><p>Go<br>now <a href=\"https://example.com/x\">there</a>.</p><img src=\"cid:a\" alt=\"Logo\"></body></html>";
        assert_eq!(
            visible_lines(html),
            ["Hello {{name}},", "it is here.", "Go", "now there <https://example.com/x>.", "[image: Logo]"]
        );
    }

    #[test]
    fn an_unclosed_head_or_a_stray_end_tag_hides_nothing() {
        assert_eq!(visible_lines("<head><title>T</title><body>seen"), ["seen"]);
        assert_eq!(visible_lines("</div></style>seen</a>"), ["seen"]);
        assert_eq!(visible_lines("<style>a</style>b<script>c"), ["b"]);
    }
}
