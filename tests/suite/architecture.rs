//! The house keeps its shape: the import table of ARCHITECTURE.md, held against the `crate::…` paths of the source.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use crate::support::repository;

/// Every Rust file below `src`, as (room, path, text). `lib.rs` and `main.rs` are no rooms.
fn sources() -> Vec<(String, PathBuf, String)> {
    let root = repository().join("src");
    walkdir::WalkDir::new(&root)
        .into_iter()
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|path| {
            let below = path.strip_prefix(&root).unwrap();
            let room = below.components().next()?.as_os_str().to_str()?.trim_end_matches(".rs").to_owned();
            let text = fs::read_to_string(&path).unwrap();
            (room != "lib" && room != "main").then_some((room, path, text))
        })
        .collect()
}

/// The table `| room | may import |` of ARCHITECTURE.md.
fn table() -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    text.lines()
        .skip_while(|line| !line.starts_with("| room | may import |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let names = cells[1].split(',').map(|name| name.trim().trim_matches('`').to_owned());
            (
                cells[0].trim_matches('`').to_owned(),
                names.filter(|name| !name.is_empty() && name != "nothing").collect(),
            )
        })
        .collect()
}

/// The rooms that a file names: `crate::<room>` in code (doc links do not count, they import nothing).
fn imports(text: &str) -> BTreeSet<String> {
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        // `use crate::{desired::Key, plan::Plan}` names several rooms at once.
        let names: Vec<&str> = match rest.strip_prefix('{') {
            Some(list) => {
                let mut depth = 0_i32;
                let list = list.split(';').next().unwrap();
                list.split(|c| {
                    depth += i32::from(c == '{') - i32::from(c == '}');
                    c == ',' && depth == 0
                })
                .collect()
            }
            None => vec![rest],
        };
        found.extend(
            names.into_iter().map(|name| {
                name.trim().chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect::<String>()
            }),
        );
    }
    found.remove("");
    found
}

#[test]
fn every_room_imports_only_what_the_table_allows() {
    let table = table();
    assert!(table.len() > 8, "the table of ARCHITECTURE.md was not found");
    let mut wrong = Vec::new();
    for (room, path, text) in sources() {
        let Some(allowed) = table.get(&room) else {
            wrong.push(format!("{}: the room `{room}` is not in the table of ARCHITECTURE.md", path.display()));
            continue;
        };
        for import in imports(&text) {
            if import != room && !allowed.contains(&import) {
                wrong.push(format!("{}: `{room}` must not import `{import}`", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn anyhow_is_for_the_command_line_only() {
    for (room, path, text) in sources() {
        assert!(room == "cli" || !text.contains("anyhow::"), "{} uses anyhow", path.display());
    }
}

#[test]
fn only_the_command_line_reaches_for_the_terminal() {
    for (room, path, text) in sources() {
        let prints = ["anstream::", "io::stdout", "io::stderr", "println!", "eprintln!"];
        for print in prints {
            assert!(room == "cli" || !text.contains(print), "{} uses {print}", path.display());
        }
    }
}

#[test]
fn imports_are_found_in_every_form() {
    let text = "use crate::desired::Key;\nuse crate::{plan::Plan, state::{State, Entry}};\nfn f(x: crate::wire::Body) {}\n// crate::cli\n";
    let expected: BTreeSet<String> = ["desired", "plan", "state", "wire"].map(str::to_owned).into();
    assert_eq!(imports(text), expected);
}
