//! CSS in style blocks and style attributes: what Gmail and Outlook drop.

use std::ops::Range;

use super::findings::{Findings, MENDED, Places};
use super::markup::{Subject, Tag};
use super::rare::Rare;
use super::table;
use crate::diagnostic::Edit;
use crate::source::Text;

/// Style blocks beyond this are dropped by Gmail.
const STYLE_BYTES: usize = 16_384;
/// Mistakes after which the rest of a style block is not read: a hostile one has millions.
const FLAWS: usize = 1_000;
/// Smallest text that can be read on a phone, in pixels.
const SMALL_PIXELS: f32 = 12.0;

/// What is kept of all styles of a body.
#[derive(Debug, Default)]
pub struct Css {
    /// Whether `var(--` stands anywhere in the body as it is written.
    variable: bool,
    /// Whether anybody asks for small text, and for what Outlook makes of `max-width`.
    asked: (bool, bool),
    blocks: usize,
    over: Places,
    double_braces: Places,
    /// Where the first of them are, to be mended.
    mended: Vec<usize>,
    nested: Places,
    syntax: Places,
    syntax_message: &'static str,
    unsupported: Places,
    unsupported_what: String,
    fonts: Places,
    small: Places,
    max_width: Places,
    color_scheme: bool,
    mso: bool,
}

impl Subject for Css {
    fn attributes(&mut self, tag: &Tag<'_>) -> bool {
        let seen = tag.get("style").is_some_and(|style| self.declarations(style.value, &style.span));
        match tag.name {
            "meta" if tag.value("name").eq_ignore_ascii_case("color-scheme") => self.color_scheme = true,
            "link" => {
                let sheet = tag.value("rel").eq_ignore_ascii_case("stylesheet");
                if sheet && tag.value("href").contains("font") {
                    self.fonts.add(tag.span.clone());
                }
            }
            _ => return seen,
        }
        true
    }

    fn text(&mut self, text: &str, span: &Range<usize>, raw: &str) {
        // A NUL is read as a longer sign, so that no place after it would be right; it is an error of its own.
        if raw == "style" && text.len() == span.len() {
            self.block(text, span);
        }
    }

    fn comment(&mut self, content: &str, _span: &Range<usize>) {
        self.mso |= content.trim_start().starts_with("[if");
    }
}

impl Css {
    /// To look at this body.
    #[must_use]
    pub fn new(rare: Rare, findings: &Findings<'_>) -> Self {
        let asked = (findings.on(&table::SMALL_FONT), findings.on(&table::MSO_FALLBACK));
        Self { variable: rare.variable, asked, ..Self::default() }
    }

    /// A style attribute; whether there is anything in it.
    fn declarations(&mut self, style: &str, span: &Range<usize>) -> bool {
        let mut seen = false;
        let decoded = style.len() != span.len();
        let variables = (self.variable || decoded) && style.contains("var(--");
        let bytes = style.as_bytes();
        let mut next = 0;
        while next < bytes.len() {
            let start = next;
            let end = memchr::memchr(b';', &bytes[start..]).map_or(bytes.len(), |length| start + length);
            next = end + 1;
            if !variables && !may_matter(&bytes[start..end]) {
                continue;
            }
            let Some((property, value)) = style[start..end].split_once(':') else { continue };
            let property = property.trim();
            seen |= self.declaration(property, value.trim(), variables, span);
            if self.asked.0 && property.eq_ignore_ascii_case("font-size") && small(value) {
                self.small.add(span.clone());
                seen = true;
            }
            if self.asked.1 && property.eq_ignore_ascii_case("max-width") {
                self.max_width.add(span.clone());
                seen = true;
            }
        }
        seen
    }

    /// One declaration; `variables` says whether one may stand in its value. Whether clients drop it.
    fn declaration(&mut self, property: &str, value: &str, variables: bool, span: &Range<usize>) -> bool {
        let is = |name: &str| property.eq_ignore_ascii_case(name);
        let among = |words: &[&str]| {
            let word = value.split(|c: char| c.is_whitespace() || c == '!').next().unwrap_or_default();
            words.iter().any(|known| word.eq_ignore_ascii_case(known))
        };
        let dropped = is("display") && among(&["flex", "inline-flex", "grid", "inline-grid"])
            || is("position") && among(&["fixed", "sticky"])
            || variables && value.contains("var(--");
        if dropped {
            if self.unsupported.is_empty() {
                self.unsupported_what = format!("{property}: {value}");
            }
            self.unsupported.add(span.clone());
        }
        dropped
    }

    /// A style block: one pass over its bytes. The text of a style element has no character references, so positions are exact.
    fn block(&mut self, css: &str, span: &Range<usize>) {
        self.blocks += css.len();
        if self.blocks > STYLE_BYTES {
            self.over.add(span.clone());
        }
        self.color_scheme |= css.contains("color-scheme");
        for font in ["@font-face", "@import"] {
            if let Some(at) = css.find(font) {
                self.fonts.add(span.start + at..span.start + at + font.len());
            }
        }
        let mut reader = Block { css, span, at: 0, stack: Vec::new(), start: 0, other_rules: false, nested: None };
        reader.read(self);
    }

    /// Reports what was seen.
    pub fn report(self, text: &Text, findings: &mut Findings<'_>) {
        let message = format_args!("{} bytes of style blocks; Gmail drops what goes beyond {STYLE_BYTES}", self.blocks);
        findings.places(&table::STYLE_OVER_16K, text, &self.over, message).limit(self.blocks, STYLE_BYTES);
        findings
            .places(
                &table::CSS_DOUBLE_BRACE,
                text,
                &self.double_braces,
                "`}}` in a style block could be taken for the end of a tag",
            )
            .help("put a blank between the braces")
            .edits(|| {
                let insert = |at: &usize| {
                    let raw = text.raw(at + 1);
                    Edit { path: text.path.clone(), bytes: raw..raw, text: " ".to_owned() }
                };
                self.mended.iter().map(insert).collect()
            });
        let message = "Gmail drops the whole style block because of this nested at-rule";
        findings.places(&table::CSS_NESTED_AT, text, &self.nested, message).help("give it a style block of its own");
        findings.places(&table::CSS_SYNTAX, text, &self.syntax, self.syntax_message);
        let message = format_args!("`{}` is dropped by Outlook and Gmail", self.unsupported_what);
        findings
            .places(&table::CSS_UNSUPPORTED, text, &self.unsupported, message)
            .help("use tables for layout, or put it inside of `@media` as an enhancement");
        findings.places(&table::WEB_FONT, text, &self.fonts, "Outlook and Gmail do not load fonts from the network");
        findings
            .places(&table::SMALL_FONT, text, &self.small, "text smaller than 12 pixels cannot be read on a phone")
            .help("use at least 12 pixels");
        if !self.mso {
            let message = "Outlook ignores `max-width`, and there is no conditional comment for it";
            findings.places(&table::MSO_FALLBACK, text, &self.max_width, message);
        }
        if !self.color_scheme {
            let mut whole = Places::default();
            whole.add(0..0);
            findings
                .places(&table::COLOR_SCHEME_MISSING, text, &whole, "the html says nothing about dark mode")
                .help("`<meta name=\"color-scheme\" content=\"light dark\">`");
        }
    }
}

/// Whether a declaration may be one of those that are looked for: most are not, and their first letters say so.
fn may_matter(declaration: &[u8]) -> bool {
    let start = declaration.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
    match declaration.get(start..start + 3) {
        Some([first, second, third]) => {
            let known = matches!(
                [first | 0x20, second | 0x20, third | 0x20],
                [b'd', b'i', b's'] | [b'p', b'o', b's'] | [b'f', b'o', b'n'] | [b'm', b'a', b'x']
            );
            // A blank that is not ASCII may come first.
            known || !first.is_ascii() || *first < 0x20
        }
        _ => false,
    }
}

/// Whether a font size in pixels is too small. A size of 0 or 1 hides a preheader and is no text to read.
fn small(value: &str) -> bool {
    let pixels = value.trim().strip_suffix("px").and_then(|number| number.trim().parse::<f32>().ok());
    pixels.is_some_and(|pixels| pixels > 1.0 && pixels < SMALL_PIXELS)
}

/// A style block that is being read.
struct Block<'c> {
    css: &'c str,
    span: &'c Range<usize>,
    at: usize,
    /// For each open brace: where its prelude starts, and whether it is an at-rule that holds rules.
    stack: Vec<(usize, bool)>,
    /// Where the current prelude or declaration starts.
    start: usize,
    other_rules: bool,
    nested: Option<Range<usize>>,
}

impl Block<'_> {
    fn read(&mut self, css: &mut Css) {
        let bytes = self.css.as_bytes();
        while let Some(byte) = bytes.get(self.at)
            && css.syntax.count < FLAWS
        {
            let at = self.at;
            self.at += 1;
            match *byte {
                b'/' => self.comment(at, css),
                quote @ (b'"' | b'\'') => self.string(at, quote, css),
                b'{' if bytes.get(at + 1) == Some(&b'{') && self.tag(at) => {}
                b'{' => self.open(at, css),
                b'}' => self.close(at, css),
                b';' => {
                    self.declared(at, css);
                    self.start = at + 1;
                }
                _ => {}
            }
        }
        if let Some((start, _)) = self.stack.first() {
            self.flaw(*start, css, "this rule is never closed");
        }
        if let (Some(nested), true) = (self.nested.take(), self.other_rules) {
            css.nested.add(nested);
        }
    }

    /// Passes over a merge tag: its braces are not the style's.
    fn tag(&mut self, at: usize) -> bool {
        let near = &self.css[at..self.css.floor_char_boundary(at + 200)];
        let end = near.find("}}").filter(|end| !near[..*end].contains([':', ';', '\n']));
        if let Some(end) = end {
            let three = near.starts_with("{{{") && near[end..].starts_with("}}}");
            self.at = at + end + if three { 3 } else { 2 };
        }
        end.is_some()
    }

    fn comment(&mut self, at: usize, css: &mut Css) {
        let Some(rest) = self.css[at..].strip_prefix("/*") else { return };
        match rest.find("*/") {
            Some(end) => self.at = at + 2 + end + 2,
            None => {
                self.flaw(at, css, "this comment never ends");
                self.at = self.css.len();
            }
        }
    }

    fn string(&mut self, at: usize, quote: u8, css: &mut Css) {
        let bytes = self.css.as_bytes();
        let mut end = at + 1;
        while let Some(byte) = bytes.get(end) {
            match *byte {
                b'\\' => end += 1,
                b'\n' => break,
                byte if byte == quote => {
                    self.at = end + 1;
                    return;
                }
                _ => {}
            }
            end += 1;
        }
        self.flaw(at, css, "this string never ends");
        self.at = end.min(bytes.len());
    }

    fn open(&mut self, at: usize, css: &mut Css) {
        let prelude = self.css.get(self.start..at).unwrap_or_default();
        let prelude = prelude.trim_start_matches(|c: char| c.is_whitespace());
        let rule = prelude.starts_with('@');
        let holds = rule && !["@font-face", "@page"].iter().any(|flat| prelude.starts_with(flat));
        if rule && self.stack.iter().any(|(_, holds)| *holds) {
            let start = self.span.start + at - prelude.len();
            self.nested.get_or_insert(start..self.span.start + at);
        }
        self.other_rules |= self.stack.is_empty() && !rule;
        // A hostile block of nothing but braces is a syntax error long before this.
        if self.stack.len() < 64 {
            self.stack.push((at, holds));
        } else {
            self.flaw(at, css, "rules nest deeper than 64 levels");
        }
        self.start = at + 1;
    }

    fn close(&mut self, at: usize, css: &mut Css) {
        self.declared(at, css);
        if self.stack.pop().is_none() {
            self.flaw(at, css, "this brace closes nothing");
        }
        let bytes = self.css.as_bytes();
        if bytes.get(at + 1) == Some(&b'}') {
            let start = self.span.start + at;
            css.double_braces.add(start..start + 2);
            if css.mended.len() < MENDED {
                css.mended.push(start);
            }
        }
        self.start = at + 1;
    }

    /// A declaration ended; it counts where no at-rule encloses it.
    fn declared(&self, end: usize, css: &mut Css) {
        if self.stack.is_empty() || self.stack.iter().any(|(_, holds)| *holds) {
            return;
        }
        if let Some((property, value)) = self.css.get(self.start..end).and_then(|text| text.split_once(':')) {
            let span = self.span.start + self.start..self.span.start + end;
            let lead = property.len() - property.trim_start().len();
            css.declaration(property.trim(), value.trim(), true, &(span.start + lead..span.end));
        }
    }

    fn flaw(&self, at: usize, css: &mut Css, message: &'static str) {
        if css.syntax.is_empty() {
            css.syntax_message = message;
        }
        css.syntax.add(self.span.start + at..self.span.start + at + 1);
    }
}
