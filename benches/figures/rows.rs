//! The rows of the table. Each measures one promise of the performance design and its peer.

use std::path::PathBuf;
use std::process::Command;

use super::process::{Cost, Task, median, medians, middle};
use super::project::Project;
use super::service::Service;
use super::table::Line;
use super::{apply, hash, look};

/// What every row is given.
pub struct Bench {
    pub letterpress: PathBuf,
    /// Where corpora are kept.
    pub work: PathBuf,
    pub rounds: usize,
}

type Row = (&'static str, &'static str, fn(&Bench) -> Vec<Line>);

/// Name, what it measures, how.
pub const ROWS: &[Row] = &[
    ("start", "start against `git --version`", start),
    ("validate", "uncached validate against hashing every file; memory", validate),
    ("peers", "uncached validate against `b3sum` and `rg`, where they are installed", peers),
    ("growth", "uncached validate of 1,000 and 10,000 folders", growth),
    ("changed", "validate of one changed folder", changed),
    ("environments", "unchanged validate with 1,000 environments against one", environments),
    ("latency", "apply of new templates to a service that answers in 0, 50 and 200 ms, and with 429s", apply::latency),
    ("creates", "the CPU of apply of 1,000 and of 10,000 new templates", apply::creates),
    ("status", "unchanged validate and plan against `git status`, after an apply of 10,000", status),
    ("plans", "plan of 10,000 changed templates in each form: memory", plans),
    ("heavy", "apply of 200 templates with 7 MB each", apply::heavy),
    (
        "bucket",
        "apply of 1,000 new templates, state in a bucket that takes 50 ms against state in a folder",
        apply::bucket,
    ),
    ("entries", "a state of 1,000 and of 10,000 entries in a bucket that takes 200 ms", apply::entries),
    ("journal", "10,000 creates written down in a folder, nothing else", apply::journal),
    ("sandbox", "creates a second of the built-in service", sandbox),
    ("large", "100,000 folders", large),
];

impl Bench {
    /// A project of so many templates.
    pub fn project(&self, count: usize) -> Project {
        Project::new(&self.work, &self.letterpress, count)
    }

    /// Where corpora are kept, made.
    pub fn work_folder(&self) -> PathBuf {
        std::fs::create_dir_all(&self.work).unwrap();
        self.work.clone()
    }
}

pub fn ratio(a: Cost, b: Cost) -> f64 {
    a.wall / b.wall
}

fn versus(a: Cost, b: Cost) -> String {
    let ms = |seconds: f64| seconds * 1000.0;
    format!("{:.1} ms against {:.1} ms; CPU {:.1} ms against {:.1} ms", ms(a.wall), ms(b.wall), ms(a.cpu), ms(b.cpu))
}

fn start(bench: &Bench) -> Vec<Line> {
    let ours = Task::new(&bench.work_folder(), bench.letterpress.as_os_str(), &["--version"]);
    let git = Task::new(&bench.work_folder(), "git", &["--version"]);
    let [ours, git] = medians(bench.rounds * 6, [&ours, &git]);
    vec![Line::new("start", 2.0, ratio(ours, git), "× `git --version`", versus(ours, git))]
}

fn hasher(project: &Project) -> Task {
    Task::new(&project.folder, std::env::current_exe().unwrap(), &hash::arguments("templates"))
}

fn validate(bench: &Bench) -> Vec<Line> {
    let project = bench.project(10_000);
    let ours = project.task(&["validate", "-q", "--no-cache"]);
    let [ours, peer] = medians(bench.rounds, [&ours, &hasher(&project)]);
    vec![
        Line::told(
            "`validate` of 10,000, nothing cached, against hashing every file in one process",
            ratio(ours, peer),
            "×",
            versus(ours, peer),
        ),
        Line::new("memory of that", 80.0, ours.memory, " MB", "largest resident set".to_owned()),
    ]
}

/// The programs that people know: as they are called, and one process per core. The first is what the design measures with.
fn peers(bench: &Bench) -> Vec<Line> {
    let project = bench.project(10_000);
    let ours = project.task(&["validate", "-q", "--no-cache"]);
    let installed = |name: &str| Command::new(name).arg("--version").output().is_ok();
    let over_all = |xargs: &str, command: &str| {
        let script = format!("find templates -type f -print0 | xargs -0 {xargs} {command}");
        Task::new(&project.folder, "sh", &["-c", &script])
    };
    let mut lines = Vec::new();
    for (name, command) in [("b3sum", "b3sum --"), ("rg", "rg --count --text --fixed-strings '{{' --")] {
        if !installed(name) {
            eprintln!("  `{name}` is not installed");
            continue;
        }
        let (once, spread) = (over_all("-n 100000", command), over_all("-n 1000 -P \"$(nproc)\"", command));
        let [ours, once, spread] = medians(bench.rounds, [&ours, &once, &spread]);
        for (peer, how) in [(once, "one call with every file"), (spread, "a process per core")] {
            let work = format!("`validate` of 10,000, nothing cached, against `{name}`, {how}");
            let (ratio, detail) = (ratio(ours, peer), versus(ours, peer));
            lines.push(match name {
                "b3sum" => Line::new(work, 1.5, ratio, "×", detail),
                _ => Line::told(work, ratio, "×", detail),
            });
        }
    }
    lines
}

fn growth(bench: &Bench) -> Vec<Line> {
    let (small, large) = (bench.project(1_000), bench.project(10_000));
    let uncached = ["validate", "-q", "--no-cache"];
    let [a, b] = medians(bench.rounds, [&small.task(&uncached), &large.task(&uncached)]);
    let detail = format!("{:.1} µs and {:.1} µs a folder", a.wall * 1e3, b.wall * 1e2);
    vec![Line::new("a folder of 10,000 against one of 1,000", 1.2, b.wall / 10.0 / a.wall, "×", detail)]
}

fn changed(bench: &Bench) -> Vec<Line> {
    let project = bench.project(10_000);
    let start = project.task(&["--version"]);
    let [start] = medians(bench.rounds * 4, [&start]);
    let mut costs = [const { Vec::new() }; 3];
    for _ in 0..=bench.rounds {
        project.settle();
        costs[0].push(project.task(&["validate", "-q"]).run());
        project.change();
        costs[1].push(project.task(&["validate", "-q"]).run());
        costs[2].push(project.task(&["validate", "-q", "templates/team-000/template-00001/body.txt"]).run());
    }
    let [same, whole, narrow] = costs.map(|list| (middle(&list[1..]).wall - start.wall) * 1000.0);
    let (least, names) = look::at_all(&project.folder.join("templates"), bench.rounds);
    let least = least * 1000.0;
    let detail = format!("{same:.1} ms without it; looking at {names} names, and nothing else, takes {least:.1} ms");
    vec![
        Line::new(
            "`validate PATH` of one changed file",
            30.0,
            narrow,
            " ms over start",
            "as pre-commit does".to_owned(),
        ),
        Line::told("`validate` of all 10,000 after one change", whole, " ms over start", detail),
    ]
}

/// One monorepo for a thousand customers.
fn environments(bench: &Bench) -> Vec<Line> {
    let project = bench.project(1_000);
    let run = |count: usize| {
        project.environments(count);
        project.settle();
        let [validate, start] =
            medians(bench.rounds, [&project.task(&["validate", "-q"]), &project.task(&["--version"])]);
        (validate.wall - start.wall) * 1000.0
    };
    let (one, thousand) = (run(1), run(1_000));
    let detail = format!("{thousand:.1} ms over start against {one:.1} ms with one");
    vec![Line::told("what 1,000 environments add to `validate`", thousand - one, " ms", detail)]
}

fn status(bench: &Bench) -> Vec<Line> {
    let mut project = bench.project(10_000);
    let service = Service::start(&bench.letterpress, "", 10_000);
    project.connect(&service);
    project.task(&["apply", "--yes"]).run();
    let before = service.requests();
    let idle = project.task(&["apply", "--yes"]).run();
    let noop = service.requests() - before;
    project.commit();
    project.settle();
    project.task(&["plan"]).run();
    let git = Task::new(&project.folder, "git", &["status", "--short"]);
    let [ours, plan, git] =
        medians(bench.rounds * 2, [&project.task(&["validate", "-q"]), &project.task(&["plan"]), &git]);
    // Each beside a no-op of its own: after a rest, both take longer than one of many in a row.
    let (mut rested, mut after) = (Vec::new(), Vec::new());
    for _ in 0..=bench.rounds {
        project.settle();
        rested.push(project.task(&["plan"]).run());
        project.change();
        after.push(project.task(&["plan"]).run());
    }
    let [rested, after] = [rested, after].map(|list| middle(&list[1..]));
    vec![
        Line::new("requests of a no-op `apply`", 1.0, noop as f64, "", format!("{:.0} ms", idle.wall * 1000.0)),
        Line::new("`validate` of an unchanged tree", 1.0, ratio(ours, git), "× `git status`", versus(ours, git)),
        Line::new("no-op `plan`", 1.0, ratio(plan, git), "× `git status`", versus(plan, git)),
        Line::new("memory of that plan", 80.0, plan.memory, " MB", "10,000 templates live".to_owned()),
        Line::new("`plan` after one change", 1.1, ratio(after, rested), "× no-op", versus(after, rested)),
    ]
}

/// Every template has another sentence in its html and in its text than what was applied.
fn plans(bench: &Bench) -> Vec<Line> {
    let mut project = bench.project(10_000);
    let service = Service::start(&bench.letterpress, "", 10_000);
    project.word(false);
    project.connect(&service);
    project.task(&["apply", "--yes"]).run();
    project.word(true);
    project.settle();
    let forms = ["text", "markdown", "json", "html"];
    let tasks = forms.map(|form| project.task(&["plan", "--format", form]));
    let costs = medians(bench.rounds, tasks.each_ref());
    project.word(false);
    let line = |(form, cost): (&str, Cost)| {
        let detail = format!("{:.1} s, {:.1} s of CPU", cost.wall, cost.cpu);
        Line::new(format!("memory of `plan --format {form}` of 10,000 changed"), 80.0, cost.memory, " MB", detail)
    };
    forms.into_iter().zip(costs).map(line).collect()
}

fn sandbox(bench: &Bench) -> Vec<Line> {
    let rates = (0..bench.rounds).map(|_| Service::start(&bench.letterpress, "", 10_000).creates_per_second(6_000, 16));
    let line = Line::new("small creates", 2000.0, median(rates), " a second", "16 connections, one machine".to_owned());
    vec![line.at_least()]
}

fn large(bench: &Bench) -> Vec<Line> {
    let (middle, large) = (bench.project(10_000), bench.project(100_000));
    let uncached = ["validate", "-q", "--no-cache"];
    let [a, b] = medians(bench.rounds, [&middle.task(&uncached), &large.task(&uncached)]);
    middle.settle();
    large.settle();
    let cached = ["validate", "-q"];
    let [c, d] = medians(bench.rounds, [&middle.task(&cached), &large.task(&cached)]);
    let detail =
        |a: Cost, b: Cost| format!("{:.1} µs and {:.1} µs a folder; {:.0} MB", a.wall * 1e2, b.wall * 1e1, b.memory);
    vec![
        Line::new("a folder of 100,000 against one of 10,000", 1.2, b.wall / 10.0 / a.wall, "×", detail(a, b)),
        Line::new("the same, unchanged and cached", 1.2, d.wall / 10.0 / c.wall, "×", detail(c, d)),
    ]
}
