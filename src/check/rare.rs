//! Words that are rare in a mail and that several rules look for: one pass over a body finds which of them there are.

use std::sync::LazyLock;

use aho_corasick::packed::Searcher;
use memchr::memmem::Finder;

/// Which rare words a body has as it is written. What is decoded of it may have one all the same.
#[derive(Debug, Clone, Copy)]
pub struct Rare {
    /// Where the first word of a placeholder stands; behind the end where there is none.
    pub placeholder: usize,
    /// `cid:`
    pub cid: bool,
    /// `var(--`
    pub variable: bool,
}

/// The words that [`placeholder`] looks for.
const PLACEHOLDERS: [&str; 4] = ["ipsum", "IPSUM", "TODO:", "FIXME"];

/// Looks for all of them at once. Nothing on a processor without vectors.
static ALL: LazyLock<Option<Searcher>> =
    LazyLock::new(|| Searcher::new(PLACEHOLDERS.into_iter().chain(["cid:", "var(--"])));

static EACH: LazyLock<[Finder<'static>; 4]> = LazyLock::new(|| PLACEHOLDERS.map(Finder::new));

impl Rare {
    /// Looks through a body.
    #[must_use]
    pub fn of(html: &str) -> Self {
        // All of them are looked for wherever they could be.
        let Some(all) = &*ALL else { return Self { placeholder: 0, cid: true, variable: true } };
        let mut rare = Self { placeholder: usize::MAX, cid: false, variable: false };
        for found in all.find_iter(html) {
            match found.pattern().as_usize() {
                4 => rare.cid = true,
                5 => rare.variable = true,
                _ => rare.placeholder = rare.placeholder.min(found.start()),
            }
        }
        rare
    }
}

/// A word that was meant to be replaced.
#[must_use]
pub fn placeholder(text: &str) -> Option<&'static str> {
    let bytes = text.as_bytes();
    let [ipsum, upper, todo, fixme] = &*EACH;
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
