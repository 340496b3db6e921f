//! Lost answers and a service that fails: nothing is made twice (safety P2), and nobody is stormed (P14).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::oracle::{holds, leaks, nothing_lost, project, served, with_subject};
use crate::proxy::{Deed, Proxy};
use crate::support::{Project, Service};

fn templates(project: &Project, prefix: &str, count: usize) {
    (0..count).for_each(|n| project.write_template(&format!("{prefix}{n:03}"), "New"));
}

#[test]
fn each_of_the_first_200_answers_is_lost_once_and_nothing_is_there_twice() {
    // 100 new templates are 200 requests. Each run loses every tenth of them, and ten runs lose each once.
    let service = Service::start();
    let proxy = Proxy::start(&service);
    let mut leaked = BTreeSet::new();
    let lost = Arc::new(Mutex::new(BTreeSet::new()));
    for tenth in 0..10 {
        let prefix = format!("run{tenth}-");
        proxy.plan(None);
        let project = project(&proxy.url(), &service.key, 16);
        templates(&project, &prefix, 100);
        let loses = Arc::clone(&lost);
        proxy.follow(move |n| {
            let now = n <= 200 && n % 10 == tenth;
            (now && loses.lock().unwrap().insert(n)).then_some(Deed::LoseAnswer)
        });
        // A template whose answers were lost again and again is for the next run, and so is all that is left after three creates in a row without an
        // answer. The count goes on over the runs.
        let outcome = (0..10).map(|_| project.run(["apply", "--yes"])).find(|outcome| {
            assert!([0, 6].contains(&outcome.code), "{outcome}");
            outcome.code == 0
        });
        outcome.expect("the tenth run still was not the last");
        holds(&service, &project, &prefix, &mut leaked);
        assert_eq!(with_subject(&service, &prefix, "About New"), 100);
    }
    assert!(lost.lock().unwrap().iter().copied().eq(1..=200), "{lost:?}");
    assert!(!leaked.is_empty(), "lost answers to creates leave empty templates");
}

/// Applies `count` new templates against these rules and says how many requests to `/template/create` came.
fn requests(rules: &str, count: i64) -> i64 {
    let service = Service::with_faults(rules);
    let project = project(&service.url, &service.key, 16);
    templates(&project, "t", usize::try_from(count).unwrap());
    let outcome = project.run(["apply", "--yes"]);
    assert!([0, 1, 6].contains(&outcome.code), "{outcome}");
    nothing_lost(&service, &project, "t", &mut BTreeSet::new());
    service.count("SELECT count(*) FROM requests WHERE path = '/template/create'")
}

/// A tenth more than needed, and ten.
fn most(needed: i64) -> i64 {
    needed * 11 / 10 + 10
}

#[test]
fn a_service_that_fails_for_a_while_is_not_stormed() {
    const RULE: &str = "[[rule]]\npath = \"/template/create\"\n";
    for (what, fault) in [
        ("every request fails", "answer = \"status\"\nstatus = 503\n"),
        ("every second request fails", "requests = \"*/2\"\nanswer = \"status\"\nstatus = 503\n"),
        ("every third answer is lost", "requests = \"*/3\"\nwhen = \"after\"\nanswer = \"drop\"\n"),
        ("every second is one too many", "requests = \"*/2\"\nanswer = \"status\"\nstatus = 429\n"),
        ("it fails from the 20th on", "requests = \"20-\"\nanswer = \"status\"\nstatus = 500\n"),
    ] {
        let count = 60;
        let seen = requests(&format!("{RULE}{fault}"), count);
        println!("{what}: {seen} requests for {count} templates");
        assert!(seen <= most(2 * count), "{what}: {seen} requests for {count} templates");
    }
}

#[test]
fn a_service_that_fails_at_the_first_question_is_not_stormed() {
    let service = Service::start();
    let project = project(&service.url, &service.key, 4);
    templates(&project, "t", 20);
    let config = project.read("letterpress.toml");
    let failing = Service::with_faults("[[rule]]\nanswer = \"status\"\nstatus = 503\n");
    project.write("letterpress.toml", config.replace(&service.url, &failing.url));
    let project = project.variable("LETTERPRESS_API_KEY", &failing.key);
    let _ = project.run(["apply", "--yes"]).exits(1);
    let seen = failing.count("SELECT count(*) FROM requests");
    assert!((1..=3).contains(&seen), "{seen} requests");
}

#[test]
fn a_leak_is_listed_until_somebody_forgets_it() {
    let service = Service::start();
    let proxy = Proxy::start(&service);
    let project = project(&proxy.url(), &service.key, 1);
    ["a", "b", "c"].iter().for_each(|key| project.write_template(key, "New"));
    // The answers to the first two placeholders: each is asked for once more.
    proxy.follow(|n| [1, 4].contains(&n).then_some(Deed::LoseAnswer));
    let _ = project.run(["apply", "--yes"]).exits(0).stdout_has("2 placeholders leaked");
    let listed: Vec<String> = leaks(&project).into_iter().collect();
    let [first, second] = &listed[..] else { panic!("{listed:?}") };
    let names: Vec<String> = served(&service).into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(first) && names.contains(second), "{names:?}");

    let other = "letterpress-0195f2b0-0000-7000-8000-000000000000";
    let before = project.run(["state", "pull"]).exits(0).stdout;
    let refused = project.run(["state", "leaks", "--forget", first, other]).exits(1).stderr_has("not among the leaks");
    assert_eq!(leaks(&project).len(), 2, "{refused}");
    let history = |project: &Project| project.run(["state", "history"]).exits(0).stdout;
    assert!(!history(&project).contains("forgot"), "{before}");
    let _ = project.run(["state", "leaks", "--forget", first, first]).exits(0).stderr_has("forgot 1");
    assert!(leaks(&project).into_iter().eq([second.clone()]));
    let _ = project.run(["state", "leaks", "--forget-all"]).exits(0).stderr_has("forgot 1");
    let _ = project.run(["state", "leaks"]).exits(0).stderr_has("nothing has leaked");
    let after = history(&project);
    assert_eq!(after.matches("state leaks: forgot 1").count(), 2, "{after}");
    let _ = project.run(["state", "leaks", "--forget-all"]).exits(0).stderr_has("forgot 0");
    assert_eq!(history(&project), after, "nothing was changed, and the history says so");
    // What was forgotten is not asked for again, and nothing else has changed.
    let _ = project.run(["apply", "--yes"]).exits(0).stdout_has("Nothing changes");
}
