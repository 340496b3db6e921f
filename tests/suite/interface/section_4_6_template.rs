//! §4.6: creating and editing.

use serde_json::json;

use super::{Bench, wrong_types};
use crate::http::Client;

#[test]
fn s4_6_without_an_id_every_request_creates() {
    let bench = Bench::new();
    let (one, other) = (bench.stored(json!({})), bench.stored(json!({})));
    assert_ne!(one["id"], other["id"]);
    assert_eq!(bench.service.count("SELECT count(*) FROM templates"), 2);
}

#[test]
fn s4_6_with_an_id_the_template_is_edited() {
    let bench = Bench::new();
    let id = bench.stored(json!({ "subject": "one" }))["id"].clone();
    let stored = bench.stored(json!({ "id": id, "name": "Another name", "subject": "two" }));
    assert_eq!((&stored["id"], &stored["name"], &stored["subject"]), (&id, &json!("Another name"), &json!("two")));
    assert_eq!(bench.service.count("SELECT count(*) FROM templates"), 1);
    let names = "SELECT count(*) FROM template_versions WHERE content ->> '$.subject' IN ('one', 'two')";
    assert_eq!(bench.service.count(names), 2, "every version is kept");
    let upper = id.as_str().unwrap().to_uppercase();
    assert_eq!(bench.stored(json!({ "id": upper }))["id"], id, "a UUID has no case");
}

#[test]
fn s4_6_an_unknown_id_is_refused_and_nothing_is_created() {
    let bench = Bench::new();
    let reply = bench.template(json!({ "id": "0191e0a4-0000-7000-8000-000000000001" }));
    reply.refuses(400, "9017", "no template has the id `0191e0a4-0000-7000-8000-000000000001`");
    assert_eq!(bench.service.count("SELECT count(*) FROM templates"), 0);
}

#[test]
fn s4_6_what_an_update_leaves_out_stays_and_what_is_empty_goes() {
    let bench = Bench::new();
    let full = json!({
        "body": { "html": "h", "plaintext": "p", "amp": "a" },
        "subject": "s", "sender_email": "a@example.com", "sender_name": "n", "reply_to": "r@example.com",
        "global_replacements": { "a": "b" }, "global_info": { "a": "b" }, "headers": { "X-A": "b" },
        "attachments": [{ "type": "text/plain", "name": "a.txt", "content": "aGk=" }],
        "inline_attachments": [{ "type": "text/plain", "name": "a.txt", "content": "aGk=" }],
        "check_links": 0, "check_read": 0,
    });
    let created = bench.stored(full);
    let id = created["id"].clone();
    let mut kept = bench.stored(json!({ "id": id, "body": { "html": "new" } }));
    assert_eq!(kept["body"], json!({ "html": "new", "plaintext": "p", "amp": "a" }));
    kept["body"] = created["body"].clone();
    assert_eq!(kept, created);
    let cleared = bench.stored(json!({
        "id": id, "body": { "html": "h", "plaintext": "", "amp": "" },
        "subject": "", "sender_email": "", "sender_name": "", "reply_to": "",
        "global_replacements": {}, "global_info": {}, "headers": {}, "attachments": [], "inline_attachments": [],
    }));
    let expected = json!({
        "id": id, "name": "A template", "body": { "html": "h" }, "template_builder": "html",
        "check_links": 0, "check_read": 0, "template_creator": "api",
    });
    assert_eq!(cleared, expected);
}

#[test]
fn s4_6_template_is_a_required_object() {
    let bench = Bench::new();
    bench.client.post("/template/create", &json!({})).refuses(400, "9012", "`template` is missing");
    for wrong in wrong_types("object") {
        bench.client.post("/template/create", &json!({ "template": wrong })).refuses(400, "9013", "`template` is ");
    }
}

#[test]
fn s4_6_the_answer_has_id_name_and_body() {
    let bench = Bench::new();
    let answer = bench.template(json!({})).success();
    assert_eq!(answer.as_object().map(serde_json::Map::len), Some(2), "status and template");
    let template = &answer["template"];
    assert!(template["id"].is_string());
    assert_eq!((&template["name"], &template["body"]), (&json!("A template"), &json!({ "html": "<p>Hello</p>" })));
}

#[test]
fn s4_6_a_project_key_edits_only_its_project() {
    let bench = Bench::with(["--add-project", "sandbox@example.com/Shop", "--add-project", "other@example.com/Shop"]);
    let key = |email: &str, name: &str| -> String {
        let query = "SELECT key FROM keys JOIN accounts USING (user_id) LEFT JOIN projects p USING (project_id) WHERE email = ? AND coalesce(p.name, '') = ?";
        bench.service.database().query_row(query, [email, name], |row| row.get(0)).unwrap()
    };
    let id = bench.stored(json!({}))["id"].clone();
    let edit = json!({ "template": { "id": id, "name": "Edited", "body": { "html": "x" } } });
    for stranger in [key("sandbox@example.com", "Shop"), key("other@example.com", "Shop"), key("other@example.com", "")]
    {
        let client = Client::with_key(&bench.service, &stranger);
        client.post("/template/create", &edit).refuses(400, "9017", "no template has the id");
    }
    bench.account().post("/template/create", &edit).success();
}
