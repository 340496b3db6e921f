//! The shape of manifest.yaml and letterpress.toml for editors: descriptions, enumerations, no unknown keys.
//!
//! These types are only described, never read into: reading keeps the place of every value. A test holds their keys against the reader's.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use crate::limits;

/// The name of a merge tag.
const TAG: &str = "^[A-Za-z][A-Za-z0-9_-]*$";
/// Text that ends up in one line of the mail.
const ONE_LINE: &str = "^[^\\u0000\\r\\n\\u2028\\u2029]*$";
/// The name of an environment.
const ENVIRONMENT: &str = "^[A-Za-z0-9_-]{1,64}$";
/// The id of a template.
const ID: &str = "^[A-Za-z0-9_-]{1,128}$";
/// A header that is sent.
const HEADER: &str = "^[Xx]-[!-9;-~]*$";
/// A MIME type, with or without parameters.
const MIME: &str = r"^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+ *(;.*)?$";
/// The name of an attached file.
const FILE_NAME: &str = r#"^[^/\\"'<>]+\.[^/\\"'<>]+$"#;

/// A template's manifest.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields, title = "letterpress manifest.yaml", rename = "manifest")]
#[expect(dead_code, reason = "described, never read into")]
pub struct ManifestSchema {
    /// The template's name, unique in the tree, at most 255 bytes.
    #[schemars(length(min = 1, max = limits::NAME_BYTES), regex(pattern = ONE_LINE))]
    name: String,
    #[schemars(flatten)]
    fields: FieldsSchema,
    #[schemars(flatten)]
    files: FilesSchema,
    /// Environment → id: adopt a template that already exists there.
    #[schemars(extend("propertyNames" = {"pattern": ENVIRONMENT}, "additionalProperties" = {"type": "string", "pattern": ID}))]
    ids: Option<BTreeMap<String, String>>,
    /// The key that this folder used to have: keep its id.
    #[schemars(length(min = 1))]
    moved_from: Option<String>,
    /// Environment → fields that differ there.
    #[schemars(extend("propertyNames" = {"pattern": ENVIRONMENT}))]
    overrides: Option<BTreeMap<String, OverrideSchema>>,
    /// Findings that are meant to be.
    lint: Option<LintSchema>,
}

/// What is sent and does not belong to one folder.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "fields")]
#[expect(dead_code, reason = "described, never read into")]
struct FieldsSchema {
    /// The subject; merge tags are substituted.
    #[schemars(regex(pattern = ONE_LINE))]
    subject: Option<String>,
    /// The sender's address.
    #[schemars(length(min = 1, max = limits::ADDRESS_BYTES))]
    sender_email: Option<String>,
    /// The sender's name; merge tags are substituted.
    #[schemars(regex(pattern = ONE_LINE))]
    sender_name: Option<String>,
    /// Where answers go, when not to the sender.
    #[schemars(length(min = 1, max = limits::ADDRESS_BYTES))]
    reply_to: Option<String>,
    /// The editor; `visual` templates can only be edited, never created.
    template_builder: Option<BuilderSchema>,
    /// Merge tags common to all recipients. A name is Latin letters, digits, `_` or `-`, and a letter first.
    #[schemars(extend("propertyNames" = {"pattern": TAG}))]
    global_replacements: Option<BTreeMap<String, String>>,
    /// Metadata handed to the webhook: at most 10 keys of 64 symbols with values of 1,024 symbols.
    #[schemars(extend(
        "maxProperties" = limits::INFO_KEYS,
        "propertyNames" = {"minLength": 1, "maxLength": limits::INFO_KEY_SYMBOLS},
        "additionalProperties" = {"type": "string", "maxLength": limits::INFO_VALUE_SYMBOLS}
    ))]
    global_info: Option<BTreeMap<String, String>>,
    /// Headers: at most 50, names start with `X-`.
    #[schemars(extend(
        "maxProperties" = limits::HEADERS,
        "propertyNames" = {"pattern": HEADER},
        "additionalProperties" = {"type": "string", "pattern": ONE_LINE}
    ))]
    headers: Option<BTreeMap<String, String>>,
    /// Click tracking; on by default.
    check_links: Option<SwitchSchema>,
    /// Read tracking; on by default.
    check_read: Option<SwitchSchema>,
}

/// What names files of the folder.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "files")]
#[expect(dead_code, reason = "described, never read into")]
struct FilesSchema {
    /// Paths of the parts that are not called body.html, body.txt or body.amp.html.
    body: Option<BodySchema>,
    /// Attached files.
    attachments: Option<Vec<AssetSchema>>,
    /// Files shown in the html as `cid:<name>`.
    inline_attachments: Option<Vec<AssetSchema>>,
    /// Names of the tags that each recipient brings; never sent.
    #[schemars(extend("items" = {"type": "string", "pattern": TAG}))]
    variables: Option<Vec<String>>,
}

/// What an environment may have otherwise.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "override")]
#[expect(dead_code, reason = "described, never read into")]
struct OverrideSchema {
    /// The template's name there.
    #[schemars(length(min = 1, max = limits::NAME_BYTES), regex(pattern = ONE_LINE))]
    name: Option<String>,
    #[schemars(flatten)]
    fields: FieldsSchema,
    #[schemars(flatten)]
    files: FilesSchema,
}

/// `true` or `1`, `false` or `0`.
#[derive(Debug, JsonSchema)]
#[schemars(untagged, rename = "switch")]
#[expect(dead_code, reason = "described, never read into")]
enum SwitchSchema {
    /// `true` or `false`.
    Boolean(bool),
    /// `0` or `1`.
    Number(#[schemars(range(min = 0, max = 1))] u8),
}

/// The editor that a template is made in.
#[derive(Debug, JsonSchema)]
#[schemars(rename_all = "lowercase", rename = "builder")]
#[expect(dead_code, reason = "described, never read into")]
enum BuilderSchema {
    /// Written as html.
    Html,
    /// Made in the service's web page.
    Visual,
}

/// Paths below the template's folder.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "body")]
#[expect(dead_code, reason = "described, never read into")]
struct BodySchema {
    /// The html part.
    #[schemars(length(min = 1))]
    html: Option<String>,
    /// The plain-text part.
    #[schemars(length(min = 1))]
    plaintext: Option<String>,
    /// The AMP part.
    #[schemars(length(min = 1))]
    amp: Option<String>,
}

/// A file that goes with the template.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "asset")]
#[expect(dead_code, reason = "described, never read into")]
struct AssetSchema {
    /// Below the template's folder, with `/` on every system.
    #[schemars(length(min = 1))]
    path: String,
    /// `name.extension`, also the content id; the file's own name by default.
    #[schemars(length(max = limits::ATTACHMENT_NAME_BYTES), regex(pattern = FILE_NAME))]
    name: Option<String>,
    /// MIME type; guessed from the name by default.
    #[schemars(regex(pattern = MIME))]
    r#type: Option<String>,
}

/// Findings that are meant to be.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "lint")]
#[expect(dead_code, reason = "described, never read into")]
struct LintSchema {
    /// Each with its reason.
    allow: Option<Vec<AllowSchema>>,
}

/// One rule that stays silent in this folder.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "allow")]
#[expect(dead_code, reason = "described, never read into")]
struct AllowSchema {
    /// The rule's name.
    rule: String,
    /// Why.
    #[schemars(length(min = 1))]
    reason: String,
}

/// letterpress.toml.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields, title = "letterpress.toml", rename = "config")]
#[expect(dead_code, reason = "described, never read into")]
pub struct ConfigSchema {
    /// The folder of the templates, below this file; `templates` by default.
    templates: Option<String>,
    /// The environment that is used without `-e`.
    environment: Option<String>,
    /// Under every manifest: maps are merged, scalars replaced.
    defaults: Option<DefaultsSchema>,
    /// Where templates go; without any there is `local`, the built-in service.
    #[schemars(extend("propertyNames" = {"pattern": ENVIRONMENT}))]
    environments: Option<BTreeMap<String, EnvironmentSchema>>,
    /// Rule → severity.
    lint: Option<BTreeMap<String, SeveritySchema>>,
}

/// Fields for every template.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "defaults")]
#[expect(dead_code, reason = "described, never read into")]
struct DefaultsSchema {
    #[schemars(flatten)]
    fields: FieldsSchema,
}

/// One environment.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "environment")]
#[expect(dead_code, reason = "described, never read into")]
struct EnvironmentSchema {
    /// `sandbox` for the built-in service, or the service's https address.
    base_url: String,
    /// The environment variable that holds the API key; `LETTERPRESS_API_KEY` by default.
    #[schemars(regex(pattern = "^[A-Za-z0-9_]+$"))]
    api_key_env: Option<String>,
    /// A file that holds the API key, instead.
    api_key_file: Option<String>,
    /// Refuse any key that belongs to another project.
    #[schemars(length(min = 1, max = limits::PROJECT_ID_CHARS))]
    project_id: Option<String>,
    /// `file:…`, `s3://…`, `gs://…` or `az://…`; a file below `.letterpress/state` by default.
    #[schemars(regex(pattern = "^(file:|s3://|gs://|az://)"))]
    state: Option<String>,
    /// Most templates that are open at once; 16 by default.
    #[schemars(range(min = 1, max = 256))]
    concurrency: Option<u32>,
    /// A ceiling.
    #[schemars(range(min = 1, max = 1_000_000))]
    requests_per_second: Option<u32>,
    /// Over `[defaults]`, under the manifests.
    defaults: Option<DefaultsSchema>,
}

/// How much a rule's findings weigh.
#[derive(Debug, JsonSchema)]
#[schemars(rename_all = "lowercase", rename = "severity")]
#[expect(dead_code, reason = "described, never read into")]
enum SeveritySchema {
    /// Not reported.
    Off,
    /// Worth knowing.
    Info,
    /// Usually wrong.
    Warn,
    /// Ends the run with exit 3.
    Error,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::source::{config, manifest};

    fn keys(schema: &serde_json::Value) -> BTreeSet<String> {
        schema["properties"].as_object().unwrap().keys().cloned().collect()
    }

    fn set(list: &[&str]) -> BTreeSet<String> {
        list.iter().map(|key| (*key).to_owned()).collect()
    }

    #[test]
    fn the_schema_knows_the_limits() {
        let schema = schemars::schema_for!(ManifestSchema).to_value();
        for fields in [&schema["properties"], &schema["$defs"]["override"]["properties"]] {
            let info = &fields["global_info"];
            assert_eq!(info["maxProperties"], limits::INFO_KEYS);
            assert_eq!(info["propertyNames"]["maxLength"], limits::INFO_KEY_SYMBOLS);
            assert_eq!(info["additionalProperties"]["maxLength"], limits::INFO_VALUE_SYMBOLS);
            assert_eq!(fields["headers"]["maxProperties"], limits::HEADERS);
            assert_eq!(fields["name"]["maxLength"], limits::NAME_BYTES);
            assert_eq!(fields["sender_email"]["maxLength"], limits::ADDRESS_BYTES);
            assert_eq!(fields["reply_to"]["maxLength"], limits::ADDRESS_BYTES);
            assert_eq!(fields["global_replacements"]["propertyNames"]["pattern"], TAG);
        }
        assert_eq!(schema["$defs"]["asset"]["properties"]["name"]["maxLength"], limits::ATTACHMENT_NAME_BYTES);
        let schema = schemars::schema_for!(ConfigSchema).to_value();
        assert_eq!(schema["$defs"]["defaults"]["properties"]["global_info"]["maxProperties"], limits::INFO_KEYS);
    }

    #[test]
    fn the_schema_has_the_keys_that_are_read() {
        let schema = schemars::schema_for!(ManifestSchema).to_value();
        assert_eq!(keys(&schema), set(&manifest::KEYS));
        assert_eq!(keys(&schema["$defs"]["override"]), set(&manifest::OVERRIDE_KEYS));
        let schema = schemars::schema_for!(ConfigSchema).to_value();
        assert_eq!(keys(&schema), set(&config::KEYS));
        assert_eq!(keys(&schema["$defs"]["environment"]), set(&config::ENVIRONMENT_KEYS));
        assert_eq!(keys(&schema["$defs"]["defaults"]), set(&manifest::DEFAULT_KEYS));
    }
}
