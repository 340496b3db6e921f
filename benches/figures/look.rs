//! The least that an unchanged tree can cost: looking at each of its names, on all cores, from folders that are open, and nothing else.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rayon::prelude::*;
use rustix::fs::{AtFlags, statat};

use super::process::median;

/// Seconds for all names two levels and more below a folder, and how many there are. To find out what they are is not counted.
pub fn at_all(folder: &Path, rounds: usize) -> (f64, usize) {
    let below = |folder: &Path| -> Vec<PathBuf> {
        let entries = walkdir::WalkDir::new(folder).min_depth(1).into_iter().map(Result::unwrap);
        entries.map(|entry| entry.path().strip_prefix(folder).unwrap().to_owned()).collect()
    };
    let teams: Vec<(File, Vec<PathBuf>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|team| team.unwrap().path())
        .map(|team| (File::open(&team).unwrap(), below(&team)))
        .collect();
    let once = || {
        let start = Instant::now();
        teams.par_iter().for_each(|(team, names)| {
            for name in names {
                statat(team, name, AtFlags::SYMLINK_NOFOLLOW).unwrap();
            }
        });
        start.elapsed().as_secs_f64()
    };
    (median((0..=rounds).map(|_| once()).skip(1)), teams.iter().map(|(_, names)| names.len()).sum())
}
