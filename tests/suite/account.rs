//! `account`, and what every command that connects does first: the right key, the right project, or nothing (product.md exit 7).

use crate::support::{Project, Service};

/// A project with the environment `remote` at a service.
pub fn project(service: &Service, more: &str) -> Project {
    Project::empty()
        .file(
            "letterpress.toml",
            format!("environment = \"remote\"\n\n[environments.remote]\nbase_url = \"{}\"\n{more}", service.url),
        )
        .variable("LETTERPRESS_API_KEY", &service.key)
}

#[test]
fn it_names_account_project_and_period() {
    let service = Service::start();
    let project = project(&service, "");
    project.run(["account"]).exits(0).stdout_has("sandbox@example.com").stdout_has("0 of 100,000 sent, 0 %");
    let json = project.run(["account", "--format", "json"]).exits(0).json();
    assert_eq!(json["format"], 1);
    assert_eq!(json["email"], "sandbox@example.com");
    assert_eq!(json["base_url"], service.url.as_str());
    assert_eq!(json["period"]["emails_included"], 100_000);
}

#[test]
fn the_built_in_service_needs_no_key() {
    let project = Project::new();
    let json = project.run(["account", "--format", "json"]).exits(0).json();
    assert_eq!(json["base_url"], "sandbox");
    let again = project.run(["account", "--format", "json"]).exits(0).json();
    assert_eq!(json["project_id"], again["project_id"], "the database stays");
}

#[test]
fn without_a_key_the_variable_is_named() {
    let service = Service::start();
    let project = project(&service, "api_key_env = \"SHOP_KEY\"\n");
    project.run(["account"]).exits(7).stderr_has("`SHOP_KEY` is not set").lacks(&service.key);
}

#[test]
fn a_refused_key_ends_with_7_and_is_not_shown() {
    let service = Service::start();
    let project = project(&service, "api_key_env = \"SHOP_KEY\"\n").variable("SHOP_KEY", "canary-4711-canary");
    project
        .run(["account"])
        .exits(7)
        .stderr_has("the API key is refused (HTTP 401)")
        .stderr_has("the variable `SHOP_KEY`")
        .lacks("canary-4711");
}

#[test]
fn a_key_can_come_from_a_file() {
    let service = Service::start();
    let project = project(&service, "api_key_file = \"key.txt\"\n");
    project.run(["account"]).exits(7).stderr_has("key.txt");
    project.write("key.txt", format!("{}\n", service.key));
    project.run(["account"]).exits(0);
    project.write("key.txt", "\n");
    project.run(["account"]).exits(7).stderr_has("holds no API key");
    project.write("key.txt", "two words");
    project.run(["account"]).exits(7).stderr_has("blanks").lacks("two words");
}

#[test]
fn the_key_of_another_project_is_refused() {
    let service = Service::start();
    let project = project(&service, "project_id = \"another\"\n");
    project.run(["account"]).exits(7).stderr_has("to project `another`").stderr_has("nothing was sent");
    let project = project.variable("LETTERPRESS_API_KEY", &service.account_key);
    project.run(["account"]).exits(7).stderr_has("no project (it is an account key)");
}

#[test]
fn plain_http_is_taken_only_for_this_machine() {
    let project =
        Project::empty().file("letterpress.toml", "[environments.a]\nbase_url = \"http://api.example.com\"\n");
    project.run(["account"]).exits(3).stderr_has("use `https://`");
}

#[test]
fn every_bad_answer_gets_one_clear_message() {
    let cases = [
        ("answer = \"html\"", 1, "it is not the service's JSON"),
        ("answer = \"truncate\"", 1, "no usable answer"),
        ("answer = \"drop\"", 1, "no usable answer"),
        ("answer = \"status\"\nstatus = 503", 1, "HTTP 503"),
        ("answer = \"status\"\nstatus = 403", 7, "the API key is refused (HTTP 403)"),
        ("answer = \"error-in-200\"", 1, "refused: "),
        ("answer = \"error-in-200\"\ncode = \"string\"", 1, "refused: "),
        (
            "answer = \"redirect\"\nlocation = \"http://127.0.0.1:1/elsewhere\"",
            1,
            "redirect (HTTP 307) to http://127.0.0.1:1/elsewhere",
        ),
        ("answer = \"status\"\nstatus = 429\nretry_after = 0", 1, "fewer requests (HTTP 429)"),
    ];
    for (fault, code, words) in cases {
        let service = Service::with_faults(&format!("[[rule]]\n{fault}\n"));
        let outcome = project(&service, "").run(["account"]).exits(code).stderr_has(words).lacks(&service.key);
        assert_eq!(outcome.stderr.matches("error: ").count(), 1, "{outcome}");
    }
}

#[test]
fn a_dead_service_is_named_as_such() {
    let service = Service::start();
    let project = project(&service, "");
    drop(service);
    project.run(["account"]).exits(1).stderr_has("the request was not sent").stderr_has("letterpress doctor -e remote");
}

#[test]
fn an_answer_that_fails_twice_is_asked_for_a_third_time() {
    let service = Service::with_faults("[[rule]]\nrequests = \"1-2\"\nanswer = \"status\"\nstatus = 503\n");
    project(&service, "").run(["account"]).exits(0);
    assert_eq!(service.count("SELECT count(*) FROM requests"), 3);
}
