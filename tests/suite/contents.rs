//! The contents beside a state (`objects/`): they let a plan show what changes, and go when nothing speaks of them (safety §2).

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::http::Method;
use rustix::process::{Pid, Signal, kill_process};

use crate::bucket::{Bucket, Fate, Honesty};
use crate::proxy::{Deed, Proxy};
use crate::support::{Project, Service};

/// A name that is a content's, of a content that nobody ever had.
const ORPHAN: &str = "00000000000000000000000000000000000000000000000000000000000000ff.zst";

/// Where the environments of a test keep their state.
enum Place {
    Folder,
    Bucket(Bucket),
}

impl Place {
    fn both() -> [Self; 2] {
        [Self::Folder, Self::Bucket(Bucket::start(Honesty::Atomic))]
    }

    /// A project with the environments `one` and `two`, whose states are below one prefix.
    fn project(&self, url: &str, key: &str) -> Project {
        let prefix = match self {
            Self::Folder => "file:state",
            Self::Bucket(_) => "s3://bucket/state",
        };
        let environment =
            |name: &str| format!("[environments.{name}]\nbase_url = \"{url}\"\nstate = \"{prefix}/{name}\"\n");
        let config = format!("environment = \"one\"\n{}{}", environment("one"), environment("two"));
        let project = Project::empty().file("letterpress.toml", config).variable("LETTERPRESS_API_KEY", key);
        let project = match self {
            Self::Folder => project,
            Self::Bucket(bucket) => {
                bucket.variables().into_iter().fold(project, |project, (name, value)| project.variable(name, &value))
            }
        };
        for name in ["one", "two"] {
            project.run(["state", "init", "-e", name]).exits(0);
        }
        project
    }

    /// The names of an environment's contents.
    fn contents(&self, project: &Project, environment: &str) -> BTreeSet<String> {
        match self {
            Self::Folder => {
                let Ok(entries) = fs::read_dir(project.path(&format!("state/{environment}/objects"))) else {
                    return BTreeSet::new();
                };
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
            }
            Self::Bucket(bucket) => {
                let prefix = format!("bucket/state/{environment}/objects/");
                bucket.names(&prefix).iter().map(|name| name[prefix.len()..].to_owned()).collect()
            }
        }
    }

    /// Leaves a file among an environment's contents.
    fn plant(&self, project: &Project, environment: &str, file: &str) {
        match self {
            Self::Folder => project.write(&format!("state/{environment}/objects/{file}"), "x"),
            Self::Bucket(bucket) => bucket.plant(&format!("bucket/state/{environment}/objects/{file}"), b"x"),
        }
    }
}

#[test]
fn what_no_entry_speaks_of_goes_with_the_next_apply() {
    let service = Service::start();
    for place in Place::both() {
        let project = place.project(&service.url, &service.key).template("a");
        let apply = || {
            project.run(["apply", "--yes"]).exits(0);
            place.contents(&project, "one")
        };
        let first = apply();
        assert_eq!(first.len(), 1, "{first:?}");

        // The same content under another key, while the retired entry keeps it too: it may return.
        fs::rename(project.path("templates/a"), project.path("templates/b")).unwrap();
        assert_eq!(apply(), first);
        project.write("templates/b/body.txt", "Good day\n\nA line for the reader.\n");
        let second = apply();
        assert!(second.len() == 2 && second.is_superset(&first), "{second:?}");

        // Nobody else's. What is not ours stays.
        project.write("templates/b/body.txt", "Good evening\n\nA line for the reader.\n");
        place.plant(&project, "one", ORPHAN);
        place.plant(&project, "one", "notes.txt");
        let third = apply();
        assert!(third.len() == 3 && third.is_superset(&first) && third.contains("notes.txt"), "{third:?}");
        assert!(!third.contains(ORPHAN) && third.intersection(&second).count() == 1, "{third:?}");

        // An apply that has nothing to do asks for nothing and removes nothing.
        place.plant(&project, "one", ORPHAN);
        project.run(["apply", "--yes"]).exits(0).stdout_has("Nothing changes");
        assert!(place.contents(&project, "one").contains(ORPHAN));
    }
}

#[test]
fn environments_of_one_prefix_do_not_touch_each_others_contents() {
    let service = Service::start();
    for place in Place::both() {
        let project = place.project(&service.url, &service.key).template("a");
        for environment in ["one", "two"] {
            project.run(["apply", "--yes", "-e", environment]).exits(0);
        }
        let before = place.contents(&project, "two");
        assert_eq!(before, place.contents(&project, "one"), "the same content has the same name");
        project.write("templates/a/body.txt", "Good day\n\nA line for the reader.\n");
        project.run(["apply", "--yes", "-e", "one"]).exits(0);
        assert!(place.contents(&project, "one").is_disjoint(&before));
        assert_eq!(place.contents(&project, "two"), before);
        let _ = project.run(["plan", "-e", "two"]).exits(0).stdout_has("[-Hello-]\n").stdout_has("{+Good day+}\n");
        let _ = project.run(["diff", "two", "one"]).exits(0).stdout_has("{+Good day+}\n");
    }
}

#[test]
fn a_plan_over_a_bucket_shows_words_and_source() {
    let service = Service::start();
    let place = Place::Bucket(Bucket::start(Honesty::Atomic));
    let project = place.project(&service.url, &service.key).template("a");
    project.run(["apply", "--yes"]).exits(0);
    let html = project.read("templates/a/body.html").replace("A line for the reader", "A word for the reader");
    project.write("templates/a/body.html", html);
    let _ = project.run(["plan"]).exits(0).stdout_has("        A [-line-]{+word+} for the reader.\n");
    let source = "-<body><h1>Hello</h1><p>A line for the reader.</p></body></html>\n";
    let _ = project.run(["plan", "--diff", "source"]).exits(0).stdout_has(source);
    let json = project.run(["plan", "--format", "json"]).exits(0).json();
    assert_eq!(json["steps"][0]["earlier"], "kept");
    assert_eq!(json["steps"][0]["changes"]["parts"][0]["words"][0][1]["old"], "line");
}

#[test]
fn the_state_is_held_until_the_old_contents_are_gone() {
    let service = Service::start();
    let bucket = Bucket::start(Honesty::Atomic);
    let place = Place::Bucket(bucket.clone());
    let project = place.project(&service.url, &service.key).template("a");
    project.run(["apply", "--yes"]).exits(0);
    project.write_template("a", "Bye");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    bucket.judge(move |_, method, path| {
        log.lock().unwrap().push(format!("{method} {path}"));
        Fate::Fine
    });
    project.run(["apply", "--yes"]).exits(0);
    let seen = seen.lock().unwrap();
    let last =
        |what: &dyn Fn(&str) -> bool| seen.iter().rposition(|line| what(line)).unwrap_or_else(|| panic!("{seen:?}"));
    let written = last(&|line| line.starts_with("PUT") && line.contains("/objects/"));
    let removed = last(&|line| line.starts_with("POST") || line.starts_with("DELETE") && line.contains("/objects/"));
    let freed = last(&|line| line.starts_with("PUT") && line.ends_with("/head.json"));
    assert!(written < removed && removed < freed, "{seen:?}");
}

#[test]
fn a_store_that_fails_here_fails_no_apply_and_is_named() {
    let service = Service::start();
    let bucket = Bucket::start(Honesty::Atomic);
    let place = Place::Bucket(bucket.clone());
    let project = place.project(&service.url, &service.key).template("a");
    project.run(["apply", "--yes"]).exits(0);
    let is_head = |path: &str| path.ends_with("/head.json") || path.contains("/base-");
    let faults: [fn(&Method, &str) -> bool; 2] = [
        // No list.
        |method, path| method == Method::GET && !path.contains(".json") && !path.contains("/objects/"),
        // No removal.
        |method, _| method == Method::POST || method == Method::DELETE,
    ];
    for (number, fault) in faults.into_iter().enumerate() {
        place.plant(&project, "one", ORPHAN);
        project.write_template("a", &format!("Word {number}"));
        bucket.judge(
            move |_, method, path| {
                if fault(method, path) && !is_head(path) { Fate::Unavailable } else { Fate::Fine }
            },
        );
        let outcome = project.run(["apply", "--yes"]).exits(0).stdout_has("1 updated");
        let _ = outcome.stderr_has("old contents could not be removed").stderr_has("the next apply tries again");
        assert!(place.contents(&project, "one").contains(ORPHAN));
        bucket.judge(|_, _, _| Fate::Fine);
        project.write_template("a", &format!("Other word {number}"));
        let _ = project.run(["apply", "--yes"]).exits(0).lacks("warning");
        assert_eq!(place.contents(&project, "one").len(), 1);
    }

    // A folder that cannot be changed.
    let project = Place::Folder.project(&service.url, &service.key).template("a");
    project.run(["apply", "--yes"]).exits(0);
    let objects = project.path("state/one/objects");
    fs::remove_dir_all(&objects).unwrap();
    fs::write(&objects, "no folder").unwrap();
    project.write_template("a", "Bye");
    let outcome = project.run(["apply", "--yes"]).exits(0).stdout_has("1 updated");
    let _ = outcome.stderr_has("the content of 1 template could not be kept").stderr_has("could not be removed");
}

#[test]
fn what_a_killed_run_left_goes_with_the_next_one() {
    for place in Place::both() {
        let service = Service::start();
        let proxy = Proxy::start(&service);
        let project = place.project(&proxy.url(), &service.key).template("a").template("b");
        project.run(["apply", "--yes"]).exits(0);
        let before = place.contents(&project, "one");

        // Killed once the service has one of the new contents and this one is kept, while the other is on its way.
        for key in ["a", "b"] {
            project.write_template(key, "Bye");
        }
        proxy.plan(Some((2, Deed::Hold)));
        let mut command = project.command(["apply", "--yes"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = proxy.spawn(command);
        proxy.wait_until_held();
        let began = Instant::now();
        while place.contents(&project, "one").iter().filter(|name| name.ends_with(".zst")).count() < 3 {
            assert!(began.elapsed() < Duration::from_secs(30), "the content is not written");
            std::thread::yield_now();
        }
        kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
        child.wait().unwrap();
        proxy.let_go();
        assert_eq!(place.contents(&project, "one").len(), 3);

        // No entry speaks of what was there before.
        if matches!(place, Place::Bucket(_)) {
            project.run(["state", "unlock", "--yes"]).exits(0);
        }
        project.run(["apply", "--yes"]).exits(0).stdout_has("resent");
        let after = place.contents(&project, "one");
        assert!(after.len() == 2 && after.is_disjoint(&before), "{after:?}");
    }
}
