//! Python: a dictionary, and a `TypedDict` for each template.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::names::{SameName, of_keys, pascal};
use super::{Takes, lines, quoted};
use crate::desired::{Id, Key};

pub fn ids(ids: &BTreeMap<Key, Id>) -> String {
    let rows = lines(ids.iter().map(|(key, id)| format!("    {}: \"{id}\",", quoted(key.as_str()))));
    format!("# Made by `letterpress ids`: do not edit.\nTEMPLATE_IDS = {{\n{rows}}}\n")
}

pub fn variables(rows: &[(&Key, Takes<'_>)]) -> Result<String, SameName> {
    let name = |key: &str| format!("{}Variables", pascal(key));
    of_keys(rows.iter().map(|(key, _)| *key), name)?;
    let mut out = String::from("\nfrom typing import Any, NotRequired, Required, TypedDict\n\n");
    for (key, takes) in rows {
        let name = name(key.as_str());
        let Takes::These(variables) = takes else {
            let _ = writeln!(out, "{name} = dict[str, Any]");
            continue;
        };
        let field = |(name, required): &(&str, bool)| {
            format!("{}: {}[str]", quoted(name), if *required { "Required" } else { "NotRequired" })
        };
        let fields: Vec<String> = variables.iter().map(field).collect();
        let _ = writeln!(out, "{name} = TypedDict({}, {{{}}})", quoted(&name), fields.join(", "));
    }
    Ok(out)
}
