//! §2.4 and §4.2: `/system/info`.

use serde_json::{Value, json};

use super::Bench;

fn info(bench: &Bench) -> Value {
    bench.client.post("/system/info", &json!({})).success()
}

#[test]
fn s2_4_status_user_id_and_email() {
    let info = info(&Bench::new());
    assert_eq!(info["status"], "Success");
    assert!(info["user_id"].as_u64().is_some_and(|id| id > 0), "{info}");
    assert_eq!(info["email"], "sandbox@example.com");
}

#[test]
fn s2_4_project_id_is_ascii_of_at_most_36_characters() {
    let info = info(&Bench::new());
    let id = info["project_id"].as_str().unwrap();
    assert!(id.is_ascii() && (1..=36).contains(&id.len()), "{id}");
}

#[test]
fn s2_4_project_fields_are_there_for_a_project_key_only() {
    let bench = Bench::new();
    assert_eq!(info(&bench)["project_name"], "Sandbox");
    let account = bench.account().post("/system/info", &json!({})).success();
    assert_eq!((account.get("project_id"), account.get("project_name")), (None, None));
    assert_eq!(account["user_id"], info(&bench)["user_id"]);
}

#[test]
fn s2_4_project_name_is_unique_within_the_account() {
    let bench =
        Bench::with(["--add-project", "sandbox@example.com/Sandbox", "--add-project", "sandbox@example.com/Shop"]);
    assert_eq!(bench.service.count("SELECT count(*) FROM projects"), 2);
}

#[test]
fn s2_4_the_period_is_a_month_in_utc() {
    let info = info(&Bench::new());
    let details = &info["account_details"];
    let (start, end) = (details["start_period"].as_str().unwrap(), details["end_period"].as_str().unwrap());
    assert!(start.ends_with("-01 00:00:00") && end.ends_with("-01 00:00:00") && start < end, "{details}");
    assert_eq!((start.len(), end.len()), (19, 19));
}

#[test]
fn s2_4_counters_are_integers_and_emails_sent_counts_mails() {
    let bench = Bench::seeded(
        "[[suppression]]\nemail = \"a@example.com\"\nreason = \"unsubscribed\"\nsource = \"subscriber\"\n",
    );
    let details = info(&bench)["account_details"].clone();
    assert!(details["emails_by_period"].is_i64() && details["emails_sent"] == 0, "{details}");
    bench.subscribe("a@example.com").success();
    assert_eq!(info(&bench)["account_details"]["emails_sent"], 1);
}

#[test]
fn s4_2_the_request_is_an_object_that_may_be_empty() {
    let bench = Bench::new();
    bench.client.post_raw("/system/info", "{}").success();
    bench.client.post_raw("/system/info", "").refuses(400, 9010, "not JSON");
    bench.client.post_raw("/system/info", "[]").refuses(400, 9013, "the body is an array, not an object");
}
