//! A manifest and a letterpress.toml from a stranger, on a real disk: reading and every rule end, and every place is within its file.
#![no_main]

use std::sync::LazyLock;

use letterpress::check::{self, Levels, Rules};
use letterpress::diagnostic::Profile;
use letterpress::source::Project;
use libfuzzer_sys::fuzz_target;

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir_all(folder.path().join("templates/a")).expect("a folder");
    std::fs::write(folder.path().join("templates/a/body.txt"), "Hello {{name}}\n").expect("a file");
    folder
});

fuzz_target!(|data: &[u8]| {
    // Two files in one input, divided by a byte that no UTF-8 has.
    let mut parts = data.splitn(2, |byte| *byte == 0xff);
    let mut next = || parts.next().unwrap_or_default();
    std::fs::write(FOLDER.path().join("templates/a/manifest.yaml"), next()).expect("a file");
    std::fs::write(FOLDER.path().join("letterpress.toml"), next()).expect("a file");
    let project = match Project::open(Some(FOLDER.path()), FOLDER.path()) {
        Ok(project) => project,
        Err(_) => {
            std::fs::write(FOLDER.path().join("letterpress.toml"), "").expect("a file");
            Project::open(Some(FOLDER.path()), FOLDER.path()).expect("an empty letterpress.toml is good")
        }
    };
    let Some(environment) = project.config.environments.values().next() else { return };
    let (levels, _) = Levels::new(Profile::Strict, &project.config);
    let rules = Rules { levels: &levels, environment: &environment.name, measure: |_, _| None };
    let Ok(Some(read)) = project.folder(environment, &"a".parse().expect("a key")) else { return };
    for finding in check::folder(read, &rules).findings {
        assert!(finding.location.bytes.start <= finding.location.bytes.end);
        assert!(finding.location.bytes.end <= data.len().max(16));
        for edit in finding.edits {
            assert!(edit.bytes.start <= edit.bytes.end && edit.bytes.end <= data.len().max(16));
        }
    }
});
