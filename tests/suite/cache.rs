//! The stat cache under `.letterpress/cache`: whatever changes is seen, whatever does not is not read.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use crate::support::{Outcome, Project};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n0123456789";

/// Three templates, one of them with an image in a folder of its own.
fn project() -> Project {
    let project = Project::new().template("one").template("two").template("deep/three");
    project.write("templates/one/img/logo.png", PNG);
    project.write(
        "templates/one/manifest.yaml",
        "name: one\nsubject: One\nsender_email: a@example.com\nattachments:\n  - path: img/logo.png\n",
    );
    project
}

/// How many templates a run read, as it says itself.
fn read(outcome: &Outcome) -> usize {
    let line = outcome.stderr.lines().find(|line| line.contains(" templates read")).expect("a line about the cache");
    line.trim().split(' ').next().unwrap().parse().unwrap()
}

/// Runs until nothing is read any more: files that changed within the grain of the file system's clock are read again.
fn settle(project: &Project) {
    let start = Instant::now();
    while read(&project.run(["-v", "validate"])) > 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "the cache never settles");
        std::thread::yield_now();
    }
}

/// What a run finds with and without the cache, which must be the same.
#[track_caller]
fn both(project: &Project, arguments: &[&str]) -> serde_json::Value {
    let arguments = [&["validate", "--format", "json"], arguments].concat();
    let with = project.run(&arguments);
    let without = project.run([&["--no-cache"], arguments.as_slice()].concat());
    assert_eq!(with.stdout, without.stdout);
    assert_eq!(with.code, without.code);
    with.json()
}

fn rules(report: &serde_json::Value) -> Vec<&str> {
    report["findings"].as_array().unwrap().iter().map(|finding| finding["rule"].as_str().unwrap()).collect()
}

#[test]
fn an_unchanged_tree_is_not_read_and_says_the_same() {
    let project = project();
    project.write("templates/two/manifest.yaml", "name: two\nsubject: Two\n");
    let before = both(&project, &[]);
    assert!(rules(&before).contains(&"sender-missing"));
    settle(&project);
    let outcome = project.run(["-v", "validate", "--format", "json"]);
    assert_eq!((read(&outcome), outcome.json()), (0, before));
    assert_eq!(read(&project.run(["-v", "--no-cache", "validate"])), 3);
}

#[test]
fn every_change_is_seen_and_only_what_changed_is_read() {
    let project = project();
    let body = "templates/two/body.txt";
    project.write(body, "a word");
    assert_eq!(rules(&both(&project, &[])), Vec::<&str>::new());

    settle(&project);
    // The same size, and the modification time put back.
    let modified = fs::metadata(project.path(body)).unwrap().modified().unwrap();
    project.write(body, "a\u{1}word");
    File::options().write(true).open(project.path(body)).unwrap().set_modified(modified).unwrap();
    assert_eq!(read(&project.run(["-v", "validate"])), 1);
    assert_eq!(rules(&both(&project, &[])), ["not-utf8"]);
    project.write(body, "a word");

    settle(&project);
    // Another file of the same size under the same name.
    project.write("other", b"GIF89a\r\n\x1a\n01234567");
    fs::rename(project.path("other"), project.path("templates/one/img/logo.png")).unwrap();
    assert_eq!(rules(&both(&project, &[])), ["attachment-type"]);
    project.write("templates/one/img/logo.png", PNG);

    settle(&project);
    // The folder of an asset becomes a link to itself, moved elsewhere.
    fs::rename(project.path("templates/one/img"), project.path("img")).unwrap();
    symlink(project.path("img"), project.path("templates/one/img")).unwrap();
    assert!(rules(&both(&project, &[])).contains(&"path-symlink"));
    fs::remove_file(project.path("templates/one/img")).unwrap();
    assert_eq!(rules(&both(&project, &[])), ["file-missing"]);
    fs::rename(project.path("img"), project.path("templates/one/img")).unwrap();
    assert_eq!(rules(&both(&project, &[])), Vec::<&str>::new());

    settle(&project);
    // A file that goes and comes back.
    fs::rename(project.path("templates/deep/three/body.html"), project.path("body.html")).unwrap();
    fs::rename(project.path("templates/deep/three/body.txt"), project.path("body.txt")).unwrap();
    assert_eq!(rules(&both(&project, &[])), ["body-missing"]);
    fs::rename(project.path("body.html"), project.path("templates/deep/three/body.html")).unwrap();
    fs::rename(project.path("body.txt"), project.path("templates/deep/three/body.txt")).unwrap();
    assert_eq!(rules(&both(&project, &[])), Vec::<&str>::new());

    settle(&project);
    // Folders that come, move and go.
    project.write_template("deep/four", "Four");
    assert_eq!(both(&project, &[])["counts"]["templates"], 4);
    fs::rename(project.path("templates/deep/four"), project.path("templates/two/four")).unwrap();
    assert_eq!(both(&project, &[])["counts"]["templates"], 4);
    fs::remove_dir_all(project.path("templates/two/four")).unwrap();
    fs::remove_file(project.path("templates/two/manifest.yaml")).unwrap();
    assert_eq!(both(&project, &[])["counts"]["templates"], 2);
}

#[test]
fn a_file_that_was_only_touched_is_read_and_says_the_same() {
    let project = project();
    let before = both(&project, &[]);
    settle(&project);
    File::options()
        .write(true)
        .open(project.path("templates/two/body.txt"))
        .unwrap()
        .set_modified(std::time::SystemTime::now())
        .unwrap();
    assert_eq!(read(&project.run(["-v", "validate"])), 1);
    assert_eq!(both(&project, &[]), before);
}

#[test]
fn edits_in_quick_succession_are_all_seen() {
    let project = project();
    for round in 0..12 {
        let (word, expected): (_, &[&str]) =
            if round % 2 == 0 { ("a word", &[]) } else { ("a\u{1}word", &["not-utf8"]) };
        project.write("templates/two/body.txt", word);
        let outcome = project.run(["validate", "--format", "json"]);
        assert_eq!(rules(&outcome.json()), expected, "round {round}");
    }
}

#[test]
fn settings_that_the_result_depends_on_have_caches_of_their_own() {
    let config =
        "environment = \"a\"\n[environments.a]\nbase_url = \"sandbox\"\n[environments.b]\nbase_url = \"sandbox\"\n";
    let project = project().file("letterpress.toml", config);
    project.write(
        "templates/two/manifest.yaml",
        "name: two\nsubject: Two\nsender_email: a@example.com\noverrides: { b: { sender_email: bad } }\n",
    );
    settle(&project);
    assert_eq!(rules(&both(&project, &["-e", "b"])), ["bad-address"]);
    both(&project, &["--profile", "strict"]);
    assert_eq!(read(&project.run(["-v", "validate"])), 0, "the first cache is still there");
    project.write("letterpress.toml", format!("{config}[defaults]\nreply_to = \"bad\"\n"));
    assert_eq!(rules(&both(&project, &[])), ["bad-address"]);
}

#[test]
fn a_damaged_or_foreign_file_is_no_cache() {
    let project = project();
    let before = both(&project, &[]);
    settle(&project);
    let folder = project.path(".letterpress/cache");
    let files = || fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let file = files().find(|path| path.extension().is_some_and(|end| end == "bin")).unwrap();
    assert_eq!(files().count(), 2, "the cache and its .gitignore, no drafts");
    let good = fs::read(&file).unwrap();
    let flipped = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        bytes
    };
    let damaged = [
        Vec::new(),
        good[..good.len() / 2].to_vec(),
        flipped(0),
        flipped(20),
        flipped(50),
        flipped(good.len() / 2),
        flipped(good.len() - 1),
        b"something else".to_vec(),
    ];
    for bytes in damaged {
        fs::write(&file, bytes).unwrap();
        let outcome = project.run(["-v", "validate", "--format", "json"]);
        assert_eq!((read(&outcome), outcome.json()), (3, before.clone()));
    }
    settle(&project);
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(read(&project.run(["-v", "validate"])), 3);
}

#[test]
fn a_change_is_added_to_the_end_of_the_file_and_a_torn_one_is_none() {
    let project = (0..40).fold(Project::new(), |project, number| project.template(&format!("team/t{number:02}")));
    settle(&project);
    let folder = project.path(".letterpress/cache");
    // Templates may have settled one after the other, and what was added for them takes from the room there is.
    fs::remove_dir_all(&folder).unwrap();
    settle(&project);
    let find = || fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let file = find().find(|path| path.extension().is_some_and(|end| end == "bin")).unwrap();
    let run = || {
        let outcome = project.run(["-v", "validate", "--format", "json"]);
        assert_eq!(outcome.json(), project.run(["--no-cache", "validate", "--format", "json"]).json());
        read(&outcome)
    };
    // Until every change is older than the grain of the file system's clock; of several, one may be so before the others.
    let until_added = || {
        let before = fs::read(&file).unwrap();
        let start = Instant::now();
        while run() > 0 {
            assert!(start.elapsed() < Duration::from_secs(20), "nothing is added");
        }
        let after = fs::read(&file).unwrap();
        assert!(after.starts_with(&before), "written anew");
        after.len() - before.len()
    };
    project.write("templates/team/t07/body.txt", "a\u{1}word");
    assert!((1..1_000).contains(&until_added()));
    let sound = fs::read(&file).unwrap();
    fs::write(&file, &sound[..sound.len() - 1]).unwrap();
    assert_eq!(run(), 1, "what is torn is not believed");
    assert_eq!(run(), 0);
    let torn = &sound[..sound.len() - 1];
    assert!(!fs::read(&file).unwrap().starts_with(torn), "something is added behind a torn end");

    fs::remove_dir_all(project.path("templates/team/t09")).unwrap();
    until_added();
    project.write("templates/team/new/manifest.yaml", "name: new\nsubject: New\nsender_email: a@example.com\n");
    project.write("templates/team/new/body.txt", "new");
    until_added();
    assert_eq!(find().count(), 2, "the cache and its .gitignore, no drafts");
}

#[test]
fn where_no_cache_can_be_written_there_is_none_and_no_error() {
    let project = project().file(".letterpress", "a file");
    assert_eq!(read(&project.run(["-v", "validate"]).exits(0)), 3);
    fs::remove_file(project.path(".letterpress")).unwrap();
    // A link could lead anywhere.
    fs::create_dir_all(project.path("elsewhere/cache")).unwrap();
    symlink(project.path("elsewhere"), project.path(".letterpress")).unwrap();
    assert_eq!(read(&project.run(["-v", "validate"]).exits(0)), 3);
    assert_eq!(fs::read_dir(project.path("elsewhere/cache")).unwrap().count(), 0);
    fs::remove_file(project.path(".letterpress")).unwrap();
    assert_eq!(read(&project.run(["-v", "--no-cache", "validate"]).exits(0)), 3);
    assert!(!project.path(".letterpress").exists());
}

#[test]
fn runs_at_the_same_time_do_no_harm() {
    let project = project();
    let before = both(&project, &[]);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(3) {
        let runs: Vec<_> = (0..6)
            .map(|_| {
                let mut command = project.command(["validate", "--format", "json"]);
                command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
                command.spawn().unwrap()
            })
            .collect();
        for run in runs {
            assert_eq!(Outcome::of(run.wait_with_output().unwrap()).exits(0).json(), before);
        }
    }
    settle(&project);
}

#[test]
fn a_narrowed_run_reads_what_it_is_asked_for() {
    let project = project();
    settle(&project);
    let outcome = project.run(["-v", "validate", "templates/deep"]);
    assert_eq!(read(&outcome), 1);
    outcome.exits(0).stderr_has("1 of 1 templates read");
}
