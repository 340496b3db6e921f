//! The simple syntax.

use std::ops::Range;

use memchr::{memchr, memchr2};

use super::{Flaw, Foreign, MOST, Operator, Parsed, TOO_MANY, Tag};

/// Deepest nesting of tags.
const DEPTH: usize = 32;
/// Words that start a tag of another engine when a blank follows.
const KEYWORDS: [&str; 11] =
    ["if", "range", "with", "template", "define", "block", "unless", "each", "for", "let", "partial"];

/// Finds the tags of a text in one pass.
#[must_use]
pub fn simple(text: &str) -> Parsed<'_> {
    let mut parser = Parser { text, at: 0, open: Vec::new(), parsed: Parsed::default() };
    // A body has dozens, most other texts none.
    parser.parsed.tags.reserve((text.len() / 1024).min(MOST));
    parser.run();
    parser.parsed.tags.sort_unstable_by_key(|tag| tag.span.start);
    parser.parsed
}

/// Bytes of the blanks that a text starts with: nearly always none, and the first byte says so.
fn blanks(text: &str) -> usize {
    if text.as_bytes().first().is_some_and(u8::is_ascii_graphic) {
        return 0;
    }
    text.len() - text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{a0}').len()
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    /// Tags whose text is being read.
    open: Vec<Tag<'t>>,
    parsed: Parsed<'t>,
}

impl<'t> Parser<'t> {
    fn run(&mut self) {
        let bytes = self.text.as_bytes();
        loop {
            let Parsed { tags, flaws, foreign } = &self.parsed;
            if tags.len().max(flaws.len()).max(foreign.len()) >= MOST {
                self.flaw(self.at..self.text.ceil_char_boundary(self.at + 1).min(self.text.len()), TOO_MANY);
                break;
            }
            if self.open.is_empty() {
                match memchr(b'{', &bytes[self.at..]) {
                    Some(found) => self.at += found,
                    None => break,
                }
            } else {
                match memchr2(b'{', b'}', &bytes[self.at..]) {
                    Some(found) => self.at += found,
                    None => break,
                }
            }
            match &bytes[self.at..] {
                [b'{', b'{', ..] => self.start(),
                [b'}', b'}', ..] => {
                    self.at += 2;
                    if let Some(mut tag) = self.open.pop() {
                        tag.span.end = self.at;
                        self.parsed.tags.push(tag);
                    }
                }
                _ => self.at += 1,
            }
        }
        for tag in std::mem::take(&mut self.open) {
            self.flaw(tag.span.start..tag.name_span.end, "this tag never closes");
        }
    }

    fn start(&mut self) {
        let start = self.at;
        let rest = &self.text[start + 2..];
        match rest.as_bytes().first() {
            Some(b'{') => self.until(start, "}}}", Foreign::TripleBrace),
            Some(b'#' | b'/' | b'^' | b'>' | b'!' | b'&' | b'~' | b'@' | b'*') => {
                self.until(start, "}}", Foreign::Block);
            }
            Some(b'.' | b'$') => self.until(start, "}}", Foreign::Go),
            _ => self.name(start),
        }
    }

    /// A tag of another engine, up to its end.
    fn until(&mut self, start: usize, end: &str, kind: Foreign) {
        match super::window(&self.text[start..]).find(end) {
            Some(found) => {
                self.at = start + found + end.len();
                self.parsed.foreign.push((kind, start..self.at));
            }
            _ => {
                self.at = start + 2;
                self.flaw(start..start + 2, "this tag never closes");
            }
        }
    }

    fn name(&mut self, start: usize) {
        let after = start + 2;
        let rest = &self.text[after..];
        let lead = blanks(rest);
        let from = after + lead;
        let length =
            self.text[from..].bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')).count();
        let to = from + length;
        let tail = blanks(&self.text[to..]);
        let next = to + tail;
        let name = &self.text[from..to];
        let follows = &self.text[next..];
        let operator = match follows.as_bytes().first() {
            Some(b'|') => Some(Operator::Default),
            Some(b'?') => Some(Operator::Condition),
            _ => None,
        };
        let closes = follows.starts_with("}}");
        if closes || operator.is_some() {
            if name.is_empty() {
                self.at = next;
                if closes {
                    self.at += 2;
                }
                return self.flaw(start..self.at.max(start + 2), "a tag without a name");
            }
            if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                self.at = next + if closes { 2 } else { 1 };
                return self.flaw(start..self.at, "a name starts with a letter");
            }
            let tag = Tag {
                name,
                span: start..next + 2,
                name_span: from..to,
                operator,
                // A file is far smaller.
                tail: u32::try_from(tail).unwrap_or(u32::MAX),
                nested: !self.open.is_empty(),
            };
            if closes {
                self.at = next + 2;
                self.parsed.tags.push(tag);
            } else if self.open.len() >= DEPTH {
                self.at = next + 1;
                self.flaw(start..next, "tags nest deeper than 32 levels");
            } else {
                self.at = next + 1;
                self.open.push(tag);
            }
            return;
        }
        self.strange(start, name, next, follows);
    }

    /// Neither a tag nor clearly another engine's: what is it?
    fn strange(&mut self, start: usize, name: &str, next: usize, follows: &str) {
        let line = super::window(&self.text[start + 2..]);
        let inside = line.find("}}").map(|end| &line[..end]).filter(|inside| !inside.contains("{{"));
        let Some(inside) = inside else {
            self.at = next.max(start + 2);
            return self.flaw(start..self.at, "this tag never closes");
        };
        self.at = start + 2 + inside.len() + 2;
        let span = start..self.at;
        let dotted = follows.starts_with(['.', '[', '(']) && !name.is_empty();
        let keyword = KEYWORDS.contains(&name) && self.text[..next].ends_with(char::is_whitespace);
        if name == "else" && next > start + 2 + name.len() {
            self.parsed.foreign.push((Foreign::Block, span));
        } else if keyword {
            self.parsed.foreign.push((Foreign::Go, span));
        } else if dotted {
            self.parsed.foreign.push((Foreign::Dotted, span));
        } else {
            self.flaw(span, "this cannot be a name: Latin letters, digits, `_` or `-`, and a letter first");
        }
    }

    fn flaw(&mut self, span: Range<usize>, message: &'static str) {
        self.parsed.flaws.push(Flaw { span, message });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&str> {
        simple(text).tags.into_iter().map(|tag| tag.name).collect()
    }

    #[test]
    fn tags_defaults_conditions_and_nesting() {
        let text = "{{a}} {{b|there}} {{c?Hello {{d|you}}, {{e}}}} }} {{f}}";
        let parsed = simple(text);
        assert_eq!(parsed.flaws, []);
        let seen: Vec<_> = parsed.tags.iter().map(|tag| (&text[tag.span.clone()], tag.operator, tag.nested)).collect();
        assert_eq!(
            seen,
            [
                ("{{a}}", None, false),
                ("{{b|there}}", Some(Operator::Default), false),
                ("{{c?Hello {{d|you}}, {{e}}}}", Some(Operator::Condition), false),
                ("{{d|you}}", Some(Operator::Default), true),
                ("{{e}}", None, true),
                ("{{f}}", None, false),
            ]
        );
    }

    #[test]
    fn minified_css_has_no_tags() {
        assert_eq!(simple("@media print{.a{color:red}}@media x{.b{c:d}}.e{f:g}"), Parsed::default());
        assert_eq!(names("@media print{.a{color:{{c}}}}"), ["c"]);
    }

    #[test]
    fn blanks_are_kept_to_be_mended() {
        let text = "{{ a }}{{\u{a0}b}}{{c |x}}";
        let parsed = simple(text);
        assert_eq!(names(text), ["a", "b", "c"]);
        assert!(parsed.tags.iter().all(Tag::has_blanks) && parsed.flaws.is_empty());
    }

    #[test]
    fn what_cannot_be_a_tag_is_named() {
        for (text, says) in [
            ("{{name", "never closes"),
            ("{{name|x", "never closes"),
            ("a {{ b", "never closes"),
            ("{{}}", "without a name"),
            ("{{ }}", "without a name"),
            ("{{|x}}", "without a name"),
            ("{{1st}}", "starts with a letter"),
            ("{{first name}}", "cannot be a name"),
            ("{{é}}", "cannot be a name"),
            ("{{a\n}", "never closes"),
            ("{{#if x", "never closes"),
        ] {
            let parsed = simple(text);
            let flaw = parsed.flaws.first().unwrap_or_else(|| panic!("{text}: {parsed:?}"));
            assert!(flaw.message.contains(says), "{text}: {flaw:?}");
        }
    }

    #[test]
    fn a_text_of_nothing_but_tags_is_read_up_to_a_point_and_a_flaw_says_so() {
        for piece in ["{{a}}", "{{", "{{{a}}}", "{{a.b}}", "{{é"] {
            let text = piece.repeat(MOST * 3);
            let parsed = simple(&text);
            assert!(parsed.tags.len().max(parsed.flaws.len()).max(parsed.foreign.len()) <= MOST + 1, "{piece}");
            assert_eq!(parsed.flaws.last().map(|flaw| flaw.message), Some(TOO_MANY), "{piece}");
        }
    }

    #[test]
    fn another_engine_is_recognised() {
        for (text, kind) in [
            ("{{#if x}}", Foreign::Block),
            ("{{/if}}", Foreign::Block),
            ("{{else if x}}", Foreign::Block),
            ("{{{x}}}", Foreign::TripleBrace),
            ("{{a.b}}", Foreign::Dotted),
            ("{{a.b | upcase}}", Foreign::Dotted),
            ("{{.Go}}", Foreign::Go),
            ("{{range .Items}}", Foreign::Go),
        ] {
            let parsed = simple(text);
            assert_eq!(parsed.foreign.first().map(|(kind, _)| *kind), Some(kind), "{text}: {parsed:?}");
            assert_eq!(parsed.flaws, [], "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_and_spans_are_its_own(text in "[{}|?a-b \n#.é]{0,60}") {
            let parsed = simple(&text);
            for tag in &parsed.tags {
                assert!(text[tag.span.clone()].starts_with("{{") && text[tag.span.clone()].ends_with("}}"));
                assert_eq!(&text[tag.name_span.clone()], tag.name);
            }
            for flaw in &parsed.flaws {
                assert!(text.get(flaw.span.clone()).is_some());
            }
        }
    }
}
