//! A manifest, an html body and an AMP body from a stranger: reading and every rule end, and every place is within its file.
#![no_main]

use letterpress::check::{self, Levels, Rules};
use letterpress::diagnostic::Profile;
use letterpress::source::Project;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // Three files in one input, divided by a byte that no UTF-8 has.
    let mut parts = data.split(|byte| *byte == 0xff);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let template = folder.path().join("templates/a");
    std::fs::create_dir_all(&template).expect("a folder");
    std::fs::write(folder.path().join("letterpress.toml"), "").expect("a file");
    for name in ["manifest.yaml", "body.html", "body.amp.html"] {
        std::fs::write(template.join(name), parts.next().unwrap_or_default()).expect("a file");
    }
    let project = Project::open(Some(folder.path()), folder.path()).expect("an empty letterpress.toml is good");
    let environment = project.environment(None).expect("there is one");
    let (levels, _) = Levels::new(Profile::Strict, &project.config);
    let rules = Rules { levels: &levels, environment: &environment.name, measure: |_| 0 };
    for key in ["a"] {
        let key = key.parse().expect("a key");
        let Ok(Some(read)) = project.folder(environment, &key) else { return };
        let verdict = check::folder(read, &rules);
        for finding in verdict.findings {
            assert!(finding.location.bytes.start <= finding.location.bytes.end);
            assert!(finding.location.bytes.end <= data.len());
        }
    }
});
