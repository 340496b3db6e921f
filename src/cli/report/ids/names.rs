//! Names of code for keys and variables. A name depends on its own key only, so that a new template renames none; two that come out the
//! same are refused.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::desired::Key;

/// Two keys, or two variables of one template, that become the same name in the form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {what} `{first}` and `{second}` would both be called `{name}`")]
pub struct SameName {
    what: String,
    first: String,
    second: String,
    name: String,
}

/// The keys by the name that each has in a form.
pub fn of_keys<'a>(
    keys: impl Iterator<Item = &'a Key>,
    name: impl Fn(&str) -> String,
) -> Result<BTreeMap<String, &'a Key>, SameName> {
    let mut names: BTreeMap<String, &Key> = BTreeMap::new();
    for key in keys {
        let name = name(key.as_str());
        if let Some(first) = names.insert(name.clone(), key) {
            let (first, second) = (first.to_string(), key.to_string());
            return Err(SameName { what: "keys".to_owned(), first, second, name });
        }
    }
    Ok(names)
}

/// The fields of a template's type: the name that each variable has in a form, the variable, and whether it is required.
pub fn of_variables<'a>(
    key: &Key,
    variables: &[(&'a str, bool)],
    name: impl Fn(&str) -> String,
) -> Result<Vec<(String, &'a str, bool)>, SameName> {
    let mut fields: Vec<(String, &str, bool)> = Vec::new();
    for (variable, required) in variables {
        let name = name(variable);
        if let Some((_, first, _)) = fields.iter().find(|(taken, ..)| *taken == name) {
            let (first, second) = ((*first).to_owned(), (*variable).to_owned());
            return Err(SameName { what: format!("variables of `{key}`,"), first, second, name });
        }
        fields.push((name, variable, *required));
    }
    Ok(fields)
}

/// `billing/pay-failed` → `BILLING_PAY_FAILED`.
pub fn upper(text: &str) -> String {
    let sign = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    ascii(text).chars().map(sign).collect()
}

/// `billing/pay-failed` → `BillingPayFailed`; a leading digit gets a letter.
pub fn pascal(text: &str) -> String {
    let mut out = String::new();
    let mut begins = true;
    for c in ascii(text).chars() {
        if !c.is_ascii_alphanumeric() {
            begins = true;
        } else if begins {
            out.push(c.to_ascii_uppercase());
            begins = false;
        } else {
            out.push(c);
        }
    }
    if out.starts_with(|c: char| c.is_ascii_digit()) { format!("T{out}") } else { out }
}

/// `firstName` and `first-name` → `first_name`.
pub fn snake(text: &str) -> String {
    let text: Vec<char> = ascii(text).chars().collect();
    let mut out = String::new();
    for (at, c) in text.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| text.get(at));
        let small = |c: Option<&char>| c.is_some_and(char::is_ascii_lowercase);
        let word = c.is_ascii_uppercase()
            && before.is_some_and(char::is_ascii_alphanumeric)
            && (!before.is_some_and(char::is_ascii_uppercase) || small(text.get(at + 1)));
        if word {
            out.push('_');
        }
        out.push(if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
    }
    out
}

/// The text with what is not ASCII as its code point (`é` → `u00e9`), as any language takes it; a text without a letter or digit is all code points.
fn ascii(text: &str) -> String {
    let bare = !text.contains(|c: char| !c.is_ascii() || c.is_ascii_alphanumeric());
    text.chars().fold(String::new(), |mut out, c| {
        if bare || !c.is_ascii() {
            let _ = write!(out, "u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
        out
    })
}
