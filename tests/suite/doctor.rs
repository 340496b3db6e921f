//! `doctor`: each line with its verdict and its mend, and the exit code that an apply would end with.

use crate::account::project;
use crate::bucket::{Bucket, Honesty};
use crate::support::{Outcome, Project, Service};

/// The verdict of a check in the JSON form.
#[track_caller]
fn verdict(outcome: &Outcome, what: &str) -> String {
    let json = outcome.json();
    let checks = json["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["what"] == what).unwrap_or_else(|| panic!("no {what}\n{outcome}"));
    found["verdict"].as_str().unwrap().to_owned()
}

const JSON: [&str; 3] = ["doctor", "--format", "json"];

#[test]
fn a_project_that_works_passes() {
    let project = Project::new().template("welcome");
    let _ = project.run(["apply", "--yes"]).exits(0);
    let outcome = project.run(JSON).exits(0);
    assert_eq!(outcome.json()["format"], 1);
    for what in
        ["config", "templates", "key", "proxy", "service", "account", "project", "clock", "state", "state account"]
    {
        assert_eq!(verdict(&outcome, what), "pass", "{what}\n{outcome}");
    }
    let _ = project.run(["doctor"]).exits(0).stderr_has("an apply to `local` can work");
}

#[test]
fn it_asks_once_and_writes_nothing() {
    let service = Service::start();
    let project = project(&service, "").template("welcome");
    let _ = project.run(["state", "init"]).exits(0);
    let before = service.count("SELECT count(*) FROM requests");
    let outcome = project.run(JSON).exits(0);
    assert_eq!(service.count("SELECT count(*) FROM requests"), before + 1);
    assert_eq!(verdict(&outcome, "project"), "warn", "letterpress.toml names none");
    assert!(!outcome.stdout.contains(&service.key));
}

#[test]
fn each_trouble_has_its_line_its_mend_and_its_code() {
    let service = Service::start();
    let good = || project(&service, "").template("welcome");
    let _ = good().run(["doctor"]).exits(5).stdout_has("fail  state").stdout_has("`letterpress state init`");

    let no_key = good().variable("LETTERPRESS_API_KEY", "").run(JSON).exits(5);
    assert_eq!((verdict(&no_key, "key"), verdict(&no_key, "service")), ("fail".into(), "skip".into()));

    let refused = good().variable("LETTERPRESS_API_KEY", "wrong-wrong-wrong");
    let refused = refused.run(["doctor"]).exits(5).stdout_has("the API key is refused (HTTP 401)");
    let _ = refused.lacks("wrong-wrong");

    let proxy = good().variable("HTTPS_PROXY", "http://me:secret@127.0.0.1:1");
    let _ = proxy.run(["doctor"]).exits(5).stdout_has("not used for this machine").lacks("secret");

    let bad = good();
    let _ = bad.run(["state", "init"]).exits(0);
    bad.write("templates/welcome/manifest.yaml", "name: [");
    let _ = bad.run(["doctor"]).exits(3).stdout_has("fail  templates").stdout_has("`letterpress validate` shows them");
}

#[test]
fn the_key_of_another_account_is_found_out() {
    let (service, other) = (Service::start(), Service::with(["--add-project", "me@example.com/Shop"]));
    let ours = project(&service, "").template("welcome");
    let _ = ours.run(["state", "init"]).exits(0);
    let config = ours.read("letterpress.toml").replace(&service.url, &other.url);
    ours.write("letterpress.toml", config);
    let ours = ours.variable("LETTERPRESS_API_KEY", &other.key);
    let _ = ours.run(["doctor"]).exits(7).stdout_has("fail  state account").stdout_has("the state belongs to project");
}

#[test]
fn a_dead_service_fails_its_line_only() {
    let service = Service::start();
    let project = project(&service, "").template("welcome");
    let _ = project.run(["state", "init"]).exits(0);
    drop(service);
    let outcome = project.run(JSON).exits(1);
    assert_eq!((verdict(&outcome, "service"), verdict(&outcome, "state")), ("fail".into(), "pass".into()));
}

#[cfg(unix)]
#[test]
fn a_key_file_that_others_can_read_is_a_warning() {
    use std::os::unix::fs::PermissionsExt as _;
    let service = Service::start();
    let project = project(&service, "api_key_file = \"key.txt\"\n").template("welcome").file("key.txt", &service.key);
    let _ = project.run(["state", "init"]).exits(0);
    std::fs::set_permissions(project.path("key.txt"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let _ = project.run(["doctor"]).exits(0).stdout_has("chmod 600 key.txt");
    std::fs::set_permissions(project.path("key.txt"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let _ = project.run(["doctor"]).exits(0).lacks("chmod");
}

#[test]
fn a_bucket_is_raced_and_its_credentials_are_named() {
    for (honesty, code) in [(Honesty::Atomic, 0), (Honesty::TwoSteps, 5)] {
        let bucket = Bucket::start(honesty);
        let toml = format!(
            "environment = \"local\"\n\n[environments.local]\nbase_url = \"sandbox\"\nstate = \"{}\"\n",
            bucket.place("state")
        );
        let project = Project::empty().file("letterpress.toml", toml).template("welcome");
        let project = bucket.variables().iter().fold(project, |project, (name, value)| project.variable(name, value));
        let outcome = project.run(JSON).exits(code);
        assert_eq!(verdict(&outcome, "store"), if code == 0 { "pass" } else { "fail" }, "{outcome}");
        assert_eq!(verdict(&outcome, "credentials"), "pass", "{outcome}");
        assert!(outcome.stdout.contains("AWS_ACCESS_KEY_ID"), "{outcome}");
        let refused = project.variable("AWS_PROFILE", "nobody").run(["doctor"]).exits(1);
        let _ = refused.stdout_has("the AWS profile `nobody` is not in");
    }
}
