//! The variables of each template as types of application code: what a sender must and may bring.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::ids::{Format, SameName, names};
use crate::check::Contract;
use crate::desired::{Id, Key};

/// Renders the types, to stand below what [`super::ids::render`] writes; `None` for a form that has no types.
///
/// # Errors
///
/// [`SameName`] when two keys cannot be told apart in the form.
pub fn render(
    format: Format,
    ids: &BTreeMap<Key, Id>,
    contracts: &BTreeMap<Key, Contract>,
) -> Result<Option<String>, SameName> {
    let rows = ids.keys().map(|key| (key, contracts.get(key).filter(|contract| contract.engine == "simple")));
    let rows: Vec<(&Key, Option<&Contract>)> = rows.collect();
    Ok(match format {
        Format::Typescript => Some(typescript(&rows)),
        Format::Python => {
            names(ids, pascal)?;
            Some(python(&rows))
        }
        Format::Go => {
            names(ids, pascal)?;
            Some(go(&rows))
        }
        Format::Table | Format::Json | Format::Dotenv | Format::Rust => None,
    })
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What a sender brings: a variable that the template has a value for is no business of the sender.
fn brought(contract: &Contract) -> impl Iterator<Item = (&str, bool)> {
    let open = contract.variables.iter().filter(|(_, variable)| variable.value.is_none());
    open.map(|(name, variable)| (name.as_str(), variable.required))
}

fn typescript(rows: &[(&Key, Option<&Contract>)]) -> String {
    let mut out = String::from("\nexport interface TemplateVariables {\n");
    for (key, contract) in rows {
        let fields = match contract {
            // Another engine than the simple one: the template does not tell.
            None => "Record<string, unknown>".to_owned(),
            Some(contract) => {
                let field = |(name, required): (&str, bool)| {
                    format!("{}{}: string", quoted(name), if required { "" } else { "?" })
                };
                let fields: Vec<String> = brought(contract).map(field).collect();
                if fields.is_empty() {
                    "Record<string, never>".to_owned()
                } else {
                    format!("{{ {} }}", fields.join("; "))
                }
            }
        };
        let _ = writeln!(out, "  {}: {fields};", quoted(key.as_str()));
    }
    out + "}\n"
}

fn python(rows: &[(&Key, Option<&Contract>)]) -> String {
    let mut out = String::from("\nfrom typing import Any, NotRequired, Required, TypedDict\n\n");
    for (key, contract) in rows {
        let name = pascal(key);
        let Some(contract) = contract else {
            let _ = writeln!(out, "{name} = dict[str, Any]");
            continue;
        };
        let field = |(name, required): (&str, bool)| {
            format!("{}: {}[str]", quoted(name), if required { "Required" } else { "NotRequired" })
        };
        let fields: Vec<String> = brought(contract).map(field).collect();
        let _ = writeln!(out, "{name} = TypedDict({}, {{{}}})", quoted(&name), fields.join(", "));
    }
    out
}

fn go(rows: &[(&Key, Option<&Contract>)]) -> String {
    let mut out = String::new();
    for (key, contract) in rows {
        let name = pascal(key);
        let _ = writeln!(out, "\n// {name} is what a sender brings for {}.", quoted(key.as_str()));
        let Some(contract) = contract else {
            let _ = writeln!(out, "type {name} map[string]any");
            continue;
        };
        let fields: Vec<(String, &str, String)> = brought(contract)
            .map(|(variable, required)| {
                let (kind, omit) = if required { ("string", "") } else { ("*string", ",omitempty") };
                (words(variable), kind, format!("`json:\"{variable}{omit}\"`"))
            })
            .collect();
        if fields.is_empty() {
            let _ = writeln!(out, "type {name} struct{{}}");
            continue;
        }
        // As gofmt aligns them.
        let width = |of: fn(&(String, &str, String)) -> usize| fields.iter().map(of).max().unwrap_or(0);
        let (first, second) = (width(|field| field.0.len()), width(|field| field.1.len()));
        let _ = writeln!(out, "type {name} struct {{");
        for (field, kind, tag) in &fields {
            let _ = writeln!(out, "\t{field:<first$} {kind:<second$} {tag}");
        }
        out += "}\n";
    }
    out
}

/// `billing/pay-failed` → `BillingPayFailedVariables`.
fn pascal(key: &Key) -> String {
    format!("{}Variables", words(key.as_str()))
}

/// `first_name` → `FirstName`; a leading digit gets a letter.
fn words(text: &str) -> String {
    let mut out = String::new();
    let mut begins = true;
    for c in text.chars() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Variable;

    fn rendered(format: Format) -> String {
        let key = |text: &str| Key::new(text).unwrap();
        let variable = |required, value: Option<&str>| Variable {
            required,
            value: value.map(str::to_owned),
            used_in: vec!["html".to_owned()],
        };
        let contract = Contract {
            engine: "simple".to_owned(),
            variables: [
                ("amount".to_owned(), variable(true, None)),
                ("first_name".to_owned(), variable(false, None)),
                ("company".to_owned(), variable(false, Some("Example"))),
            ]
            .into(),
        };
        let liquid = Contract { engine: "liquid".to_owned(), ..Contract::default() };
        let contracts = [(key("billing/receipt"), contract), (key("free"), liquid)].into();
        let ids = [(key("billing/receipt"), Id::new("1").unwrap()), (key("free"), Id::new("2").unwrap())].into();
        render(format, &ids, &contracts).unwrap().unwrap()
    }

    #[test]
    fn each_language_says_what_is_required() {
        assert_eq!(
            rendered(Format::Typescript),
            "\nexport interface TemplateVariables {\n  \"billing/receipt\": { \"amount\": string; \"first_name\"?: string };\n  \"free\": Record<string, unknown>;\n}\n"
        );
        assert!(rendered(Format::Python).ends_with(
            "BillingReceiptVariables = TypedDict(\"BillingReceiptVariables\", {\"amount\": Required[str], \"first_name\": NotRequired[str]})\nFreeVariables = dict[str, Any]\n"
        ));
        assert!(rendered(Format::Go).contains(
            "type BillingReceiptVariables struct {\n\tAmount    string  `json:\"amount\"`\n\tFirstName *string `json:\"first_name,omitempty\"`\n}\n"
        ));
    }
}
