//! §3: the moves of an address.

use serde_json::json;

use super::Bench;
use crate::http::Client;

#[test]
fn s3_create_suppresses_with_the_given_reason_and_source_user() {
    let bench = Bench::new();
    bench.suppress("a@example.com", "complained").success();
    let record = &bench.list(json!({}))[0];
    assert_eq!(
        (&record["reason"], &record["source"], &record["is_deletable"]),
        (&json!("complained"), &json!("user"), &json!(true))
    );
    bench.release("a@example.com").success();
    assert_eq!(bench.list(json!({})).len(), 0);
}

#[test]
fn s3_an_address_may_have_several_records() {
    let bench = Bench::new();
    for reason in ["complained", "blocked", "complained"] {
        bench.suppress("a@example.com", reason).success();
    }
    assert_eq!(bench.list(json!({})).len(), 2, "the same reason again renews its record");
    bench.release("a@example.com").success();
    assert_eq!(bench.list(json!({})).len(), 0, "all deletable records go");
}

#[test]
fn s3_delete_compares_addresses_without_case() {
    let bench = Bench::new();
    bench.suppress("Ann@Example.com", "blocked").success();
    bench.release("ann@example.COM").success();
}

#[test]
fn s3_delete_without_a_record_is_3003() {
    let bench = Bench::new();
    bench.release("nobody@example.com").refuses(400, 3003, "No entries");
}

#[test]
fn s3_delete_with_nothing_deletable_is_3004() {
    let bench =
        Bench::seeded("[[suppression]]\nemail = \"a@example.com\"\nreason = \"blocked\"\nsource = \"system\"\n");
    bench.release("a@example.com").refuses(400, 3004, "none of them can be deleted");
    assert_eq!(bench.list(json!({})).len(), 1);
}

#[test]
fn s3_delete_over_the_daily_limit_is_906_until_the_next_day() {
    let bench = Bench::with(["--deletes-per-day", "2"]);
    for n in 0..4 {
        bench.suppress(&format!("{n}@example.com"), "blocked").success();
    }
    bench.release("nobody@example.com").refuses(400, 3003, "No entries");
    bench.release("0@example.com").success();
    bench.release("1@example.com").success();
    bench.release("2@example.com").refuses(400, 906, "the daily limit of 2 deletes");
    assert_eq!(bench.list(json!({})).len(), 2);
    let tomorrow = bench.service.again(["--deletes-per-day", "2", "--clock-ahead", "86400"]);
    Client::of(&tomorrow).post("/suppression/delete", &json!({ "email": "2@example.com" })).success();
}

#[test]
fn s3_the_default_daily_limit_is_100() {
    let bench = Bench::new();
    for n in 0..101 {
        bench.suppress(&format!("{n}@example.com"), "blocked").success();
    }
    for n in 0..100 {
        bench.release(&format!("{n}@example.com")).success();
    }
    bench.release("100@example.com").refuses(400, 906, "the daily limit of 100 deletes");
}
