//! The words of an html body as a reader sees them: placeholders, the preheader, the plain text that can be derived.

use std::ops::Range;

use super::findings::{Findings, Places};
use super::markup::{Subject, Tag};
use super::rare::{Rare, placeholder};
use super::table;
use crate::desired::tags::MOST;
use crate::source::Text;

const BLOCKS: [&str; 22] = [
    "address",
    "article",
    "blockquote",
    "br",
    "center",
    "div",
    "dl",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "ol",
    "p",
    "section",
    "tr",
    "ul",
];
/// Bytes of plain text after which nothing is derived any more, and the bytes of one text that are.
const DERIVED: usize = 100_000;

/// What is kept of the words.
#[derive(Debug, Default)]
pub struct Wording {
    /// Where the first word of a placeholder stands in the body as it is written.
    word: usize,
    placeholders: Places,
    placeholder: &'static str,
    /// Where the merge tags of the body start.
    tags: Vec<usize>,
    /// How many of them are behind the text that is being read.
    passed: usize,
    /// Where those start that stand in a text that a reader sees.
    pub visible: Vec<usize>,
    /// Bytes of the comments that no client reads, and that have braces in them.
    pub comments: Vec<Range<usize>>,
    /// Whether anybody asks for a preheader.
    preheader: bool,
    hidden_first: bool,
    seen_words: bool,
    /// The derived plain text.
    pub plain: String,
    links: Vec<String>,
    derive: bool,
}

impl Wording {
    /// To look at a body in which these tags stand, with or without deriving a plain text.
    #[must_use]
    pub fn new(rare: Rare, tags: Vec<usize>, derive: bool, findings: &Findings<'_>) -> Self {
        let preheader = findings.on(&table::PREHEADER_MISSING);
        Self { derive, word: rare.placeholder, tags, preheader, ..Self::default() }
    }

    /// Whether a plain text is being derived, and has room.
    fn derives(&self) -> bool {
        self.derive && self.plain.len() <= DERIVED
    }

    fn break_line(&mut self, twice: bool) {
        let trimmed = self.plain.trim_end_matches(' ').len();
        self.plain.truncate(trimmed);
        let wanted = if twice { "\n\n" } else { "\n" };
        while !self.plain.is_empty() && !self.plain.ends_with(wanted) {
            self.plain.push('\n');
        }
    }

    /// Reports what was seen.
    pub fn report(&self, text: &Text, findings: &mut Findings<'_>) {
        let message = format_args!("`{}` was meant to be replaced", self.placeholder);
        findings.places(&table::PLACEHOLDER_LEFT, text, &self.placeholders, message);
        if self.seen_words && !self.hidden_first {
            let mut whole = Places::default();
            whole.add(0..0);
            findings
                .places(
                    &table::PREHEADER_MISSING,
                    text,
                    &whole,
                    "no preheader: the list of mails shows the first words",
                )
                .help("start the body with hidden text");
        }
    }
}

impl Subject for Wording {
    fn start(&mut self, name: &str, _span: &Range<usize>) {
        if !self.derives() {
            return;
        }
        match name {
            "li" => {
                self.break_line(false);
                self.plain.push_str("- ");
            }
            "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "hr" => self.break_line(true),
            name if BLOCKS.contains(&name) => self.break_line(false),
            _ => {}
        }
    }

    fn attributes(&mut self, tag: &Tag<'_>) -> bool {
        let hides = self.preheader && !self.seen_words && hides(tag);
        self.hidden_first |= hides;
        match tag.name {
            "a" if self.derives() => {
                self.links.push(tag.value("href").to_owned());
                self.links.truncate(100);
            }
            "img" if self.derives() => self.plain.push_str(tag.value("alt")),
            "a" | "img" => {}
            _ => return hides,
        }
        true
    }

    fn comment(&mut self, content: &str, span: &Range<usize>) {
        // Outlook reads the conditional ones.
        let conditional = content.trim_start().starts_with('[');
        if !conditional && self.comments.len() < MOST && content.contains("{{") {
            self.comments.push(span.clone());
        }
    }

    fn end(&mut self, name: &str, _span: &Range<usize>) {
        if !self.derives() {
            return;
        }
        if name == "a"
            && let Some(link) = self.links.pop()
            && !link.is_empty()
            && !link.starts_with('#')
            && !self.plain.trim_end().ends_with(&link)
        {
            let gap = if self.plain.ends_with([' ', '\n']) { "" } else { " " };
            self.plain.push_str(&format!("{gap}({link})"));
        } else if name.starts_with('h') && name.len() == 2 || name == "p" {
            self.break_line(true);
        } else if BLOCKS.contains(&name) {
            self.break_line(false);
        }
    }

    fn text(&mut self, text: &str, span: &Range<usize>, raw: &str) {
        if !raw.is_empty() {
            return;
        }
        if (span.end > self.word || text.len() != span.len())
            && let Some((what, bytes)) = placeholder(text)
        {
            if self.placeholders.is_empty() {
                self.placeholder = what;
            }
            let as_written = text.len() == span.len();
            let word = span.start + bytes.start..span.start + bytes.end;
            self.placeholders.add(if as_written { word } else { span.clone() });
        }
        self.seen_words = self.seen_words || text.chars().any(char::is_alphanumeric);
        while let Some(tag) = self.tags.get(self.passed).filter(|tag| **tag < span.end) {
            self.passed += 1;
            if span.start <= *tag {
                self.visible.push(*tag);
            }
        }
        if self.derives() {
            for c in text[..text.floor_char_boundary(DERIVED)].chars() {
                let hidden = crate::untrusted::is_control(c) && !c.is_whitespace() || matches!(c, '\u{ad}' | '\u{34f}');
                if c.is_whitespace() || c == '\u{a0}' {
                    if !self.plain.is_empty() && !self.plain.ends_with([' ', '\n']) {
                        self.plain.push(' ');
                    }
                } else if !hidden {
                    self.plain.push(c);
                }
            }
        }
    }
}

/// Whether a tag hides what stands in it, as a preheader is hidden.
fn hides(tag: &Tag<'_>) -> bool {
    let style = tag.value("style").to_ascii_lowercase().replace(' ', "");
    let hides = ["display:none", "max-height:0", "font-size:0", "font-size:1px", "opacity:0", "visibility:hidden"];
    hides.iter().any(|hide| style.contains(hide)) || tag.value("class").contains("preheader")
}
