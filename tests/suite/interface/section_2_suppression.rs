//! §2.1 reasons, §2.2 sources, §2.3 the record.

use serde_json::json;

use super::Bench;

#[test]
fn s2_1_every_reason_can_be_given_and_is_listed() {
    let bench = Bench::new();
    for reason in ["unsubscribed", "temporary_unavailable", "permanent_unavailable", "complained", "blocked"] {
        bench.suppress(&format!("{reason}@example.com"), reason).success();
        let records = bench.list(json!({ "reason": reason }));
        assert_eq!((records.len(), &records[0]["reason"]), (1, &json!(reason)));
    }
}

#[test]
fn s2_1_another_reason_is_refused_in_requests() {
    let bench = Bench::new();
    bench.suppress("a@example.com", "bored").refuses(400, 9014, "`reason` is `bored`");
    bench.client.post("/suppression/list", &json!({ "reason": "bored" })).refuses(400, 9014, "`reason`");
}

#[test]
fn s2_1_an_unknown_reason_reaches_the_client() {
    let bench =
        Bench::seeded("[[suppression]]\nemail = \"a@example.com\"\nreason = \"moved_away\"\nsource = \"oracle\"\n");
    let record = &bench.list(json!({}))[0];
    assert_eq!((record["reason"].as_str(), record["source"].as_str()), (Some("moved_away"), Some("oracle")));
}

#[test]
fn s2_2_source_user_is_what_a_request_makes() {
    let bench = Bench::new();
    bench.suppress("a@example.com", "blocked").success();
    assert_eq!(bench.list(json!({}))[0]["source"], "user");
}

#[test]
fn s2_2_sources_system_and_subscriber_are_listed() {
    let bench = Bench::seeded(
        "[[suppression]]\nemail = \"a@example.com\"\nreason = \"permanent_unavailable\"\nsource = \"system\"\n\
         [[suppression]]\nemail = \"b@example.com\"\nreason = \"complained\"\nsource = \"subscriber\"\n",
    );
    for source in ["system", "subscriber"] {
        assert_eq!(bench.list(json!({ "source": source })).len(), 1);
    }
    assert_eq!(bench.list(json!({ "source": "user" })).len(), 0);
    bench.client.post("/suppression/list", &json!({ "source": "gods" })).refuses(400, 9014, "`source` is `gods`");
}

#[test]
fn s2_3_the_record_has_exactly_the_documented_fields() {
    let bench = Bench::new();
    let request = json!({ "email": "a@example.com", "reason": "blocked", "created": "2026-01-02 03:04:05" });
    bench.client.post("/suppression/create", &request).success();
    let info = bench.client.post("/system/info", &json!({})).success();
    let expected = json!({
        "reason": "blocked",
        "source": "user",
        "created": "2026-01-02 03:04:05",
        "project_id": info["project_id"],
        "is_deletable": true,
    });
    assert_eq!(bench.list(json!({})), [expected]);
}

#[test]
fn s2_3_project_id_is_absent_where_the_record_belongs_to_no_project() {
    let bench = Bench::new();
    let account = bench.account();
    account.post("/suppression/create", &json!({ "email": "a@example.com", "reason": "blocked" })).success();
    let listed = account.post("/suppression/list", &json!({})).success();
    assert_eq!(listed["suppressions"][0].get("project_id"), None);
    assert_eq!(bench.list(json!({})).len(), 0, "a project key sees the records of its project");
}

#[test]
fn s2_3_created_is_now_in_utc_when_it_is_not_given() {
    let bench = Bench::new();
    bench.suppress("a@example.com", "blocked").success();
    let created = bench.list(json!({}))[0]["created"].as_str().unwrap().to_owned();
    let at: String = bench
        .service
        .database()
        .query_row("SELECT at FROM requests WHERE path = '/suppression/create'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(created, at);
}

#[test]
fn s2_3_is_deletable_tells_whether_delete_removes_it() {
    let bench =
        Bench::seeded("[[suppression]]\nemail = \"a@example.com\"\nreason = \"blocked\"\nsource = \"system\"\n");
    assert_eq!(bench.list(json!({}))[0]["is_deletable"], false);
    bench.release("a@example.com").refuses(400, 3004, "none of them can be deleted");
    bench.suppress("a@example.com", "unsubscribed").success();
    bench.release("a@example.com").success();
    assert_eq!(bench.list(json!({})).len(), 1, "only the record that is not deletable is left");
}
