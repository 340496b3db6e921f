//! Key → id, in the forms that application code reads.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::desired::{Id, Key};
use crate::untrusted::Untrusted;

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
    /// A dictionary and constants
    Python,
    /// Constants and a map
    Go,
    /// Constants and a lookup
    Rust,
}

/// Two keys that become the same name in the form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the keys `{first}` and `{second}` would both be called `{name}`")]
pub struct SameName {
    first: Key,
    second: Key,
    name: String,
}

/// Renders the ids.
///
/// # Errors
///
/// [`SameName`] when two keys cannot be told apart in the form.
pub fn render(format: Format, environment: &str, ids: &BTreeMap<Key, Id>) -> Result<String, SameName> {
    let mut out = String::new();
    let generated = |sign: &str| format!("{sign} Made by `letterpress ids`: do not edit.\n");
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    // Writing to a string cannot fail.
    let _ = match format {
        Format::Table => {
            let width = ids.keys().map(|key| key.as_str().chars().count()).max().unwrap_or(0);
            ids.iter().try_for_each(|(key, id)| writeln!(out, "{:<width$}  {id}", Untrusted(key.as_str()).line()))
        }
        Format::Json => {
            let value = serde_json::json!({ "format": 1, "environment": environment, "ids": ids });
            writeln!(out, "{value:#}")
        }
        Format::Dotenv => {
            let names = names(ids, |key| format!("LETTERPRESS_ID_{}", upper(key)))?;
            names.iter().try_for_each(|(name, id)| writeln!(out, "{name}={id}"))
        }
        Format::Typescript => {
            out += &generated("//");
            out += "export const templateIds = {\n";
            let rows = ids.iter().try_for_each(|(key, id)| writeln!(out, "  {}: \"{id}\",", quoted(key.as_str())));
            out += "} as const;\n\nexport type TemplateKey = keyof typeof templateIds;\n";
            rows
        }
        Format::Python => {
            out += &generated("#");
            out += "TEMPLATE_IDS = {\n";
            let rows = ids.iter().try_for_each(|(key, id)| writeln!(out, "    {}: \"{id}\",", quoted(key.as_str())));
            out += "}\n";
            rows
        }
        Format::Go => {
            out += &generated("//");
            out += "package templates\n\n// IDs maps a template's key to its id.\nvar IDs = map[string]string{\n";
            let width = ids.keys().map(|key| quoted(key.as_str()).chars().count()).max().unwrap_or(0);
            let rows = ids.iter().try_for_each(|(key, id)| {
                let key = quoted(key.as_str());
                let gap = " ".repeat(width - key.chars().count());
                writeln!(out, "\t{key}: {gap}\"{id}\",")
            });
            out += "}\n";
            rows
        }
        Format::Rust => {
            out += &generated("//");
            let names = names(ids, constant)?;
            let by_id: BTreeMap<&Id, &Key> = ids.iter().map(|(key, id)| (id, key)).collect();
            names.iter().try_for_each(|(name, id)| {
                let key = by_id.get(id).map_or("", |key| key.as_str());
                writeln!(out, "/// `{}`\npub const {name}: &str = \"{id}\";", Untrusted(key).line())
            })
        }
    };
    Ok(out)
}

/// `billing/pay-failed` → `BILLING_PAY_FAILED`.
fn upper(key: &Key) -> String {
    key.as_str().chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}

/// As [`upper`]; a name cannot begin with a digit.
fn constant(key: &Key) -> String {
    let name = upper(key);
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// The ids by the name that each key has in a form.
pub(super) fn names(ids: &BTreeMap<Key, Id>, name: impl Fn(&Key) -> String) -> Result<BTreeMap<String, Id>, SameName> {
    let mut names: BTreeMap<String, (&Key, Id)> = BTreeMap::new();
    for (key, id) in ids {
        let name = name(key);
        if let Some((first, _)) = names.insert(name.clone(), (key, id.clone())) {
            return Err(SameName { first: first.clone(), second: key.clone(), name });
        }
    }
    Ok(names.into_iter().map(|(name, (_, id))| (name, id)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(keys: &[&str]) -> BTreeMap<Key, Id> {
        let pair = |(n, key): (usize, &&str)| (Key::new(*key).unwrap(), Id::new(format!("id-{n}")).unwrap());
        keys.iter().enumerate().map(pair).collect()
    }

    #[test]
    fn dotenv_names_are_upper_case() {
        let text = render(Format::Dotenv, "local", &ids(&["billing/pay-failed", "2fa"])).unwrap();
        assert_eq!(text, "LETTERPRESS_ID_2FA=id-1\nLETTERPRESS_ID_BILLING_PAY_FAILED=id-0\n");
    }

    #[test]
    fn keys_that_cannot_be_told_apart_are_refused() {
        assert!(render(Format::Dotenv, "local", &ids(&["a-b", "a_b"])).is_err());
        assert!(render(Format::Json, "local", &ids(&["a-b", "a_b"])).is_ok());
    }

    #[test]
    fn go_is_aligned_as_gofmt_does() {
        let text = render(Format::Go, "local", &ids(&["a", "long"])).unwrap();
        assert!(text.contains("\t\"a\":    \"id-0\",\n\t\"long\": \"id-1\",\n"), "{text}");
    }
}
