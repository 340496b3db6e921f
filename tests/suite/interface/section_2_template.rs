//! §2.5: the fields of a template, one by one.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Bench, wrong_types};

fn map(count: usize) -> BTreeMap<String, String> {
    (0..count).map(|n| (format!("X-{n}"), n.to_string())).collect()
}

#[test]
fn s2_5_every_field_refuses_other_types() {
    let bench = Bench::new();
    let fields = [
        ("id", "string"),
        ("name", "string"),
        ("body", "object"),
        ("subject", "string"),
        ("sender_email", "string"),
        ("sender_name", "string"),
        ("reply_to", "string"),
        ("template_builder", "string"),
        ("global_replacements", "object"),
        ("global_info", "object"),
        ("headers", "object"),
        ("attachments", "array"),
        ("inline_attachments", "array"),
        ("check_links", "integer"),
        ("check_read", "integer"),
    ];
    for (field, right) in fields {
        for wrong in wrong_types(right) {
            bench.template(json!({ field: wrong })).refuses(400, "9013", &format!("`template.{field}` is "));
        }
    }
    for field in ["global_replacements", "global_info", "headers"] {
        for wrong in wrong_types("string") {
            bench.template(json!({ field: { "X-a": wrong } })).refuses(
                400,
                "9013",
                &format!("`template.{field}.X-a` is "),
            );
        }
    }
    for part in ["html", "plaintext", "amp"] {
        for wrong in wrong_types("string") {
            bench.template(json!({ "body": { part: wrong } })).refuses(
                400,
                "9013",
                &format!("`template.body.{part}` is "),
            );
        }
    }
    assert_eq!(bench.service.count("SELECT count(*) FROM templates"), 0);
}

#[test]
fn s2_5_id_is_a_uuid_that_the_service_makes() {
    let bench = Bench::new();
    let id = bench.stored(json!({}))["id"].as_str().unwrap().to_owned();
    assert_eq!((id.len(), id.matches('-').count()), (36, 4));
    bench.template(json!({ "id": "7" })).refuses(400, "9014", "`template.id` is not a UUID");
    bench.template(json!({ "id": "" })).refuses(400, "9014", "`template.id` is not a UUID");
}

#[test]
fn s2_5_name_is_required_and_at_most_255_bytes() {
    let bench = Bench::new();
    bench.template(json!({ "name": null })).refuses(400, "9012", "`template.name` is missing");
    bench.template(json!({ "name": " " })).refuses(400, "9014", "`template.name` is blank");
    bench.template(json!({ "name": "a\nb" })).refuses(400, "9014", "`template.name` has a control character");
    bench.template(json!({ "name": "é".repeat(127) + "x" })).success();
    bench.template(json!({ "name": "é".repeat(128) })).refuses(400, "9015", "256 bytes, at most 255");
}

#[test]
fn s2_5_body_is_required_with_html_or_plaintext() {
    let bench = Bench::new();
    bench.template(json!({ "body": null })).refuses(400, "9012", "`template.body` is missing");
    for body in [json!({}), json!({ "amp": "x" }), json!({ "html": "", "plaintext": "" })] {
        bench.template(json!({ "body": body })).refuses(400, "9012", "neither `html` nor `plaintext`");
    }
    for body in
        [json!({ "html": "x" }), json!({ "plaintext": "x" }), json!({ "html": "x", "plaintext": "y", "amp": "z" })]
    {
        assert_eq!(bench.stored(json!({ "body": body }))["body"], body);
    }
}

#[test]
fn s2_5_bodies_come_back_byte_for_byte() {
    let bench = Bench::new();
    let html = "\u{feff}a\u{200b}\u{200c}\r\n\t\u{1f48c}\u{7f}\u{1}<>&\"'\\";
    assert_eq!(bench.stored(json!({ "body": { "html": html } }))["body"]["html"], html);
}

#[test]
fn s2_5_subject_and_sender_name_are_one_line() {
    let bench = Bench::new();
    for field in ["subject", "sender_name"] {
        assert_eq!(bench.stored(json!({ field: "Hi {{name}} ✓" }))[field], "Hi {{name}} ✓");
        for wrong in ["a\nb", "a\rb", "a\0b"] {
            bench.template(json!({ field: wrong })).refuses(400, "9014", "has a line break or NUL");
        }
    }
}

#[test]
fn s2_5_sender_email_and_reply_to_are_addresses() {
    let bench = Bench::new();
    for field in ["sender_email", "reply_to"] {
        assert_eq!(bench.stored(json!({ field: "a+b@example.com" }))[field], "a+b@example.com");
        assert_eq!(bench.stored(json!({ field: "" })).get(field), None);
        for wrong in ["x", "a@", "@b", "A <a@example.com>", "a@example.com\n", "a b@example.com", "{{sender}}"] {
            bench.template(json!({ field: wrong })).refuses(400, "9014", "is not an email address");
        }
        let long = format!("{}@example.com", "a".repeat(309));
        bench.template(json!({ field: long })).refuses(400, "9015", "321 bytes, at most 320");
    }
}

#[test]
fn s2_5_sender_email_is_not_required() {
    // "Stated as required only when `template_id` is empty": wanted when creating, so its absence is noted.
    let bench = Bench::new();
    bench.stored(json!({}));
    assert_eq!(bench.service.count("SELECT count(*) FROM requests WHERE notes LIKE '%sender_email%'"), 1);
}

#[test]
fn s2_5_template_builder_is_html_by_default() {
    let bench = Bench::new();
    assert_eq!(bench.stored(json!({}))["template_builder"], "html");
    assert_eq!(bench.stored(json!({ "template_builder": "html" }))["template_builder"], "html");
    bench.template(json!({ "template_builder": "word" })).refuses(400, "9014", "neither `html` nor `visual`");
}

#[test]
fn s2_5_a_visual_template_is_edited_but_never_created() {
    let id = "0191e0a4-0000-7000-8000-000000000001";
    let seed =
        format!("[[template]]\nid = \"{id}\"\nname = \"By hand\"\ntemplate_builder = \"visual\"\nhtml = \"x\"\n");
    let bench = Bench::seeded(&seed);
    bench.template(json!({ "template_builder": "visual" })).refuses(400, "9019", "only in the web interface");
    let html = bench.stored(json!({}))["id"].clone();
    bench.template(json!({ "id": html, "template_builder": "visual" })).refuses(400, "9019", "web interface");
    assert_eq!(bench.stored(json!({ "id": id, "template_builder": "visual" }))["template_builder"], "visual");
}

#[test]
fn s2_5_global_replacements_have_latin_names() {
    let bench = Bench::new();
    let good = json!({ "a": "", "B1": "{{c}}", "x_y-z": "ü" });
    assert_eq!(bench.stored(json!({ "global_replacements": good }))["global_replacements"], good);
    for wrong in ["", "1a", "_a", "-a", "a b", "a.b", "ä", "a{{b"] {
        bench.template(json!({ "global_replacements": { wrong: "x" } })).refuses(400, "9014", "starts with a letter");
    }
}

#[test]
fn s2_5_global_info_is_kept() {
    let bench = Bench::new();
    let info = json!({ "team": "growth", "цель": "тест" });
    assert_eq!(bench.stored(json!({ "global_info": info }))["global_info"], info);
    bench.template(json!({ "global_info": { " ": "x" } })).refuses(400, "9014", "blank key");
}

#[test]
fn s2_5_headers_that_do_not_start_with_x_are_ignored() {
    let bench = Bench::new();
    let headers = json!({ "X-SVC-Global-Language": "en", "x-svc-template-engine": "simple", "List-Id": "a", "X": "b" });
    let stored = bench.stored(json!({ "headers": headers }));
    assert_eq!(stored["headers"], json!({ "X-SVC-Global-Language": "en", "x-svc-template-engine": "simple" }));
    assert_eq!(bench.service.count("SELECT count(*) FROM requests WHERE notes LIKE '%header `List-Id`%'"), 1);
}

#[test]
fn s2_5_headers_are_names_and_one_line_values() {
    let bench = Bench::new();
    for wrong in ["", "X A", "X-Ä", "X:A", "X-A\n"] {
        bench.template(json!({ "headers": { wrong: "x" } })).refuses(400, "9014", "is not a header name");
    }
    bench.template(json!({ "headers": { "X-A": "1", "x-a": "2" } })).refuses(400, "9014", "compared without case");
    bench.template(json!({ "headers": { "X-A": "1\r\nBcc: b@example.com" } })).refuses(400, "9014", "line break");
}

#[test]
fn s2_5_tracking_is_on_by_default_and_0_or_1() {
    let bench = Bench::new();
    for field in ["check_links", "check_read"] {
        assert_eq!(bench.stored(json!({}))[field], 1);
        for value in [0, 1] {
            assert_eq!(bench.stored(json!({ field: value }))[field], value);
        }
        for wrong in [2, -1, 256] {
            bench.template(json!({ field: wrong })).refuses(400, "9014", "is neither 0 nor 1");
        }
    }
}

#[test]
fn s2_5_template_creator_appears_in_the_response_only() {
    let bench = Bench::new();
    assert_eq!(bench.stored(json!({ "template_creator": "me" }))["template_creator"], "api");
    assert_eq!(bench.service.count("SELECT count(*) FROM requests WHERE notes LIKE '%template_creator%'"), 1);
}

#[test]
fn s2_5_unknown_fields_are_ignored_and_noted_or_refused_when_strict() {
    let request = json!({ "colour": "red", "body": { "html": "x", "markdown": "y" } });
    let bench = Bench::new();
    let stored = bench.stored(request.clone());
    assert_eq!((stored.get("colour"), stored["body"].get("markdown")), (None, None));
    let notes = "SELECT count(*) FROM requests WHERE notes LIKE '%`template.colour`%' AND notes LIKE '%`template.body.markdown`%'";
    assert_eq!(bench.service.count(notes), 1);
    Bench::with(["--strict"]).template(request).refuses(400, "9016", "is not a field of this request");
}

#[test]
fn s2_5_null_counts_as_absent() {
    let bench = Bench::new();
    let template: Value = json!({ "name": "x", "body": { "html": "y", "amp": null }, "id": null, "headers": null });
    let reply = bench.client.post("/template/create", &json!({ "template": template }));
    assert_eq!(reply.success()["template"].get("headers"), None);
}

#[test]
fn s2_5_and_s8_at_most_50_headers() {
    let bench = Bench::new();
    assert_eq!(bench.stored(json!({ "headers": map(50) }))["headers"], json!(map(50)));
    bench.template(json!({ "headers": map(51) })).refuses(400, "9015", "51 headers, at most 50");
}

#[test]
fn s2_5_and_s8_global_info_limits() {
    let bench = Bench::new();
    bench.template(json!({ "global_info": map(10) })).success();
    bench.template(json!({ "global_info": map(11) })).refuses(400, "9015", "11 keys, at most 10");
    let emoji = |n: usize| "\u{1f48c}".repeat(n);
    bench.template(json!({ "global_info": { (emoji(64)): "x" } })).success();
    bench.template(json!({ "global_info": { (emoji(65)): "x" } })).refuses(
        400,
        "9015",
        "65 symbols in its key, at most 64",
    );
    bench.template(json!({ "global_info": { "k": emoji(1_024) } })).success();
    let reply = bench.template(json!({ "global_info": { "k": emoji(1_025) } }));
    reply.refuses(400, "9015", "`template.global_info.k` has 1025 symbols in its value, at most 1024");
}
