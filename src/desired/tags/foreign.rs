//! Syntax of engines that the service does not have, recognised by its delimiters.

use std::ops::Range;

use memchr::memmem;

/// A syntax that the simple engine sends as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Foreign {
    /// `{{#if x}}`, `{{/if}}`, `{{> part}}`
    Block,
    /// `{{{x}}}`
    TripleBrace,
    /// `{{a.b}}`
    Dotted,
    /// `{{.Name}}`, `{{range .Items}}`
    Go,
    /// `{% if %}`
    Percent,
    /// `*|NAME|*`
    StarPipe,
    /// `<% %>`
    AnglePercent,
    /// `[[x]]`
    Bracket,
    /// `${x}`
    Dollar,
}

impl Foreign {
    /// The syntax as people know it.
    #[must_use]
    pub fn example(self) -> &'static str {
        match self {
            Self::Block => "{{#if}}",
            Self::TripleBrace => "{{{x}}}",
            Self::Dotted => "{{a.b}}",
            Self::Go => "{{.Name}}",
            Self::Percent => "{% %}",
            Self::StarPipe => "*|X|*",
            Self::AnglePercent => "<% %>",
            Self::Bracket => "[[x]]",
            Self::Dollar => "${x}",
        }
    }
}

/// One syntax in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outside {
    /// Which one.
    pub kind: Foreign,
    /// The bytes of the first.
    pub first: Range<usize>,
    /// How many there are.
    pub count: usize,
}

/// Finds the syntaxes that do not start with `{{`: the first place of each, and how many there are.
#[must_use]
pub fn outside_braces(text: &str) -> Vec<Outside> {
    let mut found = Vec::new();
    if !may_be(text.as_bytes()) {
        return found;
    }
    let any = |_: &str| true;
    let star = |inside: &str| {
        !inside.is_empty()
            && inside.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | ' ' | ',' | '.' | '-'))
    };
    let name = |inside: &str| {
        let inside = inside.trim();
        inside.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && inside.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-'))
    };
    all(text, "{%", "%}", Foreign::Percent, any, &mut found);
    all(text, "*|", "|*", Foreign::StarPipe, star, &mut found);
    all(text, "<%", "%>", Foreign::AnglePercent, any, &mut found);
    all(text, "[[", "]]", Foreign::Bracket, name, &mut found);
    all(text, "${", "}", Foreign::Dollar, name, &mut found);
    found
}

/// Whether any of them may be there: nearly no text has one, and this is one look instead of five.
fn may_be(bytes: &[u8]) -> bool {
    let opens = |at: usize| match bytes[at] {
        b'%' => at > 0 && matches!(bytes[at - 1], b'{' | b'<'),
        b'|' => at > 0 && bytes[at - 1] == b'*',
        _ => bytes.get(at + 1) == Some(&b'{'),
    };
    memchr::memchr3_iter(b'%', b'|', b'$', bytes).any(opens)
        || memchr::memchr_iter(b'[', bytes).any(|at| bytes.get(at + 1) == Some(&b'['))
}

fn all(text: &str, open: &str, close: &str, kind: Foreign, is: impl Fn(&str) -> bool, found: &mut Vec<Outside>) {
    let mut seen: Option<Outside> = None;
    let mut open_until = 0;
    for start in memmem::find_iter(text.as_bytes(), open.as_bytes()) {
        let from = start + open.len();
        let window = super::window(&text[from..]);
        // A hostile text opens at every byte and never closes: what was looked through is not looked through again.
        let seen_through = text.floor_char_boundary(open_until.max(from)).max(from) - from;
        let Some(end) = window.get(seen_through..).and_then(|rest| rest.find(close)).map(|end| seen_through + end)
        else {
            open_until = from + window.len().saturating_sub(close.len() - 1);
            continue;
        };
        if is(&window[..end]) {
            let first = start..from + end + close.len();
            seen.get_or_insert(Outside { kind, first, count: 0 }).count += 1;
        }
    }
    found.extend(seen);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_syntax_is_found_and_lookalikes_are_not() {
        let kinds = |text: &str| outside_braces(text).into_iter().map(|outside| outside.kind).collect::<Vec<_>>();
        assert_eq!(
            kinds("{% if x %} *|FNAME|* <%= x %> [[name]] ${name}"),
            [Foreign::Percent, Foreign::StarPipe, Foreign::AnglePercent, Foreign::Bracket, Foreign::Dollar]
        );
        assert_eq!(kinds("width:100%} [[1], [2]] $5 ${ } *|* 5 <% 3 a[b[0]] [[if mso]>"), []);
    }
}
