//! §4: what holds for every endpoint; §4.3 and §4.5: the requests that create and delete a suppression.

use serde_json::json;

use super::{Bench, wrong_types};

const PATHS: [&str; 6] = [
    "/suppression/list",
    "/system/info",
    "/suppression/create",
    "/email/subscribe",
    "/suppression/delete",
    "/template/create",
];

/// The code as the path writes it (§7).
fn code(path: &str, number: u32) -> serde_json::Value {
    if path == "/template/create" { json!(number.to_string()) } else { json!(number) }
}

#[test]
fn s4_every_endpoint_wants_post() {
    let bench = Bench::new();
    for path in PATHS {
        for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "FOO"] {
            let reply = bench.client.send(method, path, &[], b"{}").unwrap();
            reply.refuses(405, code(path, 9005), "only POST is allowed");
            assert_eq!(reply.header("allow"), Some("POST"));
        }
        let reply = bench.client.send("HEAD", path, &[], b"").unwrap();
        assert_eq!((reply.status, reply.body.len()), (405, 0));
    }
}

#[test]
fn s4_every_endpoint_wants_json() {
    let bench = Bench::new();
    for path in PATHS {
        for wrong in [
            "",
            "text/plain",
            "application/x-www-form-urlencoded",
            "application/jsonx",
            "application/json; charset=latin1",
        ] {
            let reply = bench.client.send("POST", path, &[("content-type", wrong)], b"{}").unwrap();
            reply.refuses(415, code(path, 9007), "application/json");
        }
    }
    for good in ["application/json", "Application/JSON; charset=UTF-8", "application/json;charset=\"utf-8\""] {
        bench.client.send("POST", "/system/info", &[("content-type", good)], b"{}").unwrap().success();
    }
}

#[test]
fn s4_every_endpoint_wants_an_object() {
    let bench = Bench::new();
    for path in PATHS {
        for wrong in ["", "{", "{}x", "{\"a\":}", "\u{feff}{}", "{'a':1}", "NaN"] {
            bench.client.post_raw(path, wrong).refuses(400, code(path, 9010), "the body is not JSON");
        }
        bench.client.post_raw(path, b"{\"a\":\"\xff\"}").refuses(
            400,
            code(path, 9010),
            "the first wrong byte is at offset 6",
        );
        bench.client.post_raw(path, "[".repeat(200_000)).refuses(400, code(path, 9010), "recursion limit");
        bench.client.post_raw(path, "{\"a\":1,\"a\":1}").refuses(400, code(path, 9011), "the key \"a\" is there twice");
        bench.client.post_raw(path, "[]").refuses(400, code(path, 9013), "the body is an array, not an object");
    }
}

#[test]
fn s4_an_unknown_path_is_404_in_json() {
    let bench = Bench::new();
    for path in ["/nothing", "/template/create/", "/template/Create", "//system/info", "/template/list", "/%00"] {
        bench.client.send("POST", path, &[], b"{}").unwrap().refuses(404, 9004, "there is no path");
        bench.client.send("GET", path, &[], b"").unwrap().refuses(404, 9004, "there is no path");
    }
}

#[test]
fn s4_3_email_and_reason_are_required() {
    let bench = Bench::new();
    let send = |request| bench.client.post("/suppression/create", &request);
    send(json!({ "reason": "blocked" })).refuses(400, 9012, "`email` is missing");
    send(json!({ "email": "a@example.com" })).refuses(400, 9012, "`reason` is missing");
    send(json!({ "email": "a@", "reason": "blocked" })).refuses(400, 9014, "`email` is not an email address");
    for wrong in wrong_types("string") {
        send(json!({ "email": wrong, "reason": "blocked" })).refuses(400, 9013, "`email` is ");
        send(json!({ "email": "a@example.com", "reason": wrong })).refuses(400, 9013, "`reason` is ");
        send(json!({ "email": "a@example.com", "reason": "blocked", "created": wrong })).refuses(
            400,
            9013,
            "`created` is ",
        );
    }
    let answer = send(json!({ "email": "a@example.com", "reason": "blocked" })).success();
    assert_eq!(answer, json!({ "status": "Success" }));
}

#[test]
fn s4_3_created_is_a_date_of_the_given_form() {
    let bench = Bench::new();
    let send = |created: &str| {
        let request = json!({ "email": "a@example.com", "reason": "blocked", "created": created });
        bench.client.post("/suppression/create", &request)
    };
    send("2020-02-29 23:59:59").success();
    for wrong in ["", "2026-02-29 00:00:00", "2026-01-01", "2026-01-01T00:00:00", "01.01.2026"] {
        send(wrong).refuses(400, 9014, "`created` is not a date");
    }
    assert_eq!(bench.list(json!({}))[0]["created"], "2020-02-29 23:59:59");
}

#[test]
fn s4_5_email_is_required() {
    let bench = Bench::new();
    bench.client.post("/suppression/delete", &json!({})).refuses(400, 9012, "`email` is missing");
    for wrong in wrong_types("string") {
        bench.client.post("/suppression/delete", &json!({ "email": wrong })).refuses(400, 9013, "`email` is ");
    }
    bench.suppress("a@example.com", "blocked").success();
    assert_eq!(bench.release("a@example.com").success(), json!({ "status": "Success" }));
}
