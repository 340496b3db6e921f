//! `apply --format json`: whatever happens, the last line of the stream has the exit code and what happened to the templates.

use std::net::TcpListener;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::proxy::{Deed, Proxy};
use crate::support::{Outcome, Project, Service};

/// The last line, whose code must be the process's, without its moment; every line before it must be an event too.
#[track_caller]
fn last(outcome: &Outcome) -> Value {
    let events: Vec<Value> =
        outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{outcome}"))).collect();
    let exits = events.iter().filter(|event| event["event"] == "exit").count();
    assert_eq!(exits, 1, "{outcome}");
    let mut last = events.last().unwrap_or_else(|| panic!("no event: {outcome}")).clone();
    assert!(last["event"] == "exit" && last["format"] == 1, "{outcome}");
    assert_eq!(last["code"], outcome.code, "{outcome}");
    last.as_object_mut().unwrap().remove("at").unwrap();
    last
}

/// Runs an apply that must fail before it begins, with this code and this in its reason.
#[track_caller]
fn fails(project: &Project, arguments: &[&str], code: i32, why: &str) {
    let outcome = project.run(["apply", "--format", "json"].iter().chain(arguments)).exits(code);
    let last = last(&outcome);
    assert!(last["error"].as_str().is_some_and(|error| error.contains(why)), "{outcome}");
    for count in ["applied", "refused", "failed", "unknown", "not_attempted"] {
        assert_eq!(last[count], 0, "{outcome}");
    }
    let outcome = outcome.stderr_has("error");
    assert!(!outcome.stdout.contains("\"event\":\"started\""), "{outcome}");
}

fn exit(code: i32, applied: u64, refused: u64) -> Value {
    json!({
        "format": 1, "event": "exit", "code": code,
        "applied": applied, "refused": refused, "failed": 0, "unknown": 0, "not_attempted": 0,
    })
}

fn at(url: &str, key: &str) -> Project {
    let config = format!(
        "environment = \"remote\"\n[environments.remote]\nbase_url = \"{url}\"\nstate = \"file:state\"\nconcurrency = 1\n"
    );
    Project::empty().file("letterpress.toml", config).variable("LETTERPRESS_API_KEY", key).template("welcome")
}

#[test]
fn of_an_apply_that_cannot_begin() {
    fails(&Project::empty(), &["--yes"], 1, "letterpress.toml");
    fails(&Project::empty().file("letterpress.toml", "templates = 1\n"), &["--yes"], 3, "1 error");
    let project = Project::new().template("welcome");
    fails(&project, &[], 64, "--yes");
    fails(&project, &["--yes", "-e", "nowhere"], 64, "nowhere");
    fails(&project, &["--yes", "--only", "["], 64, "[");
    fails(&project, &["--yes", "missing.json"], 5, "missing.json");
    fails(&project, &["--yes", "--plan-digest", "0"], 5, "digest");
    fails(&project, &["--yes", "--from", "nowhere"], 64, "nowhere");
    project.write("templates/welcome/body.html", "{{ broken");
    fails(&project, &["--yes"], 3, "error");
    project.write_template("welcome", "Hello");
    let adopts = |key: &str| {
        let manifest = project.read(&format!("templates/{key}/manifest.yaml"));
        project.write(&format!("templates/{key}/manifest.yaml"), manifest + "ids: { local: one }\n");
    };
    project.write_template("other", "Hello");
    adopts("welcome");
    adopts("other");
    fails(&project, &["--yes"], 3, "conflict");
}

#[test]
fn of_an_apply_that_the_service_or_the_state_keeps_from_beginning() {
    let service = Service::start();
    fails(&at(&service.url, "another-key"), &["--yes"], 7, "key");
    let project = at(&service.url, &service.key);
    fails(&project, &["--yes"], 5, "state");
    project.run(["state", "init"]).exits(0);
    project.write("state/head.json", "");
    fails(&project, &["--yes"], 5, "head.json");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    fails(&at(&format!("http://{nobody}"), "key"), &["--yes"], 1, "");
}

#[test]
fn of_one_that_does_its_work_all_some_or_none() {
    let project = Project::new().template("welcome").template("receipt");
    let run = |code| last(&project.run(["apply", "--yes", "--format", "json"]).exits(code));
    assert_eq!(run(0), exit(0, 2, 0));
    assert_eq!(run(0), exit(0, 0, 0), "nothing to do");

    let refusing = "[[rule]]\npath = \"/template/create\"\nrequests = \"2\"\nanswer = \"status\"\nstatus = 400\n";
    let service = Service::with_faults(refusing);
    let project = at(&service.url, &service.key);
    project.write_template("receipt", "Hello");
    let manifest = project.read("templates/receipt/manifest.yaml").replace("name: receipt", "name: \"##[group]a\"");
    project.write("templates/receipt/manifest.yaml", &manifest);
    project.run(["state", "init"]).exits(0);
    let outcome = project.run(["apply", "--yes", "--format", "json"]).exits(6);
    assert_eq!(last(&outcome), exit(6, 1, 1));
    // Nothing in a line comes to life in a CI.
    let outcome = outcome.stdout_has("\"event\":\"refused\"").stdout_has("group]a");
    assert!(!outcome.stdout.contains("##["), "{outcome}");
    let outcome = project.run(["plan", "--format", "json"]).exits(0).stdout_has("group]a");
    assert!(!outcome.stdout.contains("##["), "{outcome}");
}

#[test]
fn of_one_that_is_interrupted() {
    // While it asks who the key belongs to: somebody listens and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let project = at(&format!("http://{}", silent.local_addr().unwrap()), "key");
    let start = |project: &Project| {
        let mut command = project.command(["apply", "--yes", "--format", "json", "--lock-timeout", "300s"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let child = start(&project).spawn().unwrap();
    let connection = silent.accept().unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let outcome = Outcome::of(child.wait_with_output().unwrap()).exits(143);
    assert_eq!(last(&outcome)["error"], "interrupted before anything was sent");
    drop(connection);

    // While another run holds the state, and while answers do not come.
    let service = Service::start();
    let proxy = Proxy::start(&service);
    let project = at(&proxy.url(), &service.key);
    project.write_template("receipt", "Hello");
    project.run(["state", "init"]).exits(0);
    proxy.follow(|_| Some(Deed::Hold));
    let holder = proxy.spawn(start(&project));
    proxy.wait_until_held();
    let mut waiting = start(&project).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(waiting.stdout.take().unwrap()));
    let mut seen = String::new();
    while !seen.contains("\"event\":\"lock\"") {
        seen += &(lines.next().unwrap().unwrap() + "\n");
    }
    kill_process(Pid::from_child(&waiting), Signal::INT).unwrap();
    lines.for_each(|line| seen += &(line.unwrap() + "\n"));
    let code = waiting.wait().unwrap().code().unwrap();
    let outcome = Outcome { code, stdout: seen, stderr: String::new() }.exits(130);
    assert_eq!(last(&outcome)["error"], "interrupted before anything was sent");

    kill_process(Pid::from_child(&holder), Signal::INT).unwrap();
    let outcome = Outcome::of(holder.wait_with_output().unwrap()).exits(130);
    let last = last(&outcome);
    assert_eq!((&last["applied"], &last["not_attempted"]), (&json!(0), &json!(1)), "{outcome}");
    assert_eq!(last["error"], Value::Null);
}

#[test]
fn of_one_that_finds_the_state_held() {
    let service = Service::start();
    let proxy = Proxy::start(&service);
    let project = at(&proxy.url(), &service.key);
    project.run(["state", "init"]).exits(0);
    proxy.follow(|_| Some(Deed::Hold));
    let mut command = project.command(["apply", "--yes"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let holder = proxy.spawn(command);
    proxy.wait_until_held();
    fails(&project, &["--yes"], 4, "held");
    proxy.let_go();
    let _ = Outcome::of(holder.wait_with_output().unwrap()).exits(0);
}
