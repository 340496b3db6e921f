//! Words that are rare in a mail and that several rules look for: one pass over a body finds which of them there are.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::packed::Searcher;
use memchr::memmem::Finder;

use super::allow;

/// Which rare words a body has as it is written. What is decoded of it may have one all the same.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rare {
    /// Where the first word of a placeholder stands; behind the end where there is none.
    pub placeholder: usize,
    /// `cid:`
    pub cid: bool,
    /// `var(--`
    pub variable: bool,
    /// `letterpress-allow`
    pub allow: bool,
}

/// The words that [`placeholder`] looks for.
const PLACEHOLDERS: [&str; 5] = ["ipsum", "Ipsum", "IPSUM", "TODO:", "FIXME"];

/// Looks for all of them at once. Nothing on a processor without vectors.
static ALL: LazyLock<Option<Searcher>> =
    LazyLock::new(|| Searcher::new(PLACEHOLDERS.into_iter().chain(["cid:", "var(--", allow::WORD])));

static EACH: LazyLock<[Finder<'static>; 5]> = LazyLock::new(|| PLACEHOLDERS.map(Finder::new));

impl Rare {
    /// Looks through a body.
    #[must_use]
    pub fn of(html: &str) -> Self {
        // All of them are looked for wherever they could be.
        let Some(all) = &*ALL else { return Self { placeholder: 0, cid: true, variable: true, allow: true } };
        let mut rare = Self { placeholder: usize::MAX, cid: false, variable: false, allow: false };
        for found in all.find_iter(html) {
            match found.pattern().as_usize() {
                5 => rare.cid = true,
                6 => rare.variable = true,
                7 => rare.allow = true,
                _ => rare.placeholder = rare.placeholder.min(found.start()),
            }
        }
        rare
    }
}

/// A word that was meant to be replaced, and its bytes.
#[must_use]
pub fn placeholder(text: &str) -> Option<(&'static str, Range<usize>)> {
    let bytes = text.as_bytes();
    let [words @ .., todo, fixme] = &*EACH;
    // The rarer of the two words is looked for first.
    for ipsum in words {
        let lorem = |at: &usize| at.checked_sub(6).and_then(|from| bytes.get(from..*at));
        let mut places = ipsum.find_iter(bytes);
        if let Some(at) = places.find(|at| lorem(at).is_some_and(|word| word.eq_ignore_ascii_case(b"lorem "))) {
            return Some(("lorem ipsum", at - 6..at + 5));
        }
    }
    let found = |word: &Finder<'_>| word.find(bytes).map(|at| at..at + word.needle().len());
    [(todo, "TODO:"), (fixme, "FIXME")].into_iter().find_map(|(word, name)| Some((name, found(word)?)))
}
