//! Key → id, in the forms that application code reads; and with `--variables` what a sender brings for each template, as types.

mod go;
mod names;
mod python;
mod rust;
mod typescript;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::check::Contract;
use crate::desired::{Id, Key};
use crate::untrusted::{Untrusted, inert_json};

pub use names::SameName;

/// The forms of `ids --format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people
    Table,
    /// `{"format": 1, "environment": …, "ids": {key: id}}`
    Json,
    /// `LETTERPRESS_ID_BILLING_RECEIPT=…`
    Dotenv,
    /// A `const` object and its key type
    Typescript,
    /// A dictionary
    Python,
    /// A map
    Go,
    /// Constants
    Rust,
}

/// What a template takes: its variables, or anything at all.
enum Takes<'a> {
    /// Another engine than the simple one: the template does not tell.
    Anything,
    /// The variables that a sender brings, by name, and whether each is required. One that the template has a value for is no business of
    /// the sender.
    These(Vec<(&'a str, bool)>),
}

/// Renders the ids.
///
/// # Errors
///
/// [`SameName`] when two keys cannot be told apart in the form.
pub fn render(format: Format, environment: &str, ids: &BTreeMap<Key, Id>) -> Result<String, SameName> {
    Ok(match format {
        Format::Table => {
            let width = ids.keys().map(|key| key.as_str().chars().count()).max().unwrap_or(0);
            lines(ids.iter().map(|(key, id)| format!("{:<width$}  {id}", Untrusted(key.as_str()).line())))
        }
        Format::Json => {
            let value = serde_json::json!({ "format": 1, "environment": environment, "ids": ids });
            format!("{}\n", inert_json(&format!("{value:#}")))
        }
        Format::Dotenv => {
            let names = names::of_keys(ids.keys(), |key| format!("LETTERPRESS_ID_{}", names::upper(key)))?;
            lines(names.iter().filter_map(|(name, key)| Some(format!("{name}={}", ids.get(*key)?))))
        }
        Format::Typescript => typescript::ids(ids),
        Format::Python => python::ids(ids),
        Format::Go => go::ids(ids),
        Format::Rust => rust::ids(ids)?,
    })
}

/// Renders the types of the variables, to stand below what [`render`] writes; `None` for a form that has no types.
///
/// # Errors
///
/// [`SameName`] when two keys, or two variables of a template, cannot be told apart in the form.
pub fn variables(
    format: Format,
    ids: &BTreeMap<Key, Id>,
    contracts: &BTreeMap<Key, Contract>,
) -> Result<Option<String>, SameName> {
    let takes = |key: &Key| match contracts.get(key).filter(|contract| contract.engine == "simple") {
        None => Takes::Anything,
        Some(contract) => {
            let open = contract.variables.iter().filter(|(_, variable)| variable.value.is_none());
            Takes::These(open.map(|(name, variable)| (name.as_str(), variable.required)).collect())
        }
    };
    let rows: Vec<(&Key, Takes<'_>)> = ids.keys().map(|key| (key, takes(key))).collect();
    Ok(match format {
        Format::Typescript => Some(typescript::variables(&rows)),
        Format::Python => Some(python::variables(&rows)?),
        Format::Go => Some(go::variables(&rows)?),
        Format::Rust => Some(rust::variables(&rows)?),
        Format::Table | Format::Json | Format::Dotenv => None,
    })
}

fn lines(rows: impl Iterator<Item = String>) -> String {
    rows.fold(String::new(), |mut out, row| {
        let _ = writeln!(out, "{row}");
        out
    })
}

/// A string literal of TypeScript, Python and Go alike: what JSON writes.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
