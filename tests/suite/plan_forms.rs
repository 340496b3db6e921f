//! Every form of a plan with every kind of change, byte for byte, and what becomes of it where nobody reads or nothing can be written.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Read as _;
use std::process::{Command, Stdio};

use snapbox::Data;

use crate::support::{Outcome, Project, repository};

/// A picture that nobody decodes.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// A text in which everything tries to come to life.
const HOSTILE: &str = "</details></pre><b>x</b> ``` ##[group] ::error:: \u{202e}abc {{name}}";

/// A project whose next plan has every word but `fill` and `resend`, and every kind of change.
fn changed() -> Project {
    let job = [("GITHUB_ACTOR", "ci"), ("GITHUB_REPOSITORY", "x/y"), ("GITHUB_RUN_ID", "1")];
    let project = job.into_iter().fold(Project::new(), |project, (name, value)| project.variable(name, value));
    let keys = [
        "amp",
        "fields",
        "files",
        "forgotten",
        "gone",
        "gone-again",
        "layout",
        "moved/a",
        "moved/b",
        "same",
        "text",
        "words",
    ];
    let project = keys.into_iter().fold(project, Project::template);
    let amp = "<!doctype html>\n<html ⚡4email data-css-strict>\n<head><meta charset=\"utf-8\"><script async src=\"https://cdn.ampproject.org/v0.js\"></script><style amp4email-boilerplate>body{visibility:hidden}</style></head>\n<body><p>One two three.</p></body>\n</html>\n";
    project.write("templates/amp/body.amp.html", amp);
    let with_files = |names: &str| {
        let manifest = "name: Files\nsubject: Files\nsender_email: a@example.com\n";
        project.write("templates/files/manifest.yaml", format!("{manifest}{names}"));
        project.write(
            "templates/files/body.html",
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>F</title></head>\n<body><img src=\"cid:logo.png\" alt=\"Logo\" width=\"1\" height=\"1\"><img src=\"cid:same.png\" alt=\"Same\" width=\"1\" height=\"1\"></body></html>\n",
        );
    };
    for name in ["logo.png", "same.png"] {
        project.write(&format!("templates/files/{name}"), PNG);
    }
    for name in ["old.pdf", "terms.pdf", "new.pdf"] {
        project.write(&format!("templates/files/{name}"), "%PDF-1.4\n");
    }
    let inline = "inline_attachments: [{ path: logo.png }, { path: same.png }]\n";
    with_files(&format!("attachments: [{{ path: old.pdf }}, {{ path: terms.pdf }}]\n{inline}"));
    project.run(["apply", "--yes"]).exits(0);
    for key in ["back", "back-changed"] {
        project.write_template(key, "Hello");
    }
    project.run(["apply", "--yes"]).exits(0);
    for key in ["back", "back-changed"] {
        fs::rename(project.path(&format!("templates/{key}")), project.path(key)).unwrap();
    }
    project.run(["apply", "--yes"]).exits(0);

    for key in ["back", "back-changed"] {
        fs::rename(project.path(key), project.path(&format!("templates/{key}"))).unwrap();
    }
    let replace = |path: &str, old: &str, new: &str| project.write(path, project.read(path).replace(old, new));
    replace("templates/back-changed/body.txt", "A line", "Another line");
    replace("templates/amp/body.amp.html", "two", "2");
    project.write(
        "templates/fields/manifest.yaml",
        format!(
            "name: '{HOSTILE}'\nsubject: {:?}\nsender_email: hello@example.com\nheaders: {{ X-Team: one }}\nglobal_info: {{ team: \"\" }}\ncheck_links: 0\n",
            "A subject that is far too long for one line of a plan ".repeat(2)
        ),
    );
    project.write("templates/files/logo.png", [PNG, b"1"].concat());
    project.write("templates/files/terms.pdf", "%PDF-1.5\n");
    with_files(&format!("attachments: [{{ path: terms.pdf }}, {{ path: new.pdf }}]\n{inline}"));
    replace("templates/forgotten/body.txt", "A line", "No line");
    for key in ["gone", "gone-again"] {
        fs::remove_dir_all(project.path(&format!("templates/{key}"))).unwrap();
    }
    replace("templates/layout/body.html", "<h1>", "<h1 class=\"top\">");
    for (old, new) in [("moved/a", "moved/c"), ("moved/b", "moved/d")] {
        fs::rename(project.path(&format!("templates/{old}")), project.path(&format!("templates/{new}"))).unwrap();
        let manifest = project.read(&format!("templates/{new}/manifest.yaml"));
        project.write(&format!("templates/{new}/manifest.yaml"), format!("{manifest}moved_from: {old}\n"));
    }
    replace("templates/moved/d/body.txt", "Hello", "Hi");
    let lines = (0..60).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, "Line {n} of a long text.");
        text
    });
    project.write("templates/text/body.txt", lines);
    replace("templates/words/body.html", "A line for the reader.", "A word for you, reader. <!-- &#8238; -->");
    project.write("templates/words/body.txt", format!("{HOSTILE}\n"));
    project.write_template("new", "Welcome");
    project.write_template("adopted", "Welcome");
    let manifest = project.read("templates/adopted/manifest.yaml");
    project.write("templates/adopted/manifest.yaml", format!("{manifest}ids: {{ local: an-id }}\n"));

    let plan = project.run(["plan", "--format", "json"]).json();
    let step = plan["steps"].as_array().unwrap().iter().find(|step| step["key"] == "forgotten").unwrap();
    let content = format!(".letterpress/state/local/objects/{}.zst", step["from"].as_str().unwrap());
    fs::remove_file(project.path(&content)).unwrap();
    project
}

/// Without what every run has of its own: the plan's digest, the lineage, how many commits it took, and the ids, which come from the service.
fn common(project: &Project, text: &str) -> String {
    let plan = project.run(["plan", "--no-diff", "--format", "json"]).json();
    let mut text = text.replace(plan["digest"].as_str().unwrap(), "DIGEST");
    text = text.replace(plan["lineage"].as_str().unwrap(), "LINEAGE");
    text = text.replace(&format!("\"serial\": {}", plan["serial"]), "\"serial\": 1");
    for step in plan["steps"].as_array().unwrap() {
        if let Some(id) = step["id"].as_str() {
            text = text.replace(id, &format!("ID-OF-{}", step["key"].as_str().unwrap()));
        }
    }
    text
}

#[test]
fn every_form_has_every_kind_of_change() {
    let project = changed();
    let forms: [(&str, &[&str]); 9] = [
        ("plan.txt", &[]),
        ("all.txt", &["--diff", "all"]),
        ("no-diff.txt", &["--no-diff"]),
        ("plan.json", &["--format", "json"]),
        ("no-diff.json", &["--format", "json", "--no-diff"]),
        ("plan.md", &["--format", "markdown"]),
        ("short.md", &["--format", "markdown", "--max-bytes", "5000"]),
        ("plan.html", &["--format", "html"]),
        ("no-diff.html", &["--format", "html", "--no-diff"]),
    ];
    for (file, arguments) in forms {
        let arguments = ["plan", "--detailed-exitcode"].iter().chain(arguments);
        let outcome = project.run(arguments).exits(2);
        let kept = Data::read_from(&repository().join("tests/plans").join(file), None).raw();
        snapbox::assert_data_eq!(common(&project, &outcome.stdout), kept);
    }
}

#[test]
fn a_plan_of_nothing_is_whole_in_every_form() {
    let project = Project::new().template("welcome");
    project.run(["apply", "--yes"]).exits(0);
    let json = project.run(["plan", "--format", "json"]).exits(0).stdout_has("\n  \"steps\": [],\n").json();
    assert_eq!(json["steps"], serde_json::json!([]));
    project.run(["plan"]).exits(0).stdout_has("Nothing changes in `local`: 1 template as last applied (just now by ");
    project.run(["plan", "--format", "markdown"]).exits(0).stdout_has("### Nothing changes in <code>local</code>");
    project.run(["plan", "--format", "html"]).exits(0).stdout_has("<main></main></body></html>");
}

#[test]
fn a_reader_that_went_away_is_no_error_and_a_full_disk_is_one() {
    let mut project = Project::new();
    for n in 0..60 {
        project = project.template(&format!("template-{n}"));
    }
    for form in ["text", "json", "markdown", "html"] {
        let arguments = ["plan", "--detailed-exitcode", "--out", "plan.json", "--format", form];
        let _ = fs::remove_file(project.path("plan.json"));
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let outcome = Outcome::of(project.command(arguments).stdout(full).stderr(Stdio::piped()).output().unwrap());
        outcome.exits(1).stderr_has("error: cannot write to stdout").stderr_has("No space left on device");
        assert!(!project.path("plan.json").exists(), "{form}: nobody has seen this plan");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command: Command = project.command(arguments);
        let outcome = Outcome::of(command.stdout(writer).stderr(Stdio::piped()).output().unwrap()).exits(2);
        assert_eq!(outcome.stderr, "", "{form}");
        assert!(project.path("plan.json").exists(), "{form}");
    }
}

#[test]
fn a_template_that_goes_away_meanwhile_ends_the_form_and_the_run() {
    for form in ["json", "html"] {
        let project = Project::new();
        for n in 100..400 {
            project.write_template(&format!("template-{n}"), &"Hello ".repeat(300));
        }
        let mut command = project.command(["plan", "--format", form]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut text = vec![0; 100];
        stdout.read_exact(&mut text).unwrap();
        // It waits until somebody reads on, far before the last one.
        fs::remove_dir_all(project.path("templates/template-399")).unwrap();
        stdout.read_to_end(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let outcome = Outcome::of(child.wait_with_output().unwrap()).exits(3);
        outcome.stderr_has("error: template `template-399` is gone");
        if form == "html" {
            assert!(text.contains("<code>template-398</code></h2>"), "{}", text.len());
            let end = "this page ends here: template `template-399` is gone</p></main></body></html>";
            assert!(text.ends_with(end), "{}", &text[text.len() - 500..]);
        } else {
            assert!(serde_json::from_str::<serde_json::Value>(&text).is_err());
        }
    }
}
