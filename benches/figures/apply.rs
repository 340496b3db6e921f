//! The rows about `apply`: how near it comes to what the service allows, what it costs, what the state costs.

use super::bucket::{Bucket, Fate, Honesty};
use super::journal;
use super::process::{Cost, Task, median};
use super::project::Project;
use super::rows::{Bench, ratio};
use super::service::Service;
use super::table::Line;

/// Requests that are open at once.
const CONCURRENCY: f64 = 16.0;

/// Against the ideal of every request slot being busy all the time, and against a client that does nothing but create.
pub fn latency(bench: &Bench) -> Vec<Line> {
    let mut lines = Vec::new();
    for (delay, count) in [(50, 1_000), (200, 400)] {
        let [mut over, mut walls, mut bare] = [const { Vec::new() }; 3];
        let mut requests = 0;
        for _ in 0..bench.rounds {
            let (cost, count) = fresh(bench, count, &Service::delay(delay));
            requests = count;
            walls.push(cost.wall);
            over.push(cost.wall / ideal(requests, delay));
            let service = Service::start(&bench.letterpress, &Service::delay(delay), 10_000);
            bare.push(requests as f64 / service.creates_per_second(usize::try_from(requests).unwrap(), 16));
        }
        let [over, wall, bare] = [over, walls, bare].map(|list| median(list.into_iter()));
        let ideal = ideal(requests, delay);
        let detail = format!("{requests} requests in {wall:.2} s; ideal {ideal:.2} s, a bare client {bare:.2} s");
        let work = format!("`apply` of {count} new at {delay} ms and 16 at once");
        lines.push(Line::new(work, 1.1, over, "× ideal", detail));
    }
    let (cost, requests) = fresh(bench, 1_000, "");
    let bare = Service::start(&bench.letterpress, "", 10_000).creates_per_second(2_000, 16);
    let detail =
        format!("{requests} requests, {:.0} a second; a bare client {bare:.0} a second", requests as f64 / cost.wall);
    lines.push(Line::told("`apply` of 1,000 new at 0 ms", cost.wall, " s", detail));
    // The first that matches decides: every hundredth request is refused, the others wait.
    let refusing = format!("[[rule]]\nrequests = \"*/100\"\nanswer = \"status\"\nstatus = 429\n{}", Service::delay(50));
    let (cost, requests) = fresh(bench, 1_000, &refusing);
    let detail =
        format!("{requests} requests in {:.2} s; a 429 halves what is open, ten answers win one back", cost.wall);
    lines.push(Line::told(
        "the same at 50 ms, a 429 for every hundredth",
        cost.wall / ideal(requests, 50),
        "× ideal",
        detail,
    ));
    lines
}

/// Seconds that so many requests take where every slot is busy all the time.
fn ideal(requests: i64, delay: u32) -> f64 {
    requests as f64 * f64::from(delay) / 1000.0 / CONCURRENCY
}

/// What the engine costs: an apply reads, checks and shows what a plan does, and then does it. Nothing is cached for either.
pub fn creates(bench: &Bench) -> Vec<Line> {
    let mut rounds = [const { Vec::new() }; 2];
    for _ in 0..bench.rounds {
        for (count, list) in [1_000, 10_000].into_iter().zip(&mut rounds) {
            let mut project = bench.project(count);
            let service = Service::start(&bench.letterpress, "", 10_000);
            project.connect(&service);
            let plan = project.task(&["plan", "--no-cache"]).run();
            list.push((plan, project.task(&["apply", "--yes"]).run()));
        }
    }
    let middle = |list: &[(Cost, Cost)], what: fn(&Cost, &Cost) -> f64| {
        median(list.iter().map(|(plan, apply)| what(plan, apply)))
    };
    let [thousand, all] = rounds.each_ref().map(|list| middle(list, |_, apply| apply.cpu));
    let plan = middle(&rounds[1], |plan, _| plan.cpu);
    let engine = middle(&rounds[1], |plan, apply| apply.cpu - plan.cpu);
    let wall = middle(&rounds[1], |_, apply| apply.wall);
    let detail = format!("{all:.2} s of CPU in all, {plan:.2} s for the plan alone; {wall:.1} s by the clock");
    let per = format!("{:.2} ms a template, {thousand:.2} ms at 1,000", all / 10.0);
    vec![
        Line::new("`apply` of 10,000 new to the sandbox, over their `plan`", 5.0, engine, " s of CPU", detail),
        Line::new("a template of 10,000 against one of 1,000", 1.1, all / thousand / 10.0, "×", per),
    ]
}

/// Applies so many new templates to a service with these faults; the cost, and the requests that it took.
fn fresh(bench: &Bench, count: usize, faults: &str) -> (Cost, i64) {
    let mut project = bench.project(count);
    let service = Service::start(&bench.letterpress, faults, 10_000);
    project.connect(&service);
    let cost = project.task(&["apply", "--yes"]).run();
    (cost, service.requests())
}

pub fn heavy(bench: &Bench) -> Vec<Line> {
    let mut project = Project::heavy(&bench.work, &bench.letterpress, 200, 7_000_000);
    let service = Service::start(&bench.letterpress, "", 10_000);
    project.connect(&service);
    let cost = project.task(&["apply", "--yes"]).run();
    let detail = format!("{:.1} s, {:.1} s of CPU", cost.wall, cost.cpu);
    vec![Line::new("memory of `apply` of 200 × 7 MB", 120.0, cost.memory, " MB", detail)]
}

/// The same apply twice; the store answers every call after 50 ms, the service every template call.
pub fn bucket(bench: &Bench) -> Vec<Line> {
    let apply = |project: &mut Project| {
        let service = Service::start(&bench.letterpress, &Service::delay(50), 10_000);
        project.connect(&service);
        project.task(&["apply", "--yes"]).run()
    };
    let folder = apply(&mut bench.project(1_000));
    let store = Bucket::start(Honesty::Atomic);
    store.judge(|_, _, _| Fate::Slow(50));
    let mut project = bench.project(1_000);
    project.keep_in(&store);
    let bucket = apply(&mut project);
    let detail = format!("{:.2} s against {:.2} s; {} storage calls", bucket.wall, folder.wall, store.requests());
    vec![Line::new(
        "`apply` of 1,000 new, state in a bucket at 50 ms",
        1.3,
        ratio(bucket, folder),
        "× a folder",
        detail,
    )]
}

/// What the number of entries costs where every call to the store takes 200 ms.
pub fn entries(bench: &Bench) -> Vec<Line> {
    let costs = [1_000, 10_000].map(|count| {
        let store = Bucket::start(Honesty::Atomic);
        let service = Service::start(&bench.letterpress, "", 10_000);
        let mut project = bench.project(count);
        project.keep_in(&store);
        project.connect(&service);
        project.task(&["apply", "--yes"]).run();
        project.settle();
        store.judge(|_, _, _| Fate::Slow(200));
        let plan = project.task(&["plan"]).run();
        project.change();
        let before = store.requests();
        (plan, project.task(&["apply", "--yes"]).run(), store.requests() - before)
    });
    let [(small_plan, small_apply, small_calls), (plan, apply, calls)] = costs;
    let seconds = |one: Cost, other: Cost| format!("{:.2} s against {:.2} s", one.wall, other.wall);
    let detail = format!("{}; {calls} storage calls against {small_calls}", seconds(apply, small_apply));
    let growth = "a bucket at 200 ms, 10,000 entries against 1,000";
    vec![
        Line::told(format!("no-op `plan`, {growth}"), ratio(plan, small_plan), "×", seconds(plan, small_plan)),
        Line::told(format!("`apply` of one change, {growth}"), ratio(apply, small_apply), "×", detail),
    ]
}

pub fn journal(bench: &Bench) -> Vec<Line> {
    let folder = tempfile::tempdir_in(bench.work_folder()).unwrap();
    let (program, place) = (std::env::current_exe().unwrap(), folder.path().join("state"));
    let words = journal::arguments(&place, 10_000);
    let cost = Task::new(folder.path(), program, &words.each_ref().map(String::as_str)).run();
    let detail = format!("user and system; {:.1} s with the disk's", cost.wall);
    vec![Line::new("the journal of 10,000 creates in a folder", 5.0, cost.cpu, " s of CPU", detail)]
}
