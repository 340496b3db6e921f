//! The words of an html body as a reader sees them: placeholders, the preheader, the plain text that can be derived.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::findings::{Findings, Places};
use super::markup::{Subject, Tag};
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
/// Longest plain text that is derived, in bytes.
const DERIVED: usize = 100_000;

/// Where a merge tag starts.
static TAG: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("{{"));

/// What is kept of the words.
#[derive(Debug, Default)]
pub struct Wording {
    /// Where one of [`WORDS`] stands for the first time in the body as it is; what is decoded may have it all the same.
    word: usize,
    placeholders: Places,
    placeholder: &'static str,
    /// Bytes of the pieces of text that a reader sees, for the tags in them.
    pub visible: Vec<Range<usize>>,
    hidden_first: bool,
    seen_words: bool,
    in_body: bool,
    /// The derived plain text.
    pub plain: String,
    links: Vec<String>,
    derive: bool,
}

impl Wording {
    /// To look at this body, with or without deriving a plain text.
    #[must_use]
    pub fn new(html: &str, derive: bool) -> Self {
        let first = WORDS.iter().filter_map(|word| word.find(html.as_bytes())).min();
        Self { derive, word: first.unwrap_or(usize::MAX), ..Self::default() }
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
        let message = format!("`{}` was meant to be replaced", self.placeholder);
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
    fn start(&mut self, tag: &Tag<'_>) {
        if tag.name == "body" {
            self.in_body = true;
        }
        if !self.seen_words {
            let style = tag.value("style").to_ascii_lowercase().replace(' ', "");
            let hides =
                ["display:none", "max-height:0", "font-size:0", "font-size:1px", "opacity:0", "visibility:hidden"];
            self.hidden_first |=
                hides.iter().any(|hide| style.contains(hide)) || tag.value("class").contains("preheader");
        }
        if !self.derive || self.plain.len() > DERIVED {
            return;
        }
        match tag.name {
            "a" => self.links.push(tag.value("href").to_owned()),
            "img" if !tag.value("alt").is_empty() => self.plain.push_str(tag.value("alt")),
            "li" => {
                self.break_line(false);
                self.plain.push_str("- ");
            }
            "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "hr" => self.break_line(true),
            name if BLOCKS.contains(&name) => self.break_line(false),
            _ => {}
        }
        self.links.truncate(100);
    }

    fn end(&mut self, name: &str, _span: &Range<usize>) {
        if !self.derive || self.plain.len() > DERIVED {
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
            && let Some(what) = placeholder(text)
        {
            if self.placeholders.is_empty() {
                self.placeholder = what;
            }
            self.placeholders.add(span.clone());
        }
        self.seen_words = self.seen_words || text.chars().any(char::is_alphanumeric);
        // No more tags than these are read of a body, so no more places count.
        if self.visible.len() < 4 * MOST && TAG.find(text.as_bytes()).is_some() {
            self.visible.push(span.clone());
        }
        if self.derive && self.plain.len() <= DERIVED {
            for c in text.chars() {
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

/// The words that [`placeholder`] looks for.
static WORDS: LazyLock<[Finder<'static>; 4]> = LazyLock::new(|| ["ipsum", "IPSUM", "TODO:", "FIXME"].map(Finder::new));

/// A word that was meant to be replaced.
#[must_use]
pub fn placeholder(text: &str) -> Option<&'static str> {
    let bytes = text.as_bytes();
    let [ipsum, upper, todo, fixme] = &*WORDS;
    // The rarer of the two words is looked for first.
    for ipsum in [ipsum, upper] {
        let before = |at: usize| at.checked_sub(6).and_then(|from| bytes.get(from..at));
        let mut places = ipsum.find_iter(bytes);
        if places.any(|at| before(at).is_some_and(|word| word.eq_ignore_ascii_case(b"lorem "))) {
            return Some("lorem ipsum");
        }
    }
    [(todo, "TODO:"), (fixme, "FIXME")].into_iter().find(|(word, _)| word.find(bytes).is_some()).map(|(_, name)| name)
}
