//! Two environments side by side: for a person, and as JSON.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use schemars::JsonSchema;
use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use super::plan_detail::{self, Layout};
use super::plan_text::count;
use crate::cli::diff::Difference;
use crate::cli::terminal::{BOLD, DIM, GREEN, RED, YELLOW};
use crate::desired::Key;
use crate::plan::{Changes, Detail};
use crate::untrusted::Untrusted;

/// Renders the differences for a person.
#[must_use]
pub fn render(old: &str, new: &str, differences: &BTreeMap<Key, Difference>, same: usize, layout: Layout) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out, old, new, differences, same, layout);
    out
}

fn write(
    out: &mut String,
    old: &str,
    new: &str,
    differences: &BTreeMap<Key, Difference>,
    same: usize,
    layout: Layout,
) -> fmt::Result {
    let (old, new) = (Untrusted(old).line(), Untrusted(new).line());
    if differences.is_empty() {
        return writeln!(
            out,
            "{GREEN}No difference{GREEN:#} between `{old}` and `{new}`: {}.",
            count(same, "template")
        );
    }
    writeln!(out, "{BOLD}{old} → {new}{BOLD:#}\n")?;
    let width = differences.keys().map(|key| key.as_str().width()).max().unwrap_or(0).min(44);
    for (key, difference) in differences {
        let key = format!("{:<width$}", Untrusted(key.as_str()).line());
        match difference {
            Difference::OnlyOld => writeln!(out, "  {RED}- {key}{RED:#}  {DIM}only in {old}{DIM:#}")?,
            Difference::OnlyNew => writeln!(out, "  {GREEN}+ {key}{GREEN:#}  {DIM}only in {new}{DIM:#}")?,
            Difference::Unknown => {
                writeln!(
                    out,
                    "  {YELLOW}? {key}{YELLOW:#}  {DIM}an update was cut off: the next apply sends it again{DIM:#}"
                )?;
            }
            Difference::Changed(None) => {
                writeln!(out, "  {YELLOW}~ {key}{YELLOW:#}  {DIM}differs; the contents are not kept{DIM:#}")?;
            }
            Difference::Changed(Some(changes)) => {
                writeln!(out, "  {YELLOW}~ {}{YELLOW:#}", key.trim_end())?;
                plan_detail::write(out, &Detail::Changed(changes.clone()), layout)?;
            }
        }
    }
    writeln!(out, "\n{}, {same} the same.", count(differences.len(), "difference"))
}

/// What two environments have live.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "letterpress diff", rename = "diff")]
pub struct DiffJson {
    /// 1. Fields may be added within a format; none is removed or changes its meaning.
    format: u32,
    /// The first environment.
    old: String,
    /// The second environment.
    new: String,
    /// Templates that are the same in both.
    same: usize,
    /// What differs, by key.
    differences: Vec<DifferenceJson>,
}

/// How one template differs.
#[derive(Debug, Serialize, JsonSchema)]
struct DifferenceJson {
    /// The template's key.
    key: String,
    /// `only_old`, `only_new`, `changed`, or `unknown` where an update was cut off.
    difference: &'static str,
    /// What differs, where both contents are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Changes>,
}

/// The differences as the value that is printed.
#[must_use]
pub fn json(old: &str, new: &str, differences: &BTreeMap<Key, Difference>, same: usize) -> DiffJson {
    let row = |(key, difference): (&Key, &Difference)| {
        let (difference, changes) = match difference {
            Difference::OnlyOld => ("only_old", None),
            Difference::OnlyNew => ("only_new", None),
            Difference::Unknown => ("unknown", None),
            Difference::Changed(changes) => ("changed", changes.clone()),
        };
        DifferenceJson { key: key.to_string(), difference, changes }
    };
    let (old, new) = (old.to_owned(), new.to_owned());
    DiffJson { format: 1, old, new, same, differences: differences.iter().map(row).collect() }
}
