//! Elements whose content is text and not markup: up to their own end tag, whatever stands there.

use memchr::{memchr, memchr2, memmem};

use super::Subject;
use super::references::{self, Within};
use super::tokens::{Reader, ends_name};

/// The elements whose content is text and not markup.
pub(super) fn raw(name: &str) -> &'static str {
    match name {
        "style" => "style",
        "script" => "script",
        "title" => "title",
        "textarea" => "textarea",
        "noscript" => "noscript",
        "iframe" => "iframe",
        "xmp" => "xmp",
        "noembed" => "noembed",
        "plaintext" => "plaintext",
        _ => "",
    }
}

impl<S: Subject> Reader<'_, '_, S> {
    /// The text of a raw element, and its end tag.
    pub(super) fn raw_text(&mut self) {
        let start = self.at;
        let end = match self.raw {
            "plaintext" => None,
            "script" => self.script_end(start),
            _ => self.raw_end(start),
        };
        let to = end.unwrap_or(self.bytes.len());
        let span = start..to;
        let text = &self.html[span.clone()];
        let within = match self.raw {
            "title" | "textarea" => Within::Title,
            _ => Within::Raw,
        };
        let plain = !self.odd && (within == Within::Raw || memchr(b'&', text.as_bytes()).is_none());
        if plain && !text.is_empty() {
            self.subject.text(text, &span, self.raw);
        } else if !text.is_empty() {
            self.scratch.clear();
            references::decode(text, within, &mut self.scratch);
            self.subject.text(&self.scratch, &span, self.raw);
        }
        match end {
            Some(at) => self.end_tag(at),
            None => self.at = to,
        }
    }

    /// Whether the end tag of the raw element stands at a `<`.
    fn closes(&self, at: usize) -> bool {
        let Some(rest) = self.bytes[at..].strip_prefix(b"</") else { return false };
        let name = self.raw.as_bytes();
        rest.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name))
            && rest.get(name.len()).copied().is_some_and(ends_name)
    }

    fn raw_end(&self, from: usize) -> Option<usize> {
        memmem::find_iter(&self.bytes[from..], b"</").map(|found| from + found).find(|at| self.closes(*at))
    }

    /// Where a script ends. Within `<!--` and `-->` an inner `<script>` hides the next end tag, for browsers of long ago.
    fn script_end(&self, mut at: usize) -> Option<usize> {
        let (mut escaped, mut hidden) = (false, false);
        loop {
            let rest = &self.bytes[at..];
            at += if escaped { memchr2(b'<', b'-', rest)? } else { memchr(b'<', rest)? };
            let rest = &self.bytes[at..];
            if rest.starts_with(b"-") {
                let dashes = rest.iter().take_while(|byte| **byte == b'-').count();
                at += dashes;
                if dashes >= 2 && self.bytes.get(at) == Some(&b'>') {
                    (escaped, hidden) = (false, false);
                }
            } else if !escaped {
                if self.closes(at) {
                    return Some(at);
                }
                escaped = rest.starts_with(b"<!--");
                at += if escaped { 2 } else { 1 };
            } else if !hidden && self.closes(at) {
                return Some(at);
            } else {
                let lead = if hidden { "</" } else { "<" };
                if !rest.starts_with(lead.as_bytes()) {
                    at += 1;
                    continue;
                }
                let word = &rest[lead.len()..];
                let length = word.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
                at += lead.len() + length;
                if word.get(length).copied().is_some_and(ends_name) && (hidden || length > 0) {
                    at += 1;
                    if word[..length].eq_ignore_ascii_case(b"script") {
                        hidden = !hidden;
                    }
                }
            }
        }
    }
}
