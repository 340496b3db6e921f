//! A manifest as nearly every one is: a `key: value` or an `- item` on each line, maps and lists by indentation, nothing else of YAML. That takes
//! a quarter of what the parser takes, which was an eighth of an uncached `validate`.
//!
//! What is read here is what the parser reads, to the last byte of each place; a property test holds it to that. At the first doubt the whole text
//! is the parser's, and so is everything that is wrong.

use std::ops::Range;

use memchr::{memchr_iter, memchr2};

use super::super::node::{Node, Value};
use super::{Builder, Open, node};
use crate::untrusted::is_printable_ascii;

/// The tree, if the text has nothing but such lines.
pub(super) fn read(text: &str) -> Option<Node> {
    let mut lines = Lines { builder: Builder::default(), open: Vec::new(), alone: true };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        lines.line(at, line.strip_suffix('\n').unwrap_or(line))?;
        at += line.len();
    }
    lines.finish(text.len())
}

/// What a line belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Map,
    List,
}

struct Lines {
    builder: Builder,
    /// The open collections, and the blanks before their keys or dashes.
    open: Vec<(usize, Kind)>,
    /// Whether a collection must start in the next line: the line before was a key alone.
    alone: bool,
}

impl Lines {
    fn line(&mut self, at: usize, line: &str) -> Option<()> {
        let rest = line.trim_start_matches(' ');
        let indent = line.len() - rest.len();
        if rest.is_empty() || rest.starts_with('#') {
            return is_plain(rest).then_some(());
        }
        let start = at + indent;
        let Some(item) = rest.strip_prefix("- ") else {
            self.belongs(indent, Kind::Map, start)?;
            return self.entry(split(rest)?, start);
        };
        self.belongs(indent, Kind::List, start)?;
        let item = item.trim_start_matches(' ');
        let dash = rest.len() - item.len();
        let Some(entry) = split(item) else {
            return self.value(item.trim_end_matches(' '), start + dash);
        };
        self.start(indent + dash, Kind::Map, start + dash)?;
        self.entry(entry, start + dash)
    }

    /// Closes and opens collections, so that a line with so many blanks before it belongs to the innermost.
    fn belongs(&mut self, indent: usize, kind: Kind, start: usize) -> Option<()> {
        if std::mem::take(&mut self.alone) {
            let first = self.open.is_empty() && kind == Kind::Map;
            let deeper = self.open.last().is_some_and(|(above, _)| indent > *above);
            return if first || deeper { self.start(indent, kind, start) } else { None };
        }
        while self.open.last()?.0 > indent {
            self.open.pop();
            self.builder.close(start).ok()?;
        }
        (*self.open.last()? == (indent, kind)).then_some(())
    }

    fn start(&mut self, indent: usize, kind: Kind, start: usize) -> Option<()> {
        self.open.push((indent, kind));
        let open = match kind {
            Kind::Map => Open::map(start),
            Kind::List => Open::List(start, Vec::new()),
        };
        self.builder.open(&(start..start), open).ok()
    }

    fn entry(&mut self, (key, rest): (&str, &str), start: usize) -> Option<()> {
        self.scalar(key, true, start..start + key.len())?;
        let value = rest.trim_start_matches(' ');
        if value.is_empty() {
            self.alone = true;
            return Some(());
        }
        self.value(value.trim_end_matches(' '), start + key.len() + 1 + rest.len() - value.len())
    }

    fn value(&mut self, value: &str, start: usize) -> Option<()> {
        let bytes = start..start + value.len();
        if let Some(quote) = value.bytes().next().filter(|first| matches!(first, b'"' | b'\'')) {
            let inside = value.get(1..)?.strip_suffix(char::from(quote))?;
            let good = is_plain(inside) && memchr2(quote, b'\\', inside.as_bytes()).is_none();
            return if good { self.scalar(inside, false, bytes) } else { None };
        }
        let first = |c: char| c.is_alphanumeric() || matches!(c, '/' | '_' | '(' | '+');
        let good = value.starts_with(first) && is_plain(value) && !ends(value.as_bytes());
        if good { self.scalar(value, true, bytes) } else { None }
    }

    fn scalar(&mut self, text: &str, plain: bool, bytes: Range<usize>) -> Option<()> {
        self.builder.place(node(Value::Scalar { text: text.to_owned(), plain }, bytes)).ok()
    }

    fn finish(mut self, end: usize) -> Option<Node> {
        if self.alone {
            return None;
        }
        while self.open.pop().is_some() {
            self.builder.close(end).ok()?;
        }
        self.builder.root.filter(|_| self.builder.flaws.is_empty())
    }
}

/// A key that nobody doubts, and what follows its colon.
fn split(text: &str) -> Option<(&str, &str)> {
    let letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let length = text.bytes().take_while(letter).count();
    let (key, rest) = text.split_at(length);
    let rest = rest.strip_prefix(':').filter(|rest| rest.is_empty() || rest.starts_with(' '))?;
    (key.starts_with(|c: char| c.is_ascii_alphabetic()) && length <= LONGEST_KEY).then_some((key, rest))
}

/// Bytes of a key that nobody asks the parser about; it has a limit of its own.
const LONGEST_KEY: usize = 128;

/// Whether no character means anything to YAML wherever it stands in a value that has begun, `: ` and ` #` apart.
fn is_plain(text: &str) -> bool {
    is_printable_ascii(text) || text.chars().all(|c| matches!(c, ' '..='~') || (!c.is_ascii() && c.is_alphanumeric()))
}

/// Whether a value without quotes ends within these bytes, or is a key.
fn ends(value: &[u8]) -> bool {
    memchr_iter(b':', value).any(|at| value.get(at + 1).is_none_or(|byte| *byte == b' '))
        || memchr_iter(b'#', value).any(|at| at > 0 && value[at - 1] == b' ')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::parsed;
    use super::*;

    #[test]
    fn manifests_as_they_are_need_no_parser() {
        for text in [
            "name: Welcome\nsubject: \"Hello {{first_name}}\"\nsender_name: 'Zoë, of Example'\n",
            "# who\nname: a\n\nheaders:\n  X-SVC-Global-Language: en\n\nglobal_info:\n    team:  x \ncheck_links: 1",
            "a:\n  b:\n    c: d\n  e: f\ng: https://example.com/#top\n",
            "variables:\n  - order\n  - eta\ninline_attachments:\n  - path: logo.png\n    name: logo\n  - path: b.png\n",
        ] {
            assert!(read(text).is_some(), "{text}");
        }
    }

    fn of(list: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
        prop::sample::select(list)
    }

    /// Keys and items in any order and depth.
    fn lines() -> impl Strategy<Value = String> {
        let indent = || of(&["", "", "", "  ", "  ", "  ", "    ", "    ", "      ", " ", "   "]);
        let key =
            (indent(), of(&["", "", "", "- ", "- ", "-  "]), "[a-b]{1,2}", of(&[":\n", ":\n", ": c\n", ": \"d\"\n"]));
        let key = key.prop_map(|(a, b, c, d)| [a, b, &c, d].concat());
        let item = (indent(), of(&["- a\n", "- c:d\n", "- - a\n", "-\n", "\n", "# x\n", "x\n", "---\n", "? a\n"]));
        let item = item.prop_map(|(a, b)| [a, b].concat());
        prop::collection::vec(prop_oneof![3 => key, 1 => item], 0..7).prop_map(|lines| lines.concat())
    }

    /// Any value at the places that one can have.
    fn values() -> impl Strategy<Value = String> {
        let before = of(&["a: ", "a: ", "a:  ", "a:", "a : ", "a:\t", "a:\n  - ", "a:\n  - b: ", "a: b\n  ", ""]);
        let value = prop_oneof![
            "[a-z0-9/]{0,3}",
            "[a-c]{1,2}[:# -]{1,3}[a-c]{0,2}",
            "[-a-c:#\"' \\\\{}\\[\\],&*!|>%@`?é~.\t\u{85}\u{a0}\u{feff}\u{2028}😀]{0,4}",
            "\"[-a-c:#' \\\\é]{0,4}\" {0,1}",
            "'[-a-c:# \\\\é]{0,4}' {0,1}",
        ];
        let after =
            of(&["\n", "\n", "", "\n\n", " \n", "\r\n", " # x\n", "\n  # x\n", "\n---\n", "\n...\n", "\nb: c\n"]);
        (before, value, after).prop_map(|(before, value, after)| [before, &value, after].concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8_000))]

        #[test]
        fn what_is_read_here_the_parser_reads_too(text in prop_oneof![lines(), values()]) {
            if let Some(node) = read(&text) {
                prop_assert_eq!((Some(node), Vec::new()), parsed(&text));
            }
        }
    }
}
