//! The wrapper around foreign text, and one escaper per sink (safety §1.9, P8).
//!
//! Whatever comes from a manifest, a file name, a server's answer or the environment of a CI job is untrusted.
//! It reaches a person or a machine only through one of these methods, so that no escape sequence, workflow
//! command, Markdown, HTML or spreadsheet formula in it comes to life.

use std::fmt::{self, Write as _};

/// Foreign text. It has no `Display` of its own: the caller must name the sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Untrusted<'a>(pub &'a str);

/// Longest run of foreign text in a line for people; what is left out is counted.
const LINE_CHARS: usize = 400;

impl<'a> Untrusted<'a> {
    /// One line for a terminal or a plain log: control characters, bidirectional controls and line separators become visible escapes, and a
    /// workflow command at any place (`::`, `##[`, `##vso[`) is broken up with a zero-width-free backslash.
    #[must_use]
    pub fn line(self) -> Line<'a> {
        Line(self.0)
    }

    /// Several lines for a terminal: as [`Untrusted::line`], with `\n` and `\t` kept.
    #[must_use]
    pub fn lines(self) -> Lines<'a> {
        Lines(self.0)
    }

    /// The message part of a GitHub workflow command (`%`, CR and LF encoded).
    #[must_use]
    pub fn github_message(self) -> String {
        encode(&visible(self.0, true), &[('%', "%25"), ('\r', "%0D"), ('\n', "%0A")])
    }

    /// A property of a GitHub workflow command (also `:` and `,` encoded).
    #[must_use]
    pub fn github_property(self) -> String {
        encode(&visible(self.0, true), &[('%', "%25"), ('\r', "%0D"), ('\n', "%0A"), (':', "%3A"), (',', "%2C")])
    }

    /// Markdown text: every character that Markdown or HTML could take as its own is escaped, mentions and issue references stay dead.
    #[must_use]
    pub fn markdown(self) -> String {
        let mut out = String::with_capacity(self.0.len() + 8);
        for c in visible(self.0, false).chars() {
            match c {
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '@' => out.push_str("&#64;"),
                '#' => out.push_str("&#35;"),
                ':' => out.push_str("&#58;"),
                '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '+' | '-' | '.' | '!' | '|' | '~'
                | '=' | '$' | '^' => {
                    out.push('\\');
                    out.push(c);
                }
                _ => out.push(c),
            }
        }
        // A bare web address would still become a link: `www\.` does not.
        out
    }

    /// A fenced code block in Markdown whose fence is longer than any run of backticks inside.
    #[must_use]
    pub fn markdown_block(self, language: &str) -> String {
        let text = visible(self.0, false);
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        let end = if text.ends_with('\n') { "" } else { "\n" };
        format!("{fence}{language}\n{text}{end}{fence}\n")
    }

    /// HTML text or a quoted attribute.
    #[must_use]
    pub fn html(self) -> String {
        encode(
            &visible(self.0, false),
            &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")],
        )
    }

    /// One CSV field: quoted, and a leading formula sign is defused for spreadsheets.
    #[must_use]
    pub fn csv(self) -> String {
        let risky = self.0.starts_with(['=', '+', '-', '@', '\t', '\r']);
        let text = self.0.replace('"', "\"\"");
        let quoted = text.contains([',', '"', '\n', '\r']) || risky;
        match (quoted, risky) {
            (true, true) => format!("\"'{text}\""),
            (true, false) => format!("\"{text}\""),
            _ => text,
        }
    }
}

/// A serialized JSON text in which nothing comes to life on a terminal or in a CI log: control and bidirectional characters and the brackets
/// of workflow commands become `\\u` escapes. The value stays the same, since outside of strings JSON has none of them.
#[must_use]
pub fn inert_json(text: &str) -> std::borrow::Cow<'_, str> {
    let plain = |c: char| !is_control(c) || matches!(c, '\n' | '\t');
    if text.chars().all(plain) && !text.contains("##[") && !text.contains("##vso[") {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '[' if out.ends_with("##") || out.ends_with("##vso") => out.push_str("\\u005b"),
            c if plain(c) => out.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.into()
}

/// See [`Untrusted::line`].
#[derive(Debug, Clone, Copy)]
pub struct Line<'a>(&'a str);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = visible(self.0, true);
        let total = text.chars().count();
        if total <= LINE_CHARS {
            return f.pad(&text);
        }
        let head: String = text.chars().take(LINE_CHARS).collect();
        write!(f, "{head}… ({} more)", total - LINE_CHARS)
    }
}

/// See [`Untrusted::lines`].
#[derive(Debug, Clone, Copy)]
pub struct Lines<'a>(&'a str);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(self.0, false))
    }
}

/// Whether a character could move a cursor, reorder a line or hide.
#[must_use]
pub fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}'..='\u{ffff}' | '\u{e0000}'..='\u{e007f}' | '\u{061c}')
}

/// Whether a text is nothing but printable ASCII, as most are.
#[must_use]
pub fn is_printable_ascii(text: &str) -> bool {
    // Without a way out in between, it is done for many bytes at once.
    text.bytes().fold(true, |all, byte| all & matches!(byte, b' '..=b'~'))
}

/// Controls made visible; with `one_line` also line breaks and tabs. Workflow commands are broken up.
fn visible(text: &str, one_line: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' if !one_line => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '[' if out.ends_with("##") || out.ends_with("##vso") => out.push_str("\\["),
            ':' if out.ends_with(':') => out.push_str("\\:"),
            c if is_control(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

fn encode(text: &str, table: &[(char, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match table.iter().find(|(from, _)| *from == c) {
            Some((_, to)) => out.push_str(to),
            None => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_foreign_comes_to_life_in_a_line() {
        let hostile = "a\u{1b}[31m\r\n::error::x ##[set-output]y ##vso[task]z \u{202e}";
        let line = Untrusted(hostile).line().to_string();
        assert!(!line.contains(is_control), "{line:?}");
        assert!(!line.contains("::") && !line.contains("##[") && !line.contains("##vso["), "{line}");
    }

    #[test]
    fn markdown_cannot_break_out() {
        let text = Untrusted("</details><script> **x** [a](http://b) @me `c`").markdown();
        assert!(!text.contains('<') && !text.contains('@'));
        let block = Untrusted("```\nout").markdown_block("diff");
        assert!(block.starts_with("````diff\n"));
    }

    #[test]
    fn a_formula_is_defused_in_csv() {
        assert_eq!(Untrusted("=1+1").csv(), "\"'=1+1\"");
        assert_eq!(Untrusted("plain").csv(), "plain");
    }
}
