//! Kills at each step of a write to the state's folder, as it can be seen from outside.
//!
//! What a disk may keep of such a write after a power cut is replayed in `state::register`; here the machine lives on, and only the process dies.

use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::process::{Pid, Signal, kill_process};

use super::oracle::{holds, project, with_subject};
use super::{Work, works};
use crate::support::{Outcome, Project, Service};

/// A step of a write to the state, as the folder shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A new file is there, with nothing in it yet.
    Created,
    /// Something is in it.
    Written,
    /// It was closed: all of it is in.
    Closed,
    /// It has got its name.
    Renamed,
}

/// A watch on a folder. It ends with the folder that it is given as its end.
struct Journal {
    victim: Arc<(Mutex<Option<Pid>>, Condvar)>,
    end: tempfile::TempDir,
    watch: JoinHandle<bool>,
}

impl Journal {
    /// Kills the victim at the n-th such step, counted from 1.
    fn kill_at(folder: &Path, step: Step, n: u64) -> Self {
        let end = tempfile::tempdir().unwrap();
        let inotify = inotify::init(CreateFlags::CLOEXEC).unwrap();
        let steps = WatchFlags::CREATE | WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO;
        inotify::add_watch(&inotify, folder, steps).unwrap();
        inotify::add_watch(&inotify, end.path(), WatchFlags::DELETE_SELF).unwrap();
        let victim = Arc::new((Mutex::new(None::<Pid>), Condvar::new()));
        let watching = Arc::clone(&victim);
        let watch = std::thread::spawn(move || {
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut reader = Reader::new(inotify, &mut buffer);
            let mut seen = 0;
            while let Ok(event) = reader.next() {
                let flags = event.events();
                if flags.contains(ReadFlags::DELETE_SELF) {
                    return false;
                }
                let name = event.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                let wanted = match step {
                    Step::Created => flags.contains(ReadFlags::CREATE) && name.starts_with(".new-"),
                    Step::Written => flags.contains(ReadFlags::MODIFY) && name.starts_with(".new-"),
                    Step::Closed => flags.contains(ReadFlags::CLOSE_WRITE) && name.starts_with(".new-"),
                    Step::Renamed => flags.contains(ReadFlags::MOVED_TO),
                };
                seen += u64::from(wanted);
                if wanted && seen == n {
                    let (victim, known) = &*watching;
                    let victim = known.wait_while(victim.lock().unwrap(), |victim| victim.is_none()).unwrap();
                    // It may have ended by itself; it is not reaped before the test looks.
                    let _ = kill_process(victim.unwrap(), Signal::KILL);
                    return true;
                }
            }
            false
        });
        Self { victim, end, watch }
    }

    /// Names the process to kill.
    fn victim(&self, child: &Child) {
        *self.victim.0.lock().unwrap() = Some(Pid::from_child(child));
        self.victim.1.notify_all();
    }

    /// Ends the watch, and says whether it came to the n-th step.
    fn end(self) -> bool {
        self.end.close().unwrap();
        self.watch.join().unwrap()
    }
}

/// Templates that the killed run creates or updates.
const TEMPLATES: usize = 4;

/// A service, and what was leaked there so far.
struct Ground {
    service: Service,
    leaked: BTreeSet<String>,
    cases: usize,
}

impl Ground {
    /// A project with work to do, and the prefix of its keys.
    fn project(&mut self, work: Work) -> (Project, String) {
        self.cases += 1;
        let prefix = format!("case{}-", self.cases);
        let project = project(&self.service.url, &self.service.key, 3);
        let old = match work {
            Work::Create => 0,
            Work::Update => TEMPLATES,
            Work::Mixed => TEMPLATES / 2,
        };
        if old > 0 {
            (0..old).for_each(|n| project.write_template(&format!("{prefix}{n}"), "Old"));
            let _ = project.run(["apply", "--yes"]).exits(0);
        }
        (0..TEMPLATES).for_each(|n| project.write_template(&format!("{prefix}{n}"), "New"));
        (project, prefix)
    }

    /// Kills a run at the n-th such step, and looks what the next run makes of it. Says whether the run came to the step, and whether it died there: near its
    /// end it may be faster than the signal.
    fn crash(&mut self, work: Work, step: Step, n: u64) -> (bool, bool) {
        let (project, prefix) = self.project(work);
        let case = format!("{work:?} {step:?} {n}");
        let journal = Journal::kill_at(&project.path("state"), step, n);
        let child = project.command(["apply", "--yes"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        journal.victim(&child);
        let outcome = Outcome::of(child.wait_with_output().unwrap());
        let reached = journal.end();
        assert!([0, -9].contains(&outcome.code), "{case}: {outcome}");

        let next = project.run(["apply", "--yes"]);
        assert_eq!(next.code, 0, "{case}: {next}");
        holds(&self.service, &project, &prefix, &mut self.leaked);
        assert_eq!(with_subject(&self.service, &prefix, "About New"), 4, "{case}");
        let sent = self.requests();
        let _ = project.run(["apply", "--yes"]).exits(0).stdout_has("Nothing changes");
        assert_eq!(self.requests(), sent, "{case}: something was sent though nothing changes");
        (reached, outcome.code == -9)
    }

    fn requests(&self) -> i64 {
        self.service.count("SELECT count(*) FROM requests WHERE path = '/template/create'")
    }
}

#[test]
fn killed_at_each_step_of_a_write_to_the_state() {
    // Every fourth step, each kind with others, unless all are wanted.
    let sample = if works().len() == 1 { 4 } else { 1 };
    for work in works() {
        let mut ground = Ground { service: Service::start(), leaked: BTreeSet::new(), cases: 0 };
        for (nth, step) in [Step::Created, Step::Written, Step::Closed, Step::Renamed].into_iter().enumerate() {
            let (mut last, mut kills) = (0, 0);
            for n in (1 + nth as u64 % sample..).step_by(usize::try_from(sample).unwrap()) {
                let (reached, killed) = ground.crash(work, step, n);
                kills += usize::from(killed);
                if !reached {
                    break;
                }
                last = n;
            }
            assert!(last >= 3, "the last {step:?} that a run came to was number {last}");
            assert!(kills > 0, "no run was killed at {step:?}");
        }
    }
}

#[test]
fn killed_while_a_state_is_made() {
    // The first apply on the built-in service makes its own state.
    for step in [Step::Created, Step::Written, Step::Closed, Step::Renamed] {
        for n in 1..=3 {
            let project = Project::new().template("a");
            std::fs::create_dir_all(project.path(".letterpress/state/local")).unwrap();
            let journal = Journal::kill_at(&project.path(".letterpress/state/local"), step, n);
            let mut command = project.command(["apply", "--yes"]);
            let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            journal.victim(&child);
            let _ = child.wait_with_output().unwrap();
            assert!(journal.end(), "{step:?} {n}");
            let next = project.run(["apply", "--yes"]);
            assert_eq!(next.code, 0, "{step:?} {n}: {next}");
            let _ = project.run(["state", "history"]).exits(0).stdout_has("state init");
        }
    }
}
