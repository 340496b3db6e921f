//! `--only` and `--exclude`: which keys a command works on.

use std::collections::BTreeSet;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::{Exit, Failure, Terminal};
use crate::desired::Key;
use crate::untrusted::Untrusted;

/// Which templates to work on.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SelectionArgs {
    /// Only templates whose key matches; a folder's name takes all below it
    #[arg(long, value_name = "GLOB", env = "LETTERPRESS_ONLY", value_delimiter = ',')]
    pub only: Vec<String>,
    /// All but the templates whose key matches
    #[arg(long, value_name = "GLOB", env = "LETTERPRESS_EXCLUDE", value_delimiter = ',')]
    pub exclude: Vec<String>,
}

/// The globs, ready to match.
#[derive(Debug)]
pub struct Selection {
    /// The globs of `--only` as they were written.
    asked: Vec<String>,
    only: Option<GlobSet>,
    exclude: GlobSet,
    without: BTreeSet<Key>,
}

impl SelectionArgs {
    /// Reads the globs. `*` stays within one part of a key, `**` crosses; `billing` also matches `billing/receipt`.
    ///
    /// # Errors
    ///
    /// A [`Failure`] with exit 64 that names the glob.
    pub fn read(&self) -> Result<Selection, Failure> {
        let only = if self.only.is_empty() { None } else { Some(set(&self.only)?) };
        Ok(Selection { asked: self.only.clone(), only, exclude: set(&self.exclude)?, without: BTreeSet::new() })
    }
}

impl Selection {
    /// Whether a key is selected.
    #[must_use]
    pub fn selects(&self, key: &Key) -> bool {
        self.only.as_ref().is_none_or(|only| only.is_match(key.as_str()))
            && !self.exclude.is_match(key.as_str())
            && !self.without.contains(key)
    }

    /// Names the globs of `--only` that match none of these keys: most likely a slip, which must not look like a plan with nothing to do.
    pub fn warn<'a>(&self, terminal: &Terminal, keys: impl Iterator<Item = &'a Key>) {
        let Some(only) = &self.only else { return };
        // Each glob is in the set twice: as it is, and for all below it.
        let matched: BTreeSet<usize> = keys.flat_map(|key| only.matches(key.as_str())).map(|at| at / 2).collect();
        for (_, glob) in self.asked.iter().enumerate().filter(|(at, _)| !matched.contains(at)) {
            terminal.warn(format_args!("`--only {}` matches no template", Untrusted(glob).line()));
        }
    }

    /// The same without some keys.
    #[must_use]
    pub fn without(mut self, keys: BTreeSet<Key>) -> Self {
        self.without.extend(keys);
        self
    }

    /// Whether every key is selected.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.only.is_none() && self.exclude.is_empty() && self.without.is_empty()
    }
}

fn set(globs: &[String]) -> Result<GlobSet, Failure> {
    let wrong = |error: globset::Error| Failure::new(Exit::Usage, format!("not a glob: {error}"));
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let glob = glob.trim_end_matches('/');
        for pattern in [glob.to_owned(), format!("{glob}/**")] {
            set.add(GlobBuilder::new(&pattern).literal_separator(true).build().map_err(wrong)?);
        }
    }
    set.build().map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(only: &[&str], exclude: &[&str], key: &str) -> bool {
        let own = |globs: &[&str]| globs.iter().map(ToString::to_string).collect();
        let args = SelectionArgs { only: own(only), exclude: own(exclude) };
        args.read().unwrap().selects(&Key::new(key).unwrap())
    }

    #[test]
    fn a_folder_takes_all_below_it_and_a_star_stays_in_its_part() {
        assert!(selects(&["billing"], &[], "billing/receipt"));
        assert!(!selects(&["billing"], &[], "billing-old/receipt"));
        assert!(selects(&["*/receipt"], &[], "billing/receipt"));
        assert!(!selects(&["*"], &["billing"], "billing/receipt"));
        assert!(selects(&[], &["welcome"], "billing/receipt"));
    }
}
