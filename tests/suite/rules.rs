//! Every rule has a folder `tests/fixtures/<rule>/` that it reports, and says there exactly what `expected.txt` says.
//!
//! `SNAPSHOTS=overwrite cargo test rules` writes the expectations anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use letterpress::check::table;
use letterpress::diagnostic::{Profile, Rule};
use snapbox::Data;

use crate::support::{Outcome, binary};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Rules that only a plan can see; their tests are with the plan.
const ELSEWHERE: [&str; 1] = ["too-many-templates"];

/// A copy of a fixture, so that nothing is written beside it, with the parts that are too large to keep.
fn project(rule: &Rule) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    let from = fixtures().join(rule.name);
    for entry in walkdir::WalkDir::new(&from).min_depth(1) {
        let entry = entry.unwrap();
        let to = copy.path().join(entry.path().strip_prefix(&from).unwrap());
        if entry.file_type().is_dir() {
            std::fs::create_dir(to).unwrap();
        } else if entry.path_is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(entry.path()).unwrap(), to).unwrap();
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
    let html = |head: &str, body: &str| {
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>T</title>{head}</head><body><h1>Hello</h1>{body}</body></html>\n"
        )
    };
    let write =
        |name: &str, text: String| std::fs::write(copy.path().join("templates/welcome").join(name), text).unwrap();
    match rule.name {
        "request-too-large" => write("body.txt", "0123456789abcde\n".repeat(655_360)),
        "gmail-clip" => write("body.html", html("", &"<p>0123456789</p>\n".repeat(6_000))),
        "style-over-16k" => {
            write("body.html", html(&format!("<style>{}</style>", ".a { color: red }\n".repeat(1_000)), ""));
        }
        "amp-size" => {
            let amp =
                std::fs::read_to_string(fixtures().join("amp-css-strict/templates/welcome/body.amp.html")).unwrap();
            let amp = amp.replace("⚡4email", "⚡4email data-css-strict");
            write("body.amp.html", amp.replace("<p>", &format!("<p>{}", "0123456789".repeat(20_001))));
        }
        _ => {}
    }
    copy
}

fn validate(rule: &Rule) -> Outcome {
    let project = project(rule);
    let profile = match rule.profile {
        Profile::Default => "default",
        Profile::A11y => "a11y",
        Profile::Strict => "strict",
    };
    let output = Command::new(binary())
        .args(["validate", "--format", "concise", "--profile", profile])
        .current_dir(project.path())
        .env_clear()
        .output()
        .unwrap();
    Outcome::of(output)
}

#[test]
fn every_rule_says_what_its_fixture_expects() {
    let mut wrong = Vec::new();
    for rule in table::all().filter(|rule| !ELSEWHERE.contains(&rule.name)) {
        let folder = fixtures().join(rule.name);
        if !folder.is_dir() {
            wrong.push(format!("{}: no fixture", rule.name));
            continue;
        }
        let outcome = validate(rule);
        // Findings of templates are data; those of letterpress.toml end the run and are talk.
        let said = if outcome.stdout.is_empty() { outcome.stderr.clone() } else { outcome.stdout.clone() };
        if !said.contains(&format!("[{}]", rule.name)) {
            wrong.push(format!("{}: its fixture does not report it\n{outcome}", rule.name));
            continue;
        }
        let expected = folder.join("expected.txt");
        let result = std::panic::catch_unwind(|| {
            snapbox::assert_data_eq!(said.clone(), Data::read_from(&expected, None).raw());
        });
        if result.is_err() {
            wrong.push(format!("{}: says something else than expected.txt\n{said}", rule.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_fixture_belongs_to_a_rule() {
    let rules: BTreeSet<&str> = table::all().map(|rule| rule.name).collect();
    for entry in std::fs::read_dir(fixtures()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(rules.contains(name.as_str()) || name == "quiet", "tests/fixtures/{name} belongs to no rule");
    }
}

#[test]
fn realistic_mails_are_quiet() {
    // Outlook's conditional comments and VML, preheader padding, minified CSS, optional end tags, other engines, AMP.
    let output = Command::new(binary())
        .args(["validate", "--format", "concise"])
        .current_dir(fixtures().join("quiet"))
        .env_clear()
        .output()
        .unwrap();
    let outcome = Outcome::of(output).exits(0);
    assert_eq!(outcome.stdout, "");
}
