//! The figures of docs/performance.md, measured: `cargo bench --bench figures`.
//!
//! Every figure is a ratio to a peer that works on the same files in the same run, or a bound that the machine hardly matters for; times
//! are medians of runs in turn. `cargo bench --bench figures -- --list` names the rows, `-- validate status` measures only those, `--rounds N`
//! changes how often. The corpora are written once below `target/figures`. `large` (100,000 folders, 3.4 GB) runs only when it is named.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_precision_loss,
    missing_docs
)]

mod apply;
#[path = "../../tests/suite/bucket.rs"]
#[allow(dead_code)]
mod bucket;
mod corpus;
mod hash;
mod journal;
mod look;
mod process;
mod project;
mod rows;
mod service;
mod table;

use std::path::{Path, PathBuf};

use rows::Bench;

fn main() {
    if process::between() || hash::hash() || journal::journal() {
        return;
    }
    let mut names = Vec::new();
    let mut rounds = 5;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            // Cargo's own.
            "--bench" => {}
            "--rounds" => rounds = words.next().and_then(|word| word.parse().ok()).unwrap(),
            "--list" => {
                for (name, what, _) in rows::ROWS {
                    println!("{name:<10} {what}");
                }
                return;
            }
            name if rows::ROWS.iter().any(|(row, ..)| *row == name) => names.push(word),
            other => {
                eprintln!("there is no row `{other}`; --list names them");
                return;
            }
        }
    }
    let letterpress = PathBuf::from(env!("CARGO_BIN_EXE_letterpress"));
    let work = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/figures");
    project::clear(&work);
    let bench = Bench { letterpress, work, rounds };
    let mut lines = Vec::new();
    for (name, _, row) in rows::ROWS {
        let wanted = if names.is_empty() { *name != "large" } else { names.iter().any(|wanted| wanted == name) };
        if wanted {
            eprintln!("measuring {name} …");
            let measured = row(&bench);
            for line in &measured {
                eprintln!("  {line}");
            }
            lines.extend(measured);
        }
    }
    table::print(&lines);
}
