//! Running a command and saying what it cost: wall time, CPU time, memory.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

/// The first argument of the process between: only a process of its own knows what one child needed.
const BETWEEN: &str = "--measure-this";

/// What one run cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct Cost {
    /// Seconds.
    pub wall: f64,
    /// Seconds on all cores together.
    pub cpu: f64,
    /// Most memory at once, in MB of 1,000,000 bytes.
    pub memory: f64,
}

/// A command that is measured.
#[derive(Debug, Clone)]
pub struct Task {
    words: Vec<OsString>,
    folder: OsString,
    variables: Vec<(String, String)>,
}

impl Task {
    /// A program in a folder with arguments.
    pub fn new(folder: &Path, program: impl Into<OsString>, arguments: &[&str]) -> Self {
        let words = std::iter::once(program.into()).chain(arguments.iter().map(OsString::from)).collect();
        Self { words, folder: folder.into(), variables: Vec::new() }
    }

    /// With an environment variable.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs it once. What it prints is dropped; it must end with 0.
    pub fn run(&self) -> Cost {
        let output = Command::new(std::env::current_exe().unwrap())
            .arg(BETWEEN)
            .args(&self.words)
            .current_dir(&self.folder)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let numbers: Vec<f64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [wall, cpu, memory] = numbers[..] else {
            panic!("{:?}: {said}{}", self.words, String::from_utf8_lossy(&output.stderr));
        };
        Cost { wall, cpu, memory }
    }
}

/// In the process between: runs the command, prints what it cost, and says that it did. In any other process: nothing.
pub fn between() -> bool {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [first, program, arguments @ ..] = words.as_slice() else { return false };
    if first != BETWEEN {
        return false;
    }
    let start = Instant::now();
    let mut command = Command::new(program);
    let child = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).output().unwrap();
    let wall = start.elapsed();
    if !child.status.success() {
        println!("{} {}", child.status, String::from_utf8_lossy(&child.stderr));
        return true;
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let seconds = |time: nix::sys::time::TimeVal| {
        Duration::new(u64::try_from(time.tv_sec()).unwrap(), u32::try_from(time.tv_usec()).unwrap() * 1000)
            .as_secs_f64()
    };
    let cpu = seconds(usage.user_time()) + seconds(usage.system_time());
    // Linux counts in KiB.
    println!("{} {cpu} {}", wall.as_secs_f64(), f64::from(i32::try_from(usage.max_rss()).unwrap()) * 1.024e-3);
    true
}

/// Runs tasks in turn, so that whatever else the machine does hits all alike, and gives the median cost of each.
pub fn medians<const N: usize>(rounds: usize, tasks: [&Task; N]) -> [Cost; N] {
    let mut costs = [const { Vec::new() }; N];
    for round in 0..=rounds {
        for (list, task) in costs.iter_mut().zip(tasks) {
            let cost = task.run();
            // The first round warms up.
            if round > 0 {
                list.push(cost);
            }
        }
    }
    costs.map(|list| middle(&list))
}

/// The median of each kind of cost.
pub fn middle(list: &[Cost]) -> Cost {
    Cost {
        wall: median(list.iter().map(|cost| cost.wall)),
        cpu: median(list.iter().map(|cost| cost.cpu)),
        memory: median(list.iter().map(|cost| cost.memory)),
    }
}

/// The middle one.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
