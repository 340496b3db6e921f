//! Real crashes: the real binary, killed with SIGKILL at every request that it makes, over a folder and over a bucket. The service's own database is the
//! oracle (safety P1, P2).

mod interrupted;
mod journal;
mod lost;
mod oracle;
mod racing;

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;

use crate::bucket::{Bucket, Fate, Honesty};
use crate::proxy::{Deed, Proxy};
use crate::support::{Outcome, Project, Service};

/// What the apply that is killed has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Create,
    Update,
    Mixed,
}

/// The mixed work has every kind of step. `LETTERPRESS_CRASHES=all`, which `tests/simulator/run` sets, takes the others too.
fn works() -> Vec<Work> {
    match std::env::var("LETTERPRESS_CRASHES").as_deref() {
        Ok("all") => vec![Work::Create, Work::Update, Work::Mixed],
        _ => vec![Work::Mixed],
    }
}

/// One service, one store, and many projects one after the other.
struct Ground {
    service: Service,
    proxy: Proxy,
    bucket: Option<Bucket>,
    cases: usize,
    /// The names of all placeholders that some state lists as leaked.
    leaked: BTreeSet<String>,
}

impl Ground {
    fn new(in_bucket: bool) -> Self {
        let service = Service::start();
        let proxy = Proxy::start(&service);
        let bucket = in_bucket.then(|| Bucket::start(Honesty::Atomic));
        Self { service, proxy, bucket, cases: 0, leaked: BTreeSet::new() }
    }

    /// A project with the work half done: what exists already is applied.
    fn project(&mut self, work: Work) -> Project {
        self.cases += 1;
        self.proxy.plan(None);
        if let Some(bucket) = &self.bucket {
            bucket.judge(|_, _, _| Fate::Fine);
        }
        let state = match &self.bucket {
            Some(_) => format!("s3://bucket/case-{}", self.cases),
            None => "file:state".to_owned(),
        };
        let toml = format!(
            "templates = \"templates\"\nenvironment = \"local\"\n\n[environments.local]\nbase_url = \"{}\"\nstate = \"{state}\"\nconcurrency = 2\n",
            self.proxy.url()
        );
        let mut project =
            Project::empty().file("letterpress.toml", toml).variable("LETTERPRESS_API_KEY", &self.service.key);
        for (name, value) in self.bucket.iter().flat_map(Bucket::variables) {
            project = project.variable(name, &value);
        }
        let _ = project.run(["state", "init"]).exits(0);
        let key = |name: &str| format!("case-{}-{name}", self.cases);
        match work {
            Work::Create => ["a", "b", "c"].iter().for_each(|name| project.write_template(&key(name), "new")),
            Work::Update | Work::Mixed => {
                ["a", "b"].iter().for_each(|name| project.write_template(&key(name), "old"));
                project.write_template(&key("gone"), "old");
                let _ = project.run(["apply", "--yes"]).exits(0);
                project.write_template(&key("a"), "new");
                if work == Work::Update {
                    project.write_template(&key("b"), "new");
                } else {
                    project.write_template(&key("c"), "new");
                    std::fs::remove_dir_all(project.path(&format!("templates/{}", key("gone")))).unwrap();
                }
            }
        }
        project
    }

    /// Runs the apply that may be killed.
    fn apply(&self, project: &Project) -> Outcome {
        let mut command = project.command(["apply", "--yes"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Outcome::of(self.proxy.spawn(command).wait_with_output().unwrap())
    }

    /// Runs an apply of mixed work that is killed so long after so many of its calls were answered, and the runs after it.
    fn killed(&mut self, answered: u64, after: Duration) {
        let project = self.project(Work::Mixed);
        self.proxy.plan(None);
        let mut command = project.command(["apply", "--yes"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = self.proxy.spawn(command);
        self.proxy.wait_until_answered(answered);
        std::thread::sleep(after);
        let _ = child.kill();
        child.wait().unwrap();
        self.judge(&project, &format!("killed {after:?} after {answered} answers"));
    }

    /// The next run converges by itself, and the service holds what the state says.
    fn judge(&mut self, project: &Project, case: &str) {
        self.proxy.plan(None);
        if let Some(bucket) = &self.bucket {
            bucket.judge(|_, _, _| Fate::Fine);
            // The lease would end by itself in 75 s.
            let _ = project.run(["state", "unlock", "--yes"]).exits(0);
        }
        let second = project.run(["apply", "--yes"]);
        assert_eq!(second.code, 0, "{case}: {second}");
        let third = project.run(["apply", "--yes"]).exits(0);
        assert!(third.stdout.contains("Nothing changes"), "{case}: {third}");
        let _ = project.run(["state", "verify"]).exits(0).lacks("stray");

        let leaks = project.run(["state", "leaks", "--format", "json"]).exits(0).json();
        for name in leaks["leaked"].as_array().unwrap() {
            self.leaked.insert(name.as_str().unwrap().to_owned());
        }
        let prefix = format!("case-{}-", self.cases);
        let rows = project.run(["state", "list", "--format", "json"]).exits(0).json();
        let connection = self.service.database();
        let mut query = connection.prepare("SELECT name, id FROM templates").unwrap();
        let held: Vec<(String, String)> =
            query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
        for row in rows["templates"].as_array().unwrap() {
            let (key, id) = (row["key"].as_str().unwrap(), row["id"].as_str().unwrap());
            let same: Vec<_> = held.iter().filter(|(name, _)| name == key).collect();
            assert_eq!(same.len(), 1, "{case}: {key} is there {} times", same.len());
            assert_eq!(same[0].1, id, "{case}: {key}");
        }
        let mine = held.iter().filter(|(name, _)| name.starts_with(&prefix)).count();
        assert_eq!(mine, rows["templates"].as_array().unwrap().len(), "{case}: content without a key");
        for (name, id) in &held {
            let lost = name.starts_with("letterpress-") && !self.leaked.contains(name);
            assert!(!lost, "{case}: the placeholder {name} ({id}) is lost");
        }
    }

    /// A deed at every template call, until an apply ends before it.
    fn every_request(&mut self, work: Work, deed: Deed) {
        for at in 1..100 {
            let project = self.project(work);
            self.proxy.plan(Some((at, deed)));
            let outcome = self.apply(&project);
            let done = self.proxy.is_done();
            let case = format!("{work:?} {deed:?} at request {at}");
            if deed == Deed::LoseAnswer {
                assert_eq!(outcome.code, 0, "{case}: {outcome}");
            } else if done {
                assert_eq!(outcome.code, -9, "{case}: {outcome}");
            }
            self.judge(&project, &case);
            if !done {
                assert!(at > 1, "{case}: nothing was sent");
                return;
            }
        }
        panic!("an apply never ends");
    }

    /// A kill at every call to the store, before or after it is carried out.
    fn every_store_call(&mut self, work: Work, after: bool) {
        for at in 1..200 {
            let project = self.project(work);
            let bucket = self.bucket.clone().unwrap();
            let kill = self.proxy.killer();
            bucket.reset();
            bucket.judge(move |number, _, _| {
                if number != at {
                    return Fate::Fine;
                }
                if after {
                    return Fate::LostAfterThen;
                }
                kill();
                Fate::LostBefore
            });
            bucket.then(self.proxy.killer());
            let outcome = self.apply(&project);
            let done = self.proxy.is_done();
            let case = format!("{work:?} killed {} storage call {at}", if after { "after" } else { "before" });
            assert_eq!(outcome.code, if done { -9 } else { 0 }, "{case}: {outcome}");
            self.judge(&project, &case);
            if !done {
                assert!(at > 5, "{case}: an apply makes only {at} storage calls");
                return;
            }
        }
        panic!("an apply never ends");
    }
}

#[test]
fn killed_before_every_request_in_a_folder() {
    let mut ground = Ground::new(false);
    works().into_iter().for_each(|work| ground.every_request(work, Deed::KillBefore));
}

#[test]
fn killed_after_every_request_in_a_folder() {
    let mut ground = Ground::new(false);
    works().into_iter().for_each(|work| ground.every_request(work, Deed::KillAfter));
}

#[test]
fn killed_before_every_request_in_a_bucket() {
    let mut ground = Ground::new(true);
    works().into_iter().for_each(|work| ground.every_request(work, Deed::KillBefore));
}

#[test]
fn killed_after_every_request_in_a_bucket() {
    let mut ground = Ground::new(true);
    works().into_iter().for_each(|work| ground.every_request(work, Deed::KillAfter));
}

#[test]
fn killed_before_every_storage_call() {
    let mut ground = Ground::new(true);
    works().into_iter().for_each(|work| ground.every_store_call(work, false));
}

#[test]
fn killed_after_every_storage_call() {
    let mut ground = Ground::new(true);
    works().into_iter().for_each(|work| ground.every_store_call(work, true));
}

#[test]
fn every_answer_lost_in_turn_leaves_each_template_once() {
    for in_bucket in [false, true] {
        let mut ground = Ground::new(in_bucket);
        works().into_iter().for_each(|work| ground.every_request(work, Deed::LoseAnswer));
    }
}

#[test]
fn a_run_that_stood_still_while_another_took_over_is_fenced() {
    let mut ground = Ground::new(true);
    let project = ground.project(Work::Mixed);
    let bucket = ground.bucket.clone().unwrap();
    // It stops in the middle of a write of the head.
    let caller = ground.proxy.caller();
    let (stop, stopped) = (ground.proxy.caller(), std::sync::mpsc::channel());
    bucket.reset();
    bucket.judge(move |number, _, _| {
        if number == 8 {
            stop.signal(Signal::STOP);
            stopped.0.send(()).unwrap();
        }
        Fate::Fine
    });
    let mut command = project.command(["apply", "--yes"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = ground.proxy.spawn(command);
    stopped.1.recv().unwrap();
    let first = caller.pid();
    ground.judge(&project, "another run while the first one stands still");
    rustix::process::kill_process(first, Signal::CONT).unwrap();
    let outcome = Outcome::of(child.wait_with_output().unwrap());
    assert_eq!(outcome.code, 4, "{outcome}");
    ground.judge(&project, "after the first run went on");
}

#[test]
fn what_a_fenced_run_holds_is_rescued() {
    let mut ground = Ground::new(true);
    let project = ground.project(Work::Create);
    let key = format!("case-{}-a", ground.cases);
    ground.proxy.plan(Some((1, Deed::Hold)));
    let mut command = project.command(["apply", "--yes", "--only", &key]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = ground.proxy.spawn(command);
    ground.proxy.wait_until_held();
    // Somebody takes the state over; the open create counts as leaked now.
    let _ = project.run(["state", "unlock", "--yes"]).exits(0);
    let _ = project.run(["state", "leaks"]).exits(0).stdout_has("letterpress-");
    ground.proxy.let_go();
    let outcome = Outcome::of(child.wait_with_output().unwrap());
    assert_eq!(outcome.code, 4, "{outcome}");

    let files = std::fs::read_dir(project.path(".letterpress")).unwrap();
    let names = files.map(|file| file.unwrap().path()).filter(|path| path.display().to_string().contains("rescue-"));
    let rescue = names.last().unwrap_or_else(|| panic!("no rescue file\n{outcome}"));
    assert!(outcome.stdout.contains("state import --rescue"), "{outcome}");
    let _ =
        project.run(["state", "import", "--rescue", rescue.to_str().unwrap()]).exits(0).stderr_has("took in 1 of 1");
    let _ = project.run(["state", "leaks"]).exits(0).stderr_has("nothing has leaked");
    let again = project.run(["state", "import", "--rescue", rescue.to_str().unwrap()]).exits(0);
    assert!(again.stderr.contains("took in 0 of 0"), "{again}");
    ground.judge(&project, "after the rescue");
}

#[test]
fn killed_at_random_moments() {
    for in_bucket in [false, true] {
        let mut ground = Ground::new(in_bucket);
        // A run takes about 100 ms: the moments are spread over it, start and end included.
        for moment in 0..12_u64 {
            ground.killed(0, Duration::from_millis(moment * 11));
        }
    }
}

/// In a folder, where nobody comes with `state unlock`: the results are saved, perhaps the last snapshot too, and the state is not yet free. The next run has
/// nothing to do but that.
#[test]
fn killed_after_the_last_answer_in_a_folder() {
    let mut ground = Ground::new(false);
    for moment in 0..16_u64 {
        // An update, a create and its update.
        ground.killed(3, Duration::from_micros(moment * 600));
    }
}
