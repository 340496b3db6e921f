//! The visible text of a mail: what its reader sees, one line per block, in one pass over the tokens.

use html5gum::emitters::default::{DefaultEmitter, StartTag, Token};
use html5gum::{HtmlString, Tokenizer};

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
    let mut emitter = DefaultEmitter::<()>::new_with_span();
    emitter.naively_switch_states(true);
    let mut page = Page::default();
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => page.start(&tag),
            Token::EndTag(tag) => page.end(&tag.name),
            Token::String(text) if page.hidden.is_none() => page.text(&text.value),
            _ => {}
        }
    }
    page.end_line();
    page.lines
}

#[derive(Default)]
struct Page {
    lines: Vec<String>,
    line: String,
    /// The element that hides the text, and how often it is open inside itself.
    hidden: Option<(Vec<u8>, usize)>,
    /// Where the open link leads.
    link: Option<String>,
}

impl Page {
    fn start(&mut self, tag: &StartTag<()>) {
        let name = &tag.name[..];
        if let Some((hiding, depth)) = &mut self.hidden {
            *depth += usize::from(hiding == name && !tag.self_closing);
            // A head without an end tag ends where the body begins.
            if name != b"body" {
                return;
            }
            self.hidden = None;
        }
        if HIDDEN.iter().any(|hidden| hidden.as_bytes() == name) {
            if !tag.self_closing {
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
                self.link = attribute(tag, b"href");
            }
            b"img" => {
                if let Some(alt) = attribute(tag, b"alt") {
                    self.push(&format!(" [image: {alt}] "));
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &HtmlString) {
        if let Some((hiding, depth)) = &mut self.hidden {
            if *hiding == name[..] {
                *depth -= 1;
                if *depth == 0 {
                    self.hidden = None;
                }
            }
            return;
        }
        if name[..] == *b"a" {
            self.end_link();
        } else if !INLINE.iter().any(|inline| inline.as_bytes() == &name[..]) {
            self.end_line();
        }
    }

    fn text(&mut self, text: &HtmlString) {
        self.push(&String::from_utf8_lossy(text));
    }

    /// Adds text with its blanks joined and what is invisible left out.
    fn push(&mut self, text: &str) {
        for c in text.chars() {
            if c.is_whitespace() {
                if !self.line.is_empty() && !self.line.ends_with(' ') {
                    self.line.push(' ');
                }
            } else if !matches!(c, '\u{ad}' | '\u{34f}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
            {
                self.line.push(c);
            }
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

fn attribute(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    let value = tag.attributes.get(name)?;
    let text = String::from_utf8_lossy(value).trim().to_owned();
    (!text.is_empty()).then_some(text)
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
