//! The service described in OpenAPI 3.1, generated from [`crate::wire`] and [`crate::limits`], served at `/openapi.json`.
//!
//! The shapes come from the types themselves; what a type cannot say (enumerations, lengths, forms) is added here from the same
//! constants that the checks use, and only where the service really refuses anything else.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::refusal::TABLE;
use crate::limits;
use crate::wire::{self, API_KEY_HEADER, path};

/// The whole description.
pub fn description(base_url: &str) -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    let operations = [
        operation::<wire::SuppressionListRequest, wire::SuppressionListAnswer>(
            &mut generator,
            path::SUPPRESSION_LIST,
            "§4.1 A page of the suppression list",
        ),
        operation::<NoFields, wire::SystemInfo>(&mut generator, path::SYSTEM_INFO, "§4.2 Whom the API key belongs to"),
        operation::<wire::SuppressionCreateRequest, wire::StatusAnswer>(
            &mut generator,
            path::SUPPRESSION_CREATE,
            "§4.3 Suppress an address",
        ),
        operation::<wire::SubscribeRequest, wire::StatusAnswer>(
            &mut generator,
            path::EMAIL_SUBSCRIBE,
            "§4.4 Send a renewal mail",
        ),
        operation::<wire::SuppressionDeleteRequest, wire::StatusAnswer>(
            &mut generator,
            path::SUPPRESSION_DELETE,
            "§4.5 Free an address",
        ),
        operation::<wire::TemplateRequest, wire::TemplateAnswer>(
            &mut generator,
            path::TEMPLATE_CREATE,
            "§4.6 Create a template, or edit the one with this id",
        ),
    ];
    for (path, operation) in operations {
        paths.insert(path.to_owned(), json!({ "post": operation }));
    }
    let mut schemas: Map<String, Value> = generator.take_definitions(true);
    schemas.insert("Error".to_owned(), error(&json!({ "type": "integer" })));
    schemas.insert("TemplateError".to_owned(), error(&json!({ "type": "string" })));
    let mut description = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Email suppressions and templates, as the sandbox of letterpress serves them",
            "version": env!("CARGO_PKG_VERSION"),
            "description": codes(),
        },
        "servers": [{ "url": base_url }],
        "security": [{ "key": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "key": { "type": "apiKey", "in": "header", "name": API_KEY_HEADER } },
            "schemas": schemas,
        },
    });
    for (pointer, addition) in additions() {
        let place = format!("/components/schemas/{pointer}");
        if let (Some(Value::Object(schema)), Value::Object(addition)) = (description.pointer_mut(&place), addition) {
            schema.extend(addition);
        }
    }
    description
}

/// A request whose object may be empty (`interface §4.2`).
#[derive(JsonSchema)]
struct NoFields {}

fn operation<Request: JsonSchema, Answer: JsonSchema>(
    generator: &mut SchemaGenerator,
    path: &'static str,
    summary: &str,
) -> (&'static str, Value) {
    let request: Schema = generator.subschema_for::<Request>();
    let answer: Schema = generator.subschema_for::<Answer>();
    let error = if path == path::TEMPLATE_CREATE { "TemplateError" } else { "Error" };
    let name = path.trim_start_matches('/').replace('/', "-");
    let operation = json!({
        "operationId": name,
        "summary": summary,
        "requestBody": { "required": true, "content": { "application/json": { "schema": request } } },
        "responses": {
            "200": { "description": "`Success`", "content": { "application/json": { "schema": answer } } },
            "default": {
                "description": "`Error` (interface §7)",
                "content": { "application/json": { "schema": { "$ref": format!("#/components/schemas/{error}") } } },
            },
        },
    });
    (path, operation)
}

/// `interface §7`
fn error(code: &Value) -> Value {
    json!({
        "type": "object",
        "properties": { "status": { "const": "Error" }, "code": code, "message": { "type": "string" } },
        "required": ["status", "code", "message"],
    })
}

fn codes() -> String {
    let mut text =
        "Codes below 9000 are the interface's; the others, and every HTTP status, are the sandbox's own.\n\n\
        | code | status | meaning |\n|---|---|---|\n"
            .to_owned();
    for kind in TABLE {
        text.push_str(&format!("| {} | {} | {} |\n", kind.code, kind.http.as_u16(), kind.meaning));
    }
    text
}

const ONE_LINE: &str = r"^[^\r\n\x00]*$";
const NOT_BLANK: &str = r"^[^\x00-\x1f\x7f-\x9f]*[^\x00-\x20\x7f-\xa0][^\x00-\x1f\x7f-\x9f]*$";
const MIME: &str = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+/[A-Za-z0-9!#$%&'*+.^_`|~-]+(;[^\x00-\x1f\x7f-\x9f]*)?$";
const FILE_NAME: &str = r#"^[^/\\"\x00-\x1f\x7f-\x9f]+\.[^./\\"\x00-\x1f\x7f-\x9f]+$"#;
const BASE64: &str = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

/// What the types do not say, by the place in `components/schemas`.
fn additions() -> Vec<(&'static str, Value)> {
    let date = json!({ "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$" });
    let reasons: Vec<Value> = wire::REASONS.map(Value::from).into_iter().chain([Value::Null]).collect();
    let sources: Vec<Value> = wire::SOURCES.map(Value::from).into_iter().chain([Value::Null]).collect();
    let address = json!({ "format": "email", "maxLength": limits::ADDRESS_BYTES });
    let switch = json!({ "enum": [0, 1, null] });
    vec![
        ("SuppressionListRequest/properties/reason", json!({ "enum": reasons })),
        ("SuppressionListRequest/properties/source", json!({ "enum": sources })),
        ("SuppressionListRequest/properties/from_date", date.clone()),
        ("SuppressionListRequest/properties/limit", json!({ "minimum": 1 })),
        ("SuppressionCreateRequest/properties/email", address.clone()),
        ("SuppressionCreateRequest/properties/reason", json!({ "enum": wire::REASONS })),
        ("SuppressionCreateRequest/properties/created", date),
        ("SuppressionDeleteRequest/properties/email", address.clone()),
        ("SubscribeRequest/properties/sender_email", address.clone()),
        ("SubscribeRequest/properties/sender_name", json!({ "pattern": NOT_BLANK })),
        ("SubscribeRequest/properties/recipient_email", address),
        ("Suppression/properties/project_id", json!({ "maxLength": limits::PROJECT_ID_CHARS })),
        ("SystemInfo/properties/project_id", json!({ "maxLength": limits::PROJECT_ID_CHARS })),
        ("Template/properties/id", json!({ "format": "uuid" })),
        ("Template/properties/name", json!({ "pattern": NOT_BLANK, "maxLength": limits::NAME_BYTES })),
        ("Template/properties/subject", json!({ "pattern": ONE_LINE })),
        ("Template/properties/sender_name", json!({ "pattern": ONE_LINE })),
        ("Template/properties/template_builder", json!({ "enum": ["html", "visual", null] })),
        (
            "Template/properties/global_replacements",
            json!({ "propertyNames": { "pattern": "^[A-Za-z][A-Za-z0-9_-]*$" } }),
        ),
        (
            "Template/properties/global_info",
            json!({
                "maxProperties": limits::INFO_KEYS,
                "propertyNames": { "minLength": 1, "maxLength": limits::INFO_KEY_SYMBOLS },
                "additionalProperties": { "type": "string", "maxLength": limits::INFO_VALUE_SYMBOLS },
            }),
        ),
        (
            "Template/properties/headers",
            json!({
                "maxProperties": limits::HEADERS,
                "propertyNames": { "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" },
                "additionalProperties": { "type": "string", "pattern": ONE_LINE },
            }),
        ),
        ("Attachment/properties/type", json!({ "pattern": MIME })),
        ("Template/properties/check_links", switch.clone()),
        ("Template/properties/check_read", switch),
        (
            "Attachment/properties/content",
            json!({ "minLength": 4, "maxLength": limits::ATTACHMENT_BASE64, "pattern": BASE64, "contentEncoding": "base64" }),
        ),
        ("Attachment/properties/name", json!({ "pattern": FILE_NAME, "maxLength": limits::ATTACHMENT_NAME_BYTES })),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_addition_has_its_place() {
        let description = description("http://127.0.0.1:1");
        for (pointer, addition) in additions() {
            let place = description.pointer(&format!("/components/schemas/{pointer}"));
            let place =
                place.and_then(Value::as_object).unwrap_or_else(|| panic!("{pointer} is not in the description"));
            for (name, value) in addition.as_object().unwrap() {
                assert_eq!(&place[name], value, "{pointer}");
            }
        }
    }

    #[test]
    fn every_reference_is_there() {
        fn walk(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(map) => {
                    found.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
                    map.values().for_each(|value| walk(value, found));
                }
                Value::Array(items) => items.iter().for_each(|value| walk(value, found)),
                _ => {}
            }
        }
        let description = description("http://127.0.0.1:1");
        let mut references = Vec::new();
        walk(&description, &mut references);
        assert!(references.len() > 12, "{references:?}");
        for reference in references {
            assert!(description.pointer(&reference[1..]).is_some(), "{reference}");
        }
    }
}
