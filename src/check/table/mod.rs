//! The table of rules: every row that `explain`, `docs/rules.md`, SARIF and `[lint]` speak of.

mod amp;
mod html;
mod images;
mod lint;
mod profiles;
mod service;
mod tags;
mod text;

use crate::diagnostic::Rule;

/// Makes the rows of one group: a constant per rule, and the list of them in the order of the file.
macro_rules! rules {
    ($group:literal: $(
        $id:ident $name:literal $severity:ident $profile:ident $($fix:ident)?
        $summary:literal
        why $why:literal
        wrong $wrong:literal
        right $right:literal
        source $source:literal
    )*) => {
        use crate::diagnostic::{Profile, Rule, Severity};
        $(
            #[doc = $summary]
            pub static $id: Rule = Rule {
                name: $name,
                group: $group,
                severity: Severity::$severity,
                profile: Profile::$profile,
                fix: $crate::check::table::is_fix!($($fix)?),
                summary: $summary,
                why: $why,
                wrong: $wrong,
                right: $right,
                source: $source,
            };
        )*
        /// The rows of this group.
        pub(in crate::check::table) static ALL: &[&Rule] = &[$(&$id),*];
    };
}
macro_rules! is_fix {
    () => {
        false
    };
    (fix) => {
        true
    };
}
pub(crate) use {is_fix, rules};

pub use self::amp::*;
pub use html::*;
pub use images::*;
pub use lint::*;
pub use profiles::{a11y::*, strict::*};
pub use service::*;
pub use tags::*;
pub use text::*;

/// The groups, in the order of the documentation.
static GROUPS: &[&[&Rule]] = &[
    service::ALL,
    tags::ALL,
    html::ALL,
    images::ALL,
    text::ALL,
    amp::ALL,
    profiles::a11y::ALL,
    profiles::strict::ALL,
    lint::ALL,
];

/// Every rule, group by group.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    GROUPS.iter().flat_map(|group| group.iter().copied())
}

/// The rule with a name.
#[must_use]
pub fn rule(name: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_whole_and_its_name_is_its_own() {
        let mut names = std::collections::BTreeSet::new();
        for rule in all() {
            assert!(names.insert(rule.name), "{} stands twice", rule.name);
            assert!(
                rule.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
                "{}",
                rule.name
            );
            for text in [rule.summary, rule.why, rule.wrong, rule.right, rule.source] {
                assert!(!text.trim().is_empty(), "{}", rule.name);
            }
            // A literal may have one: `!important`.
            let prose = |text: &str| text.split('`').step_by(2).collect::<String>();
            let text = prose(rule.summary) + &prose(rule.why);
            assert!(!text.contains('!'), "{}: no exclamation marks", rule.name);
        }
    }
}
