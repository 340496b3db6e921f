//! §7: the body of every failure.

use serde_json::json;

use super::Bench;

#[test]
fn s7_code_is_a_string_in_template_create_and_a_number_elsewhere() {
    let bench = Bench::new();
    assert!(bench.client.post("/template/create", &json!({})).json()["code"].is_string());
    for path in ["/suppression/create", "/suppression/delete", "/email/subscribe", "/nothing"] {
        assert!(bench.client.post(path, &json!({})).json()["code"].is_u64(), "{path}");
    }
}

#[test]
fn s7_status_code_and_message_and_nothing_else() {
    let bench = Bench::new();
    let error = bench.release("nobody@example.com").json();
    let expected = json!({
        "status": "Error",
        "code": 3003,
        "message": "No entries for the address exist in the suppression list.",
    });
    assert_eq!(error, expected);
}

#[test]
fn s7_foreign_text_in_a_message_is_cut_and_escaped() {
    let bench = Bench::new();
    let name = format!("<script>\n{}", "x".repeat(1_000));
    let reply = bench.template(json!({ "global_replacements": { (name): "x" } }));
    assert!(reply.json()["message"].as_str().unwrap().chars().count() < 300);
    let path = format!("/{}", "x".repeat(10_000));
    let long = "x".repeat(10_000);
    for reply in [
        bench.client.send("POST", &path, &[], b"{}").unwrap(),
        bench.client.send("POST", "/system/info", &[("content-type", &long)], b"{}").unwrap(),
        bench.client.send("POST", "/system/info", &[("host", &long)], b"{}").unwrap(),
        bench.client.post_raw("/system/info", format!("{{\"{long}\":1,\"{long}\":2}}")),
    ] {
        assert!(reply.json()["message"].as_str().unwrap().chars().count() < 300, "{reply:?}");
    }
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
}
