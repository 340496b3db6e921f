//! `schema`: the JSON Schema of everything that letterpress reads or writes as JSON, from the types themselves.

use schemars::{Schema, schema_for};
use serde_json::{Value, json};

use super::{Context, Exit, account, apply, doctor, report, suppressions};
use crate::check::{may_allow, table};
use crate::diagnostic::Rule;
use crate::source;

/// Print the JSON Schema of a document, for editors and for programs that read our output
#[derive(Debug, clap::Args)]
pub struct SchemaArgs {
    /// The document
    document: Document,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Document {
    /// manifest.yaml, for editors
    Manifest,
    /// letterpress.toml, for editors
    Config,
    /// `validate --format json`
    Validate,
    /// `plan --format json`
    Plan,
    /// A line of `apply --format json`
    Event,
    /// `diff --format json`
    Diff,
    /// `account --format json`
    Account,
    /// `doctor --format json`
    Doctor,
    /// `suppressions list --format json`
    Suppressions,
    /// A line of `suppressions list --format jsonl`
    Suppression,
    /// A line of the report of `suppressions add|remove|import` and `subscribe`, with `--format jsonl`
    SuppressionsReport,
}

impl Document {
    fn schema(self) -> Schema {
        match self {
            Self::Manifest => {
                with(schema_for!(source::ManifestSchema), "/$defs/allow/properties/rule", "enum", rules(may_allow))
            }
            Self::Config => with(
                schema_for!(source::ConfigSchema),
                "/properties/lint",
                "propertyNames",
                json!({ "enum": rules(|_| true) }),
            ),
            Self::Validate => schema_for!(report::findings_json::Report<'_>),
            Self::Plan => schema_for!(report::plan_json::PlanJson),
            Self::Event => schema_for!(apply::stream::Line<'_>),
            Self::Diff => schema_for!(report::diff_text::DiffJson),
            Self::Account => schema_for!(account::AccountJson),
            Self::Doctor => schema_for!(doctor::DoctorJson<'_>),
            Self::Suppressions => suppressions::schemas::list(),
            Self::Suppression => suppressions::schemas::record(),
            Self::SuppressionsReport => suppressions::schemas::report(),
        }
    }
}

/// The names of rules: the reader of the files does not know them.
fn rules(which: impl Fn(&Rule) -> bool) -> Value {
    table::all().filter(|rule| which(rule)).map(|rule| rule.name).collect()
}

/// A schema with one keyword more at a place.
fn with(schema: Schema, place: &str, keyword: &str, value: Value) -> Schema {
    let mut whole = schema.to_value();
    if let Some(Value::Object(found)) = whole.pointer_mut(place) {
        found.insert(keyword.to_owned(), value);
    }
    Schema::try_from(whole).unwrap_or_default()
}

/// Runs `schema`.
///
/// # Errors
///
/// When stdout cannot be written.
pub fn run(context: &Context, args: &SchemaArgs) -> anyhow::Result<Exit> {
    let text = serde_json::to_string_pretty(&args.document.schema())?;
    context.terminal.stream(|out| writeln!(out, "{text}"))?;
    Ok(Exit::Done)
}
