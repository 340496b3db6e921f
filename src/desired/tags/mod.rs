//! Merge tags: the simple syntax `{{name}}`, `{{name|text}}`, `{{name?text}}`, nested, no blanks (`interface §2.5`, silent.md), and
//! the balance of the other engines' syntax.
//!
//! A lone `}}` never pairs, since minified CSS is full of them.

mod balance;
mod foreign;
mod simple;

use std::ops::Range;

pub use balance::{liquid, velocity};
pub use foreign::{Foreign, Outside, outside_braces};
pub use simple::simple;

/// What substitutes the tags, as `X-SVC-Template-Engine` says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Engine {
    /// `{{name}}`
    #[default]
    Simple,
    /// `$name`, `#if … #end`; only balance is checked.
    Velocity,
    /// `{{ name }}`, `{% if %} … {% endif %}`; only balance is checked.
    Liquid,
    /// Nothing is substituted.
    None,
}

/// The header that chooses the engine (`interface §2.5`).
pub const ENGINE_HEADER: &str = "X-SVC-Template-Engine";

/// Names that the service itself fills in (silent.md).
pub const KNOWN: [&str; 2] = ["UnsubscribeUrl", "to_name"];

impl Engine {
    /// Every word that the header may have.
    pub const WORDS: [&'static str; 4] = ["simple", "velocity", "liquid", "none"];

    /// The engine of a header's value, without regard to case.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        let at = Self::WORDS.iter().position(|known| word.trim().eq_ignore_ascii_case(known))?;
        [Self::Simple, Self::Velocity, Self::Liquid, Self::None].get(at).copied()
    }

    /// The word in the header.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Velocity => "velocity",
            Self::Liquid => "liquid",
            Self::None => "none",
        }
    }
}

/// A tag of the simple syntax.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag<'t> {
    /// The name in it.
    pub name: &'t str,
    /// Bytes from `{{` to `}}`.
    pub span: Range<usize>,
    /// Bytes of the name.
    pub name_span: Range<usize>,
    /// `|` or `?`.
    pub operator: Option<Operator>,
    /// Bytes of the blanks after the name.
    pub tail: u32,
    /// Whether it stands within the text of another tag.
    pub nested: bool,
}

impl Tag<'_> {
    /// Whether there are blanks around the name.
    #[must_use]
    pub fn has_blanks(&self) -> bool {
        self.blanks().iter().any(|blanks| !blanks.is_empty())
    }

    /// Bytes of the blanks before and after the name; mostly there are none.
    #[must_use]
    pub fn blanks(&self) -> [Range<usize>; 2] {
        let end = self.name_span.end;
        [self.span.start + 2..self.name_span.start, end..end + self.tail as usize]
    }
}

/// What follows a tag's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `{{name|text}}`: the text where the name has no value.
    Default,
    /// `{{name?text}}`: the text where the name has a value.
    Condition,
}

/// A tag that cannot be one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// The bytes.
    pub span: Range<usize>,
    /// What is wrong, as a plain sentence.
    pub message: &'static str,
}

/// All tags of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parsed<'t> {
    /// The tags, by their start.
    pub tags: Vec<Tag<'t>>,
    /// What looks like a tag and is none.
    pub flaws: Vec<Flaw>,
    /// Tags of another engine.
    pub foreign: Vec<(Foreign, Range<usize>)>,
}

/// Longest piece between two delimiters that is taken for one tag; it keeps a hostile text from being read over and over.
const LONGEST: usize = 400;

/// Tags, and mistakes of one sort, that are kept of one text. No mail has as many, and a hostile one has millions: what follows is not read,
/// and a flaw says so.
pub const MOST: usize = 20_000;

/// What the flaw says.
pub const TOO_MANY: &str = "there are more than 20,000 merge tags; what follows is not read";

/// The rest of the line, as far as one tag may reach.
fn window(rest: &str) -> &str {
    let near = &rest[..rest.floor_char_boundary(LONGEST)];
    near.split('\n').next().unwrap_or_default()
}
