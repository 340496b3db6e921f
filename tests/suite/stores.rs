//! One contract for every store: a folder, and buckets (safety §3, §4, P3, P4, P10).
//!
//! Plain `cargo test` runs it over a folder and a bucket of our own on loopback. `tests/stores/run` starts other people's servers and names them in
//! `LETTERPRESS_TEST_STORES` (places, separated by blanks), with the credentials in the environment.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::bucket::{Bucket, Dialect, Fate, Honesty, NO_BUCKET};
use crate::support::{Outcome, Project};

const ID: &str = "6f2b0000-0000-4000-8000-0000000000";

/// One write per second to an object: what is done often elsewhere is done a few times here.
const GOOGLE: &str = "Google's of our own";

/// A project whose environment `local` keeps its state there.
fn project(place: &str) -> Project {
    let toml = format!(
        "templates = \"templates\"\nenvironment = \"local\"\n\n[environments.local]\nbase_url = \"sandbox\"\nstate = \"{place}\"\n"
    );
    Project::empty().file("letterpress.toml", toml)
}

fn with(project: Project, variables: &[(&str, String)]) -> Project {
    variables.iter().fold(project, |project, (name, value)| project.variable(name, value))
}

fn in_bucket(bucket: &Bucket) -> Project {
    with(project(&bucket.place("letterpress/local")), &bucket.variables())
}

/// Every store that this run knows, each with a place that nobody has used.
fn stores() -> Vec<(String, Project)> {
    let mut stores = vec![("folder".to_owned(), project("file:state"))];
    stores.push(("S3 of our own".to_owned(), in_bucket(&Bucket::start(Honesty::Atomic))));
    stores.push((GOOGLE.to_owned(), in_bucket(&Bucket::speaking(Dialect::Google, Honesty::Atomic))));
    let named = std::env::var("LETTERPRESS_TEST_STORES").unwrap_or_default();
    let credentials: Vec<(String, String)> = std::env::vars()
        .filter(|(name, _)| {
            ["AWS_", "GOOGLE_", "STORAGE_EMULATOR_HOST", "AZURE_", "AZURITE_"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
        })
        .collect();
    for place in named.split_whitespace() {
        let unused = format!("{place}/{}", uuid::Uuid::new_v4());
        let project = credentials.iter().fold(project(&unused), |project, (name, value)| project.variable(name, value));
        stores.push((place.to_owned(), project));
    }
    stores
}

fn key_count(project: &Project) -> usize {
    let list = project.run(["state", "list", "--format", "json"]).exits(0).json();
    list["templates"].as_array().unwrap().len()
}

#[test]
fn a_state_is_kept_and_found_again() {
    for (store, project) in stores() {
        println!("{store}");
        let _ = project.run(["state", "show"]).exits(5).stderr_has("has no state");
        let _ = project.run(["state", "init"]).exits(0);
        let _ = project.run(["state", "init"]).exits(1).stderr_has("already has a state");
        let last = if store == GOOGLE { 12 } else { 23 };
        for number in 10..=last {
            let _ = project.run(["state", "import", &format!("key-{number}"), &format!("{ID}{number}")]).exits(0);
        }
        let count = last - 9;
        assert_eq!(key_count(&project), count);
        let counted = format!("{count} keys, {count} ids");
        let _ = project.run(["state", "verify"]).exits(0).stdout_has(&counted).lacks("bad ").lacks("stray");
        let _ = project.run(["state", "history"]).exits(0).stdout_has(&format!("state import key-{last}"));
        project.write_template("key-10", "Hello");
        let _ = project.run(["state", "pull"]).exits(0).stdout_has(&format!("key-{last}"));
    }
}

#[test]
fn an_apply_is_healed_and_a_second_one_sends_nothing() {
    for (store, project) in stores() {
        println!("{store}");
        let _ = project.run(["state", "init"]).exits(0);
        for key in ["a", "b", "c"] {
            project.write_template(key, "Hello");
        }
        let _ = project.run(["apply", "--yes"]).exits(0).stderr_or_stdout_has("3 created");
        let _ = project.run(["apply", "--yes"]).exits(0).stderr_or_stdout_has("Nothing changes");
        project.write_template("b", "Bye");
        let _ = project.run(["apply", "--yes"]).exits(0).stderr_or_stdout_has("1 updated");
    }
}

#[test]
fn eight_processes_at_once_lose_nothing_and_never_interleave() {
    for (store, project) in stores() {
        println!("{store}");
        let _ = project.run(["state", "init"]).exits(0);
        let children: Vec<Child> = (10..18)
            .map(|number| {
                let (key, id) = (format!("key-{number}"), format!("{ID}{number}"));
                let mut command = project.command(["state", "import", &key, &id, "--lock-timeout", "5m"]);
                command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        for child in children {
            let _ = Outcome::of(child.wait_with_output().unwrap()).exits(0);
        }
        assert_eq!(key_count(&project), 8, "{store}");
        let history = project.run(["state", "history", "--format", "json"]).exits(0).json();
        assert_eq!(history["history"].as_array().unwrap().len(), 9, "{history}");
    }
}

#[test]
fn a_store_whose_conditions_do_not_hold_is_refused() {
    for (honesty, words) in [(Honesty::Blind, "conditional writes do not hold"), (Honesty::TwoSteps, "writers won")] {
        let project = in_bucket(&Bucket::start(honesty));
        let _ = project.run(["state", "init"]).exits(5).stderr_has(words);
        let _ = project.run(["state", "show"]).exits(5).stderr_has("has no state");
    }
}

#[test]
fn a_flaky_store_never_looks_like_a_conflict() {
    // Every storage call of an apply fails in turn, in each of five ways (P10).
    let bucket = Bucket::start(Honesty::Atomic);
    let project = in_bucket(&bucket);
    let _ = project.run(["state", "init"]).exits(0);
    project.write_template("a", "0");
    let _ = project.run(["apply", "--yes"]).exits(0);
    let fates = [Fate::LostBefore, Fate::LostAfter, Fate::Unavailable, Fate::UnavailableAfter, Fate::Slow(300)];
    for round in 0..125_u64 {
        let fate = fates[usize::try_from(round % 5).unwrap()];
        let at = round / 5 + 1;
        bucket.reset();
        bucket.judge(move |number, _, _| if number == at { fate } else { Fate::Fine });
        project.write_template("a", &round.to_string());
        let outcome = project.run(["apply", "--yes"]);
        assert_eq!(outcome.code, 0, "request {at} {fate:?}\n{outcome}");
        if bucket.requests() < at {
            assert!(at > 8, "an apply makes only {} storage calls", bucket.requests());
            return;
        }
    }
    panic!("an apply never ends");
}

#[test]
fn a_flaky_google_never_looks_like_a_conflict() {
    // The same with a second between any two writes: every third call here, every call in the long form.
    let bucket = Bucket::speaking(Dialect::Google, Honesty::Atomic);
    let project = in_bucket(&bucket);
    let _ = project.run(["state", "init"]).exits(0);
    let step = if std::env::var_os("LETTERPRESS_TEST_STORES").is_some() { 1 } else { 3 };
    let fates = [Fate::LostBefore, Fate::LostAfter, Fate::Unavailable, Fate::UnavailableAfter, Fate::Slow(300)];
    for at in (1..60).step_by(step) {
        let fate = fates[usize::try_from(at).unwrap() % 5];
        bucket.reset();
        bucket.judge(move |number, _, _| if number == at { fate } else { Fate::Fine });
        project.write_template("a", &at.to_string());
        let outcome = project.run(["apply", "--yes"]);
        assert_eq!(outcome.code, 0, "request {at} {fate:?}\n{outcome}");
        if bucket.requests() < at {
            return;
        }
    }
    panic!("an apply never ends");
}

#[test]
fn an_apply_writes_to_google_once_a_second() {
    let bucket = Bucket::speaking(Dialect::Google, Honesty::Atomic);
    let project = in_bucket(&bucket);
    let _ = project.run(["state", "init"]).exits(0);
    let before = bucket.refused().len();
    assert!(before > 0, "the race of `state init` is faster than that, and copes");
    (10..50).for_each(|number| project.write_template(&format!("key-{number}"), "Hello"));
    let _ = project.run(["apply", "--yes"]).exits(0).stderr_or_stdout_has("40 created");
    let refused = bucket.refused().split_off(before);
    // The first write follows that of `state init`, and waits in growing steps; after it every write keeps its distance.
    assert!(refused.len() <= 5, "{refused:#?}");
}

#[test]
fn a_bucket_that_is_not_there_is_no_empty_place() {
    for dialect in [Dialect::S3, Dialect::Google] {
        let bucket = Bucket::speaking(dialect, Honesty::Atomic);
        let place = bucket.place("local").replace("bucket", NO_BUCKET);
        let project = with(project(&place).template("welcome"), &bucket.variables());
        for command in [&["state", "show"][..], &["state", "init"], &["apply", "--yes"]] {
            let _ = project.run(command).exits(1).stderr_has("no such bucket").lacks("state init");
        }
    }
}

#[test]
fn nobody_waits_for_a_bucket_that_says_no() {
    let mut project = project("s3://bucket/local");
    // Nothing listens there.
    for (name, value) in Bucket::start(Honesty::Atomic).variables() {
        let value = if name == "AWS_ENDPOINT_URL" { "http://127.0.0.1:9".to_owned() } else { value };
        project = project.variable(name, &value);
    }
    let began = Instant::now();
    let _ = project.run(["state", "show"]).exits(1).stderr_has("s3://bucket/local");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}
