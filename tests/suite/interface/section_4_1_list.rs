//! §4.1: the suppression list, its filters and its pages.

use serde_json::{Value, json};

use super::{Bench, wrong_types};

/// 120 records of two kinds, one second apart, and three more within one second.
fn bench() -> Bench {
    Bench::seeded(
        "[[suppression]]\nemail = \"a{n}@example.com\"\nreason = \"unsubscribed\"\nsource = \"subscriber\"\ncreated = \"2026-01-01 00:00:00\"\ncount = 60\n\
         [[suppression]]\nemail = \"b{n}@example.com\"\nreason = \"blocked\"\nsource = \"system\"\ncreated = \"2026-01-01 00:00:00\"\ncount = 60\n\
         [[suppression]]\nemail = \"c@example.com\"\nreason = \"blocked\"\nsource = \"user\"\ncreated = \"2026-02-01 00:00:00\"\n",
    )
}

fn pages(bench: &Bench, mut request: Value) -> Vec<Vec<Value>> {
    let mut pages = Vec::new();
    if request.get("start_position").is_none() {
        request["start_position"] = json!("");
    }
    loop {
        let answer = bench.client.post("/suppression/list", &request).success();
        let records = answer["suppressions"].as_array().unwrap().clone();
        if records.is_empty() {
            assert_eq!(answer["start_position"], request["start_position"], "the last position comes back");
            return pages;
        }
        assert_ne!(answer["start_position"], request["start_position"], "every page moves on");
        request["start_position"] = answer["start_position"].clone();
        pages.push(records);
    }
}

#[test]
fn s4_1_no_field_is_required_and_a_page_has_50() {
    let bench = bench();
    let answer = bench.client.post("/suppression/list", &json!({})).success();
    assert_eq!(answer["suppressions"].as_array().map(Vec::len), Some(50));
    assert_eq!(answer.as_object().map(serde_json::Map::len), Some(3), "status, suppressions, start_position");
}

#[test]
fn s4_1_pages_show_every_record_once_in_order() {
    let bench = bench();
    for limit in [1, 7, 50, 121, 1_000] {
        let pages = pages(&bench, json!({ "limit": limit, "start_position": "" }));
        let all: Vec<_> = pages.concat();
        assert_eq!(all.len(), 121, "limit {limit}");
        assert!(pages.iter().all(|page| page.len() <= limit));
        assert!(all.is_sorted_by_key(|record| record["created"].as_str().unwrap().to_owned()));
    }
}

#[test]
fn s4_1_limit_is_an_integer_from_1() {
    let bench = bench();
    for wrong in [0, -1] {
        bench.client.post("/suppression/list", &json!({ "limit": wrong })).refuses(400, 9014, "`limit` is less than 1");
    }
    for wrong in wrong_types("integer") {
        bench.client.post("/suppression/list", &json!({ "limit": wrong })).refuses(400, 9013, "`limit` is ");
    }
}

#[test]
fn s4_1_a_page_has_at_most_1000_whatever_limit_says() {
    let bench = Bench::seeded("[[suppression]]\nemail = \"a{n}@example.com\"\nreason = \"blocked\"\ncount = 1001\n");
    assert_eq!(bench.list(json!({ "limit": 4_000_000_000u32 })).len(), 1_000);
}

#[test]
fn s4_1_reason_and_source_filter_alone_and_together() {
    let bench = bench();
    let count = |request: Value| pages(&bench, request).concat().len();
    assert_eq!(count(json!({ "reason": "blocked" })), 61);
    assert_eq!(count(json!({ "source": "system" })), 60);
    assert_eq!(count(json!({ "reason": "blocked", "source": "system" })), 60);
    assert_eq!(count(json!({ "reason": "blocked", "source": "user" })), 1);
    assert_eq!(count(json!({ "reason": "unsubscribed", "source": "user" })), 0);
}

#[test]
fn s4_1_from_date_includes_its_second() {
    let bench = bench();
    let count = |date: &str| pages(&bench, json!({ "from_date": date })).concat().len();
    assert_eq!(count("2026-01-01 00:00:00"), 121);
    assert_eq!(count("2026-01-01 00:00:59"), 3);
    assert_eq!(count("2026-02-01 00:00:00"), 1);
    assert_eq!(count("2026-02-01 00:00:01"), 0);
}

#[test]
fn s4_1_from_date_is_ignored_when_a_position_is_given() {
    let bench = bench();
    let first = bench.client.post("/suppression/list", &json!({ "limit": 10 })).success();
    let position = first["start_position"].clone();
    let request = json!({ "start_position": position, "from_date": "2026-02-01 00:00:00", "limit": 1_000 });
    assert_eq!(bench.list(request).len(), 111);
    let request = json!({ "start_position": "", "from_date": "2026-02-01 00:00:00" });
    assert_eq!(bench.list(request).len(), 1, "an empty position is none");
}

#[test]
fn s4_1_dates_and_positions_have_their_form() {
    let bench = bench();
    for wrong in ["2026-01-01", "2026-01-01T00:00:00Z", "yesterday", "2026-13-01 00:00:00"] {
        bench.client.post("/suppression/list", &json!({ "from_date": wrong })).refuses(
            400,
            9014,
            "`YYYY-MM-DD hh:mm:ss`",
        );
        let reply = bench.client.post("/suppression/list", &json!({ "start_position": wrong }));
        reply.refuses(400, 9014, "is not a position that an answer gave");
    }
    for field in ["reason", "source", "from_date", "start_position"] {
        for wrong in wrong_types("string") {
            bench.client.post("/suppression/list", &json!({ field: wrong })).refuses(
                400,
                9013,
                &format!("`{field}` is "),
            );
        }
    }
}

#[test]
fn s4_1_records_that_come_later_are_found_from_the_last_position() {
    let bench = bench();
    let mut position = json!("");
    for _ in 0..4 {
        let answer = bench.client.post("/suppression/list", &json!({ "start_position": position })).success();
        position = answer["start_position"].clone();
    }
    bench.suppress("new@example.com", "blocked").success();
    assert_eq!(bench.list(json!({ "start_position": position })).len(), 1);
}
