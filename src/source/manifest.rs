//! manifest.yaml as typed values with places (product.md).

use super::node::{Node, Place, Spot, Value};
use super::problem::Fault;
use super::read::Reader;
use crate::desired::Builder;

/// A manifest after merging: `[defaults]`, then `[environments.X.defaults]`, then the manifest, then its `overrides.X`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// `name`
    pub name: Option<Spot<String>>,
    /// `subject`
    pub subject: Option<Spot<String>>,
    /// `sender_email`
    pub sender_email: Option<Spot<String>>,
    /// `sender_name`
    pub sender_name: Option<Spot<String>>,
    /// `reply_to`
    pub reply_to: Option<Spot<String>>,
    /// `body`: paths of the parts that are not found by name.
    pub body: Bodies,
    /// `template_builder`
    pub template_builder: Option<Spot<Builder>>,
    /// `global_replacements`
    pub global_replacements: Vec<(Spot<String>, Spot<String>)>,
    /// `global_info`
    pub global_info: Vec<(Spot<String>, Spot<String>)>,
    /// `headers`
    pub headers: Vec<(Spot<String>, Spot<String>)>,
    /// `attachments`
    pub attachments: Vec<Asset>,
    /// `inline_attachments`
    pub inline_attachments: Vec<Asset>,
    /// `check_links`
    pub check_links: Option<Spot<bool>>,
    /// `check_read`
    pub check_read: Option<Spot<bool>>,
    /// `variables`: tags that each recipient brings.
    pub variables: Vec<Spot<String>>,
    /// `ids`: environment → id.
    pub ids: Vec<(Spot<String>, Spot<String>)>,
    /// `moved_from`
    pub moved_from: Option<Spot<String>>,
    /// `lint.allow`
    pub allow: Vec<Allow>,
}

/// `body`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bodies {
    /// `body.html`
    pub html: Option<Spot<String>>,
    /// `body.plaintext`
    pub plaintext: Option<Spot<String>>,
    /// `body.amp`
    pub amp: Option<Spot<String>>,
}

/// One item of `attachments` or `inline_attachments`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asset {
    /// `path`, below the template's folder.
    pub path: Spot<String>,
    /// `name`; else the file's.
    pub name: Option<Spot<String>>,
    /// `type`; else guessed from the name.
    pub mime: Option<Spot<String>>,
}

impl Asset {
    /// The name that it is sent with, which is also its content id.
    #[must_use]
    pub fn content_id(&self) -> &str {
        let path = &self.path.value;
        self.name.as_ref().map_or_else(|| path.rsplit('/').next().unwrap_or(path), |name| name.value.as_str())
    }
}

/// One item of `lint.allow`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allow {
    /// The rule that stays silent.
    pub rule: Spot<String>,
    /// Why.
    pub reason: Spot<String>,
}

/// The keys of a manifest, in the order of product.md.
pub const KEYS: [&str; 19] = [
    "name",
    "subject",
    "sender_email",
    "sender_name",
    "reply_to",
    "body",
    "template_builder",
    "global_replacements",
    "global_info",
    "headers",
    "attachments",
    "inline_attachments",
    "check_links",
    "check_read",
    "variables",
    "ids",
    "moved_from",
    "overrides",
    "lint",
];

/// The keys that `[defaults]` and `overrides` may have: what is sent and not the files of one folder.
pub const DEFAULT_KEYS: [&str; 10] = [
    "subject",
    "sender_email",
    "sender_name",
    "reply_to",
    "template_builder",
    "global_replacements",
    "global_info",
    "headers",
    "check_links",
    "check_read",
];

/// The keys that `overrides.<environment>` may have.
pub const OVERRIDE_KEYS: [&str; 15] = [
    "name",
    "subject",
    "sender_email",
    "sender_name",
    "reply_to",
    "body",
    "template_builder",
    "global_replacements",
    "global_info",
    "headers",
    "attachments",
    "inline_attachments",
    "check_links",
    "check_read",
    "variables",
];

/// Fields of answers (`interface §2.5`).
const RESPONSE_ONLY: [&str; 3] = ["id", "template_creator", "status"];

/// Merges the layers for one environment and reads the result.
///
/// The order, in this one place: `[defaults]`, over it `[environments.X.defaults]`, over it the manifest, over it its `overrides.X`. Maps
/// are merged key by key; scalars and lists are replaced.
pub fn read(reader: &mut Reader<'_>, mut own: Node, defaults: &[&Node], environment: &str, known: &[&str]) -> Manifest {
    if !matches!(own.value, Value::Map(_)) {
        let message = || format!("a manifest must be a map, and this is {}", own.kind());
        reader.report(Fault::WrongType, &own.place, message, None);
        return Manifest::default();
    }
    let overrides = own.take("overrides");
    let mut merged = Node { value: Value::Map(Vec::new()), place: own.place.clone() };
    for layer in defaults {
        merged.merge((*layer).clone());
    }
    merged.merge(own);
    let mut chosen = None;
    if let Some((_, node)) = overrides {
        reader.map(node, "overrides", known, |reader, key, node| {
            if key.value == environment {
                chosen = Some(node);
            } else {
                // The other environments' overrides are read as well, so that a mistake does not wait for its environment.
                fields(reader, node, &format!("overrides.{}", key.value), &OVERRIDE_KEYS, &mut Manifest::default());
            }
        });
    }
    if let Some(node) = chosen {
        let name = format!("overrides.{environment}");
        let before = reader.problems.len();
        fields(reader, node.clone(), &name, &OVERRIDE_KEYS, &mut Manifest::default());
        if reader.problems.len() == before {
            merged.merge(node);
        }
    }
    let mut manifest = Manifest::default();
    fields(reader, merged, "", &KEYS, &mut manifest);
    for (key, _) in &manifest.ids {
        if !known.contains(&key.value.as_str()) {
            reader.unknown(key, "ids", known);
        }
    }
    manifest
}

/// Checks `[defaults]` by itself.
pub fn read_defaults(reader: &mut Reader<'_>, node: Node, name: &str) {
    fields(reader, node, name, &DEFAULT_KEYS, &mut Manifest::default());
}

fn fields(reader: &mut Reader<'_>, node: Node, name: &str, known: &[&str], into: &mut Manifest) {
    let Value::Map(entries) = node.value else {
        let message = || format!("`{name}` must be a map of manifest fields, and this is {}", node.kind());
        reader.report(Fault::WrongType, &node.place, message, None);
        return;
    };
    for (key, node) in entries {
        let word = key.value.as_str();
        if known.contains(&word) {
            field(reader, word, node, into);
        } else if RESPONSE_ONLY.contains(&word) {
            let message = || format!("`{word}` comes only in the service's answers");
            let help = match word {
                "id" => "to adopt a template that exists, write `ids: { <environment>: <id> }`",
                _ => "remove it",
            };
            reader.report(Fault::ResponseOnlyField, &key.place, message, Some(help.to_owned()));
        } else {
            reader.unknown(&key, name, known);
        }
    }
}

fn field(reader: &mut Reader<'_>, key: &str, node: Node, into: &mut Manifest) {
    match key {
        "name" => into.name = reader.text(node, key),
        "subject" => into.subject = reader.text(node, key),
        "sender_email" => into.sender_email = reader.text(node, key),
        "sender_name" => into.sender_name = reader.text(node, key),
        "reply_to" => into.reply_to = reader.text(node, key),
        "body" => into.body = bodies(reader, node),
        "template_builder" => into.template_builder = builder(reader, node),
        "global_replacements" => into.global_replacements = reader.texts(node, key),
        "global_info" => into.global_info = reader.texts(node, key),
        "headers" => into.headers = reader.texts(node, key),
        "attachments" => into.attachments = assets(reader, node, key),
        "inline_attachments" => into.inline_attachments = assets(reader, node, key),
        "check_links" => into.check_links = reader.switch(node, key),
        "check_read" => into.check_read = reader.switch(node, key),
        "variables" => {
            let mut names = Vec::new();
            reader.list(node, key, |reader, node| names.extend(reader.text(node, "variables")));
            into.variables = names;
        }
        "ids" => into.ids = reader.texts(node, key),
        "moved_from" => into.moved_from = reader.text(node, key),
        "lint" => into.allow = allows(reader, node),
        _ => {}
    }
}

fn bodies(reader: &mut Reader<'_>, node: Node) -> Bodies {
    let mut bodies = Bodies::default();
    reader.map(node, "body", &["html", "plaintext", "amp"], |reader, key, node| match key.value.as_str() {
        "html" => bodies.html = reader.text(node, "html"),
        "plaintext" => bodies.plaintext = reader.text(node, "plaintext"),
        _ => bodies.amp = reader.text(node, "amp"),
    });
    bodies
}

fn builder(reader: &mut Reader<'_>, node: Node) -> Option<Spot<Builder>> {
    let text = reader.text(node, "template_builder")?;
    match text.value.as_str() {
        "html" => Some(text.with(Builder::Html)),
        "visual" => Some(text.with(Builder::Visual)),
        other => {
            let message = || format!("`template_builder` is `html` or `visual`, not `{other}`");
            reader.report(Fault::BadValue, &text.place, message, None);
            None
        }
    }
}

fn assets(reader: &mut Reader<'_>, node: Node, list: &str) -> Vec<Asset> {
    let mut assets = Vec::new();
    reader.list(node, list, |reader, node| {
        let place = node.place.clone();
        let (mut path, mut name, mut mime) = (None, None, None);
        let mut pathless = true;
        let good = reader.map(node, list, &["path", "name", "type"], |reader, key, node| match key.value.as_str() {
            "path" => {
                pathless = false;
                path = reader.text(node, "path");
            }
            "name" => name = reader.text(node, "name"),
            _ => mime = reader.text(node, "type"),
        });
        if good && pathless {
            required(reader, &place, list, "path");
        }
        assets.extend(path.map(|path| Asset { path, name, mime }));
    });
    assets
}

fn allows(reader: &mut Reader<'_>, node: Node) -> Vec<Allow> {
    let mut allows = Vec::new();
    reader.map(node, "lint", &["allow"], |reader, _, node| {
        reader.list(node, "lint.allow", |reader, node| {
            let place = node.place.clone();
            let (mut rule, mut reason) = (None, None);
            let good =
                reader.map(node, "lint.allow", &["rule", "reason"], |reader, key, node| match key.value.as_str() {
                    "rule" => rule = Some(reader.text(node, "rule")),
                    _ => reason = Some(reader.text(node, "reason")),
                });
            match (rule, reason) {
                (Some(Some(rule)), Some(Some(reason))) if !reason.value.trim().is_empty() => {
                    allows.push(Allow { rule, reason });
                }
                // A value of the wrong type has its finding already.
                (Some(None), _) | (_, Some(None)) => {}
                (None, _) if good => required(reader, &place, "lint.allow", "rule"),
                (Some(_), _) if good => required(reader, &place, "lint.allow", "reason"),
                _ => {}
            }
        });
    });
    allows
}

fn required(reader: &mut Reader<'_>, place: &Place, list: &str, key: &str) {
    reader.report(Fault::WrongType, place, || format!("an item of `{list}` needs `{key}`"), None);
}
