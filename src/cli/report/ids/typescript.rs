//! TypeScript: a `const` object, its key type, and an interface from key to variables.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Takes, lines, quoted};
use crate::desired::{Id, Key};

pub fn ids(ids: &BTreeMap<Key, Id>) -> String {
    let rows = lines(ids.iter().map(|(key, id)| format!("  {}: \"{id}\",", property(key))));
    let head = "// Made by `letterpress ids`: do not edit.\nexport const templateIds = {\n";
    format!("{head}{rows}}} as const;\n\nexport type TemplateKey = keyof typeof templateIds;\n")
}

pub fn variables(rows: &[(&Key, Takes<'_>)]) -> String {
    let mut out = String::from("\nexport interface TemplateVariables {\n");
    for (key, takes) in rows {
        let fields = match takes {
            Takes::Anything => "Record<string, unknown>".to_owned(),
            Takes::These(variables) if variables.is_empty() => "Record<string, never>".to_owned(),
            Takes::These(variables) => {
                let field = |(name, required): &(&str, bool)| {
                    format!("{}{}: string", quoted(name), if *required { "" } else { "?" })
                };
                let fields: Vec<String> = variables.iter().map(field).collect();
                format!("{{ {} }}", fields.join("; "))
            }
        };
        let _ = writeln!(out, "  {}: {fields};", quoted(key.as_str()));
    }
    out + "}\n"
}

/// In an object, `"__proto__": …` would set the prototype and name no property.
fn property(key: &Key) -> String {
    let name = quoted(key.as_str());
    if key.as_str() == "__proto__" { format!("[{name}]") } else { name }
}
