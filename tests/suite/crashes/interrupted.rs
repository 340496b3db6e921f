//! Ctrl-C ends within seven seconds at any moment, with the state saved and free (safety P13).

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::oracle::{holds, project, project_in};
use crate::bucket::{Bucket, Dialect, Fate, Honesty};
use crate::proxy::{Deed, Proxy};
use crate::support::{Outcome, Project, Service};

/// A service, what stands before it, and a project with six new templates.
struct Bench {
    service: Service,
    proxy: Proxy,
    project: Project,
}

impl Bench {
    fn new() -> Self {
        Self::over(Service::start())
    }

    fn over(service: Service) -> Self {
        let proxy = Proxy::start(&service);
        let project = project(&proxy.url(), &service.key, 2);
        (0..6).for_each(|n| project.write_template(&format!("t{n}"), "New"));
        Self { service, proxy, project }
    }

    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.project.command(["apply", "--yes"]);
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.proxy.spawn(command)
    }

    /// The state is free and whole, and the next run ends what this one began.
    fn goes_on(&self) {
        self.proxy.let_go();
        self.project.run(["state", "verify"]).exits(0).lacks("open requests");
        self.project.run(["apply", "--yes"]).exits(0);
        holds(&self.service, &self.project, "t", &mut BTreeSet::new());
        self.project.run(["apply", "--yes"]).exits(0).stdout_has("Nothing changes");
    }
}

/// Sends a signal, and waits for the end, which must come in time.
#[track_caller]
fn interrupted(child: Child, signal: Signal, within: Duration) -> Outcome {
    kill_process(Pid::from_child(&child), signal).unwrap();
    let began = Instant::now();
    let outcome = Outcome::of(child.wait_with_output().unwrap());
    assert!(began.elapsed() < within, "it took {:?}: {outcome}", began.elapsed());
    outcome
}

const LIMIT: Duration = Duration::from_secs(7);

#[test]
fn while_answers_do_not_come() {
    for held_from in [1, 3] {
        let bench = Bench::new();
        bench.proxy.follow(move |n| (n >= held_from).then_some(Deed::Hold));
        let child = bench.start(&[]);
        bench.proxy.wait_until_held();
        let _ = interrupted(child, Signal::INT, LIMIT).exits(130).stdout_has("The state is saved");
        bench.goes_on();
    }
}

#[test]
fn a_second_one_does_not_wait_for_answers() {
    let bench = Bench::new();
    bench.proxy.follow(|n| (n >= 4).then_some(Deed::Hold));
    let mut child = bench.start(&[]);
    bench.proxy.wait_until_held();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("stopping") {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "{said}");
    }
    let _ = interrupted(child, Signal::INT, Duration::from_secs(3)).exits(130);
    bench.goes_on();
}

#[test]
fn at_each_request_and_just_after_the_last_one() {
    // The signal comes while the n-th request is on its way, and its answer a moment later.
    for n in [1, 2, 7, 11, 12] {
        let bench = Bench::new();
        bench.proxy.plan(Some((n, Deed::Hold)));
        let child = bench.start(&[]);
        bench.proxy.wait_until_held();
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        bench.proxy.let_go();
        let began = Instant::now();
        let outcome = Outcome::of(child.wait_with_output().unwrap());
        assert!(began.elapsed() < LIMIT, "{outcome}");
        assert!([143, 0].contains(&outcome.code), "{n}: {outcome}");
        bench.goes_on();
    }
}

#[test]
fn while_the_service_asked_for_a_pause() {
    let rule = "[[rule]]\npath = \"/template/create\"\nrequests = \"3\"\nanswer = \"status\"\nstatus = 429\nretry_after = 60\n";
    let bench = Bench::over(Service::with_faults(rule));
    let mut child = bench.start(&[]);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("asks for fewer requests") {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "{said}");
    }
    let _ = interrupted(child, Signal::INT, LIMIT).exits(130);
    bench.goes_on();
}

#[test]
fn while_an_earlier_update_may_still_arrive() {
    let bench = Bench::new();
    bench.project.run(["apply", "--yes"]).exits(0);
    bench.project.write_template("t0", "Lost");
    bench.proxy.plan(Some((1, Deed::KillAfter)));
    let child = bench.start(&[]);
    let _ = Outcome::of(child.wait_with_output().unwrap()).exits(-9);
    // Other content for the same template has to wait for two minutes.
    bench.project.write_template("t0", "New");
    bench.proxy.plan(None);
    let mut child = bench.start(&[]);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("may still arrive") {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "{said}");
    }
    let _ = interrupted(child, Signal::INT, LIMIT).exits(130);
    assert_eq!(bench.proxy.seen(), 0);
    bench.project.run(["state", "verify"]).exits(0).lacks("open requests");
    bench.project.run(["state", "list"]).exits(0).stdout_has("dirty");
}

#[test]
fn while_another_run_holds_the_state() {
    let bench = Bench::new();
    bench.proxy.follow(|_| Some(Deed::Hold));
    let holder = bench.start(&[]);
    bench.proxy.wait_until_held();
    let mut waiting = bench.start(&["--lock-timeout", "300s"]);
    let mut said = String::new();
    BufReader::new(waiting.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.starts_with("waiting for the state"), "{said}");
    let outcome = interrupted(waiting, Signal::INT, LIMIT).exits(130);
    assert_eq!(bench.proxy.seen(), 2, "{outcome}");
    // The holder noticed nothing of it.
    bench.proxy.let_go();
    let _ = Outcome::of(holder.wait_with_output().unwrap()).exits(0).stdout_has("6 created");
    bench.goes_on();
}

#[test]
fn while_the_store_fails_or_hangs() {
    // From here on the bucket says no, does not answer for a minute, or takes the write and says nothing.
    for fate in [Fate::Unavailable, Fate::Slow(60_000), Fate::LostAfter] {
        let (service, bucket) = (Service::start(), Bucket::start(Honesty::Atomic));
        let proxy = Proxy::start(&service);
        let project = project_in(&bucket, &proxy.url(), &service.key, 2);
        (0..6).for_each(|n| project.write_template(&format!("t{n}"), "New"));
        let bench = Bench { service, proxy, project };
        bench.proxy.follow(|n| (n == 4).then_some(Deed::Hold));
        let child = bench.start(&[]);
        bench.proxy.wait_until_held();
        bucket.judge(move |_, _, path| if path.contains("objects/") { Fate::Fine } else { fate });
        bench.proxy.let_go();
        let outcome = interrupted(child, Signal::INT, LIMIT).exits(1).stdout_has("could not be saved");
        bucket.judge(|_, _, _| Fate::Fine);

        // What the state did not take is in the rescue file, and the lease is nobody's after a word.
        let files = std::fs::read_dir(bench.project.path(".letterpress")).unwrap();
        let rescue = files.map(|file| file.unwrap().path()).find(|path| path.display().to_string().contains("rescue-"));
        let rescue = rescue.unwrap_or_else(|| panic!("no rescue file: {outcome}"));
        bench.project.run(["state", "unlock", "--yes"]).exits(0);
        bench.project.run(["state", "import", "--rescue", rescue.to_str().unwrap()]).exits(0);
        bench.goes_on();
    }
}

#[test]
fn with_a_second_between_any_two_writes() {
    let (service, bucket) = (Service::start(), Bucket::speaking(Dialect::Google, Honesty::Atomic));
    let proxy = Proxy::start(&service);
    let project = project_in(&bucket, &proxy.url(), &service.key, 2);
    (0..6).for_each(|n| project.write_template(&format!("t{n}"), "New"));
    let bench = Bench { service, proxy, project };
    bench.proxy.follow(|n| (n >= 3).then_some(Deed::Hold));
    let child = bench.start(&[]);
    bench.proxy.wait_until_held();
    let _ = interrupted(child, Signal::INT, LIMIT).exits(130).stdout_has("The state is saved");
    bench.goes_on();
}
