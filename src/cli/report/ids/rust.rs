//! Rust: constants, and a struct for each template that needs nothing beyond `std`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::names::{SameName, of_keys, of_variables, pascal, snake, upper};
use super::{Takes, lines};
use crate::desired::{Id, Key};
use crate::untrusted::Untrusted;

/// Words of the language that `r#` makes names of, in every edition so far.
const KEYWORDS: [&str; 48] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum",
    "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move",
    "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

pub fn ids(ids: &BTreeMap<Key, Id>) -> Result<String, SameName> {
    let names = of_keys(ids.keys(), constant)?;
    let rows = names.iter().filter_map(|(name, key)| {
        let id = ids.get(*key)?;
        Some(format!("/// `{}`\npub const {name}: &str = \"{id}\";", Untrusted(key.as_str()).line()))
    });
    Ok(format!("// Made by `letterpress ids`: do not edit.\n{}", lines(rows)))
}

pub fn variables(rows: &[(&Key, Takes<'_>)]) -> Result<String, SameName> {
    let name = |key: &str| format!("{}Variables", pascal(key));
    of_keys(rows.iter().map(|(key, _)| *key), name)?;
    let mut out = String::from(TRAIT);
    for (key, takes) in rows {
        let shown = Untrusted(key.as_str()).line();
        let Takes::These(variables) = takes else {
            let _ = writeln!(out, "\n// `{shown}` is of another engine than the simple one and takes anything.");
            continue;
        };
        let fields = of_variables(key, variables, field)?;
        structure(&mut out, key, &name(key.as_str()), &fields);
    }
    Ok(out)
}

const TRAIT: &str = "
/// What a sender brings for one template.
pub trait Variables {
    /// The template's key.
    const KEY: &'static str;
    /// The template's id.
    const ID: &'static str;
    /// The substitutions of one recipient, by the names that the template uses; what is `None` is left out.
    fn substitutions(self) -> std::collections::BTreeMap<&'static str, String>;
}
";

fn structure(out: &mut String, key: &Key, name: &str, fields: &[(String, &str, bool)]) {
    let shown = Untrusted(key.as_str()).line();
    let _ = writeln!(out, "\n/// What a sender brings for `{shown}`.\n#[derive(Debug, Clone, PartialEq, Eq)]");
    if fields.is_empty() {
        let _ = writeln!(out, "pub struct {name};");
    } else {
        let _ = writeln!(out, "pub struct {name} {{");
        for (field, variable, required) in fields {
            let kind = if *required { "String" } else { "Option<String>" };
            let _ = writeln!(out, "    /// `{variable}`\n    pub {field}: {kind},");
        }
        out.push_str("}\n");
    }
    let constant = constant(key.as_str());
    let literal = format!("{:?}", key.as_str());
    let _ = writeln!(out, "\nimpl Variables for {name} {{\n    const KEY: &'static str = {literal};");
    let _ = writeln!(out, "    const ID: &'static str = {constant};\n");
    out.push_str("    fn substitutions(self) -> std::collections::BTreeMap<&'static str, String> {\n");
    if fields.is_empty() {
        out.push_str("        std::collections::BTreeMap::new()\n");
    } else {
        out.push_str("        let brought = [\n");
        for (field, variable, required) in fields {
            let value = if *required { format!("Some(self.{field})") } else { format!("self.{field}") };
            let _ = writeln!(out, "            (\"{variable}\", {value}),");
        }
        out.push_str("        ];\n        brought\n            .into_iter()\n");
        out.push_str("            .filter_map(|(name, value)| Some((name, value?)))\n            .collect()\n");
    }
    out.push_str("    }\n}\n");
}

/// A name cannot begin with a digit, and `_` alone names nothing.
fn constant(key: &str) -> String {
    let name = upper(key);
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

fn field(variable: &str) -> String {
    let name = snake(variable);
    match name.as_str() {
        // Not even `r#` makes names of these.
        "self" | "super" | "crate" => format!("{name}_"),
        word if KEYWORDS.contains(&word) => format!("r#{name}"),
        _ => name,
    }
}
