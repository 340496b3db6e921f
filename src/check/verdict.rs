//! What a check says about one folder, as one value that can be kept.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::table;
use crate::desired::Row;
use crate::diagnostic::{Diagnostic, Edit, Location, Rule, Severity};

/// The result of checking one folder. It serializes as one value, so that a cache can keep it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// What a plan needs to know; nothing when a finding is an error.
    pub row: Option<Row>,
    /// The template's name with its place, for the check over the whole tree.
    pub name: Option<(String, Packed<Location>)>,
    /// The findings, sorted.
    #[serde(with = "kept")]
    pub findings: Vec<Diagnostic>,
    /// The variables that the template needs.
    pub contract: Packed<Contract>,
}

impl Verdict {
    /// Whether a finding is an error.
    #[must_use]
    pub fn has_error(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }
}

/// The variables of a template: what a sender must, may and need not bring.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract {
    /// The engine that substitutes: `simple`, `velocity`, `liquid` or `none`.
    pub engine: String,
    /// By name.
    pub variables: BTreeMap<String, Variable>,
}

/// A value as one piece of memory where it has several, since hardly any run asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Packed<T> {
    #[serde(with = "serde_bytes")]
    bytes: Vec<u8>,
    value: PhantomData<T>,
}

impl<T> Default for Packed<T> {
    fn default() -> Self {
        Self { bytes: Vec::new(), value: PhantomData }
    }
}

impl<T: Serialize + DeserializeOwned> Packed<T> {
    /// Packs a value.
    #[must_use]
    pub fn of(value: &T) -> Self {
        // Plain values can always be written.
        Self { bytes: postcard::to_allocvec(value).unwrap_or_default(), value: PhantomData }
    }

    /// The value; nothing where none was packed.
    #[must_use]
    pub fn open(&self) -> Option<T> {
        postcard::from_bytes(&self.bytes).ok()
    }
}

/// One variable of a template.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// Whether every recipient must bring it: used, and without a value or default anywhere.
    pub required: bool,
    /// Its value in `global_replacements`.
    pub value: Option<String>,
    /// The parts that use it: `subject`, `sender_name`, `html`, `plaintext`, `amp`.
    pub used_in: Vec<String>,
}

/// Findings with the rule by its name. A name that this version does not know spoils the whole value, as it should.
mod kept {
    use super::*;

    #[derive(Serialize, Deserialize)]
    #[serde(remote = "Diagnostic")]
    struct Kept {
        #[serde(serialize_with = "rule_name", deserialize_with = "rule_by_name")]
        rule: &'static Rule,
        severity: Severity,
        location: Location,
        message: String,
        actual: Option<String>,
        allowed: Option<String>,
        help: Option<String>,
        count: u32,
        edits: Vec<Edit>,
    }

    #[derive(Serialize)]
    struct Lent<'a>(#[serde(with = "Kept")] &'a Diagnostic);

    #[derive(Deserialize)]
    struct Owned(#[serde(with = "Kept")] Diagnostic);

    fn rule_name<S: Serializer>(rule: &&'static Rule, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(rule.name)
    }

    fn rule_by_name<'de, D: Deserializer<'de>>(from: D) -> Result<&'static Rule, D::Error> {
        let name = String::deserialize(from)?;
        table::rule(&name).ok_or_else(|| serde::de::Error::custom("a rule that does not exist"))
    }

    pub fn serialize<S: Serializer>(list: &[Diagnostic], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(list.iter().map(Lent))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Diagnostic>, D::Error> {
        Ok(Vec::<Owned>::deserialize(from)?.into_iter().map(|owned| owned.0).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_survives_being_kept() {
        let location = Location::at("a", "text", 1..2);
        let finding = Diagnostic::new(&table::NAME_MISSING, location.clone(), "m").limit(1, 2).help("h");
        let verdict =
            Verdict { findings: vec![finding], name: Some(("n".into(), Packed::of(&location))), ..Verdict::default() };
        let variable = Variable { required: true, ..Variable::default() };
        let contract = Contract { engine: "simple".into(), variables: [("x".into(), variable)].into() };
        let verdict = Verdict { contract: Packed::of(&contract), ..verdict };
        assert_eq!(verdict.contract.open(), Some(contract));
        // The cache's form has no names of fields, so that a field that is left out when empty would spoil it.
        let kept = postcard::to_allocvec(&verdict).unwrap();
        assert_eq!(postcard::from_bytes::<Verdict>(&kept).unwrap(), verdict);
        let kept = serde_json::to_string(&verdict).unwrap();
        assert_eq!(serde_json::from_str::<Verdict>(&kept).unwrap(), verdict);
        assert!(serde_json::from_str::<Verdict>(&kept.replace("name-missing", "gone")).is_err());
    }
}
