//! Every command that the documentation shows is run, in order, page by page, in a copy of the examples.
//!
//! A block fenced as `console` holds lines that begin with `$ `; what follows is given to a shell whose PATH has the binary under test. A command
//! that is meant to fail says so: `$ letterpress validate broken   # exits 3`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::support::{Outcome, Project, binary, repository};

fn pages() -> Vec<PathBuf> {
    let docs = walkdir::WalkDir::new(repository().join("docs")).into_iter().map(|entry| entry.unwrap().into_path());
    let mut pages: Vec<PathBuf> =
        docs.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    pages.extend(["README.md", "CONTRIBUTING.md"].map(|page| repository().join(page)));
    pages.sort();
    pages
}

/// The commands of a page, with the exit codes that it promises.
fn commands(page: &str) -> Vec<(String, i32)> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            inside = line.trim() == "```console";
        } else if let (true, Some(command)) = (inside, line.strip_prefix("$ ")) {
            let (command, code) = match command.rsplit_once("# exits ") {
                Some((command, code)) => (command, code.trim().parse().unwrap()),
                None => (command, 0),
            };
            found.push((command.trim().to_owned(), code));
        }
    }
    found
}

#[test]
fn every_command_in_the_documentation_runs() {
    let mut run = 0;
    for page in pages() {
        let commands = commands(&fs::read_to_string(&page).unwrap());
        if commands.is_empty() {
            continue;
        }
        let project = Project::copy_of(&repository().join("examples"));
        for (line, code) in commands {
            let path = format!("{}:{}", binary().parent().unwrap().display(), std::env::var("PATH").unwrap());
            let output = Command::new("sh")
                .args(["-ec", &line])
                .current_dir(project.root())
                .env_clear()
                .env("PATH", path)
                .env("HOME", project.root())
                .output()
                .unwrap();
            let outcome = Outcome::of(output);
            assert_eq!(outcome.code, code, "{}: $ {line}\n{outcome}", page.display());
            run += 1;
        }
    }
    assert!(run > 0, "no page shows a command");
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            let outside = target.is_empty() || target.contains("://") || target.starts_with("mailto:");
            let path = page.parent().unwrap().join(target);
            assert!(outside || path.exists(), "{}: {target} is not there", page.display());
        }
    }
}

#[test]
fn every_page_is_in_the_index() {
    let index = fs::read_to_string(repository().join("docs/README.md")).unwrap();
    for page in pages() {
        let name = page.file_name().unwrap().to_str().unwrap();
        assert!(!page.starts_with(repository().join("docs")) || name == "README.md" || index.contains(name), "{name}");
    }
}

/// The picture in the README is what the binary prints now. `LETTERPRESS_UPDATE=1` writes it again.
#[test]
fn the_picture_shows_what_a_person_sees() {
    let project = Project::copy_of(&repository().join("examples"));
    project.run(["apply", "--yes"]).exits(0);
    let edit = |file: &str, from: &str, to: &str| {
        let text = project.read(file);
        assert!(text.contains(from), "{file}");
        project.write(file, text.replace(from, to));
    };
    for body in ["body.html", "body.txt"] {
        edit(&format!("templates/welcome/{body}"), "you can sign in from anywhere", "you are in");
    }
    edit("templates/welcome/body.html", "{{first_name|friend}}", "{{frist_name|friend}}");
    edit("templates/trial-ending/manifest.yaml", "subject: \"Your trial ends in", "subject: \"Only");
    std::fs::rename(project.path("templates/team-invite"), project.path("templates/invite")).unwrap();
    let mut screen = String::new();
    for (line, arguments) in [
        ("letterpress validate templates/welcome", vec!["validate", "templates/welcome", "--color", "always"]),
        ("letterpress plan", vec!["plan", "--color", "always"]),
    ] {
        let outcome = project.run(arguments).exits(0);
        screen += &format!("\u{1b}[1m$ {line}\u{1b}[0m\n{}{}\n", outcome.stdout, outcome.stderr);
    }
    let picture = anstyle_svg::Term::new().render_svg(screen.trim_end());
    let file = repository().join("docs/images/plan.svg");
    if std::env::var_os("LETTERPRESS_UPDATE").is_some() {
        fs::write(&file, &picture).unwrap();
    }
    assert!(
        fs::read_to_string(&file).is_ok_and(|shown| shown == picture),
        "the picture is old: LETTERPRESS_UPDATE=1 writes it"
    );
}
