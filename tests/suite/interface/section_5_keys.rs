//! §5: the key.

use serde_json::json;

use super::Bench;
use crate::http::Client;

#[test]
fn s5_every_operation_wants_a_key_that_is_known() {
    let bench = Bench::new();
    for path in ["/suppression/list", "/system/info", "/suppression/create", "/email/subscribe", "/suppression/delete"]
    {
        bench.client.send("POST", path, &[("x-api-key", "")], b"{}").unwrap().refuses(
            401,
            9001,
            "no `X-API-KEY` header",
        );
        for wrong in ["x", "' OR 1=1 --", "\u{fc}"] {
            Client::with_key(&bench.service, wrong).post_raw(path, "{}").refuses(401, 9002, "not known");
        }
    }
    Client::with_key(&bench.service, "x").post_raw("/template/create", "{}").refuses(401, "9002", "not known");
}

#[test]
fn s5_a_wrong_key_wins_over_a_wrong_body() {
    let bench = Bench::new();
    Client::with_key(&bench.service, "x").post_raw("/system/info", "{").refuses(401, 9002, "not known");
}

#[test]
fn s5_the_header_has_no_case_and_the_key_has() {
    let bench = Bench::with(["--api-key", "CamelCase"]);
    let send = |name: &str, key: &str| {
        bench.client.send("POST", "/system/info", &[("x-api-key", ""), (name, key)], b"{}").unwrap()
    };
    send("X-Api-Key", "CamelCase").success();
    send("X-API-KEY", "camelcase").refuses(401, 9002, "not known");
}

#[test]
fn s5_a_key_that_was_chosen_replaces_the_one_before() {
    let service = Bench::new().service;
    let old = service.key.clone();
    let service = service.again(["--api-key", "chosen"]);
    assert_eq!(service.key, "chosen");
    Client::with_key(&service, &old).post("/system/info", &json!({})).refuses(401, 9002, "not known");
    Client::with_key(&service, "chosen").post("/system/info", &json!({})).success();
}

/// The ids of accounts are random; where other accounts stand beside it, the first one's keys are still the first said.
#[test]
fn s5_the_first_account_is_the_first_to_be_named() {
    let others = ["--add-project=a@example.com/A", "--add-project=b@example.com/B", "--add-project=c@example.com/C"];
    let bench = Bench::with(others);
    for client in [&bench.client, &bench.account()] {
        let info = client.post("/system/info", &json!({})).success();
        assert_eq!(info["email"], "sandbox@example.com");
    }
}
