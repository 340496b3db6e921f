//! Input from strangers: bounded time and memory for any file, nothing outside a template's folder is read (safety P6, P9).

use std::time::{Duration, Instant};

use crate::support::{Outcome, Project};

const HEAD: &str = "name: Welcome\nsender_email: hello@example.com\n";
/// What one folder may cost over the base, in KiB of memory (issue: 64 MiB), and the time it may take. A debug build on a loaded machine is many times slower.
const MEMORY_KIB: u64 = 64 * 1_024;
const TIME: Duration = Duration::from_secs(20);

/// Runs `validate` in a bounded address space, so that whoever eats more memory fails.
fn bounded(project: &Project) -> Outcome {
    let started = Instant::now();
    let base = 512 * 1_024;
    let script = format!("ulimit -v {}; exec \"$0\" validate --format concise", base + MEMORY_KIB);
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", &script])
        .arg(crate::support::binary())
        .current_dir(project.root())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("RAYON_NUM_THREADS", "1");
    let outcome = Outcome::of(command.output().unwrap());
    assert!(started.elapsed() < TIME, "{:?}\n{}", started.elapsed(), outcome.code);
    assert!(outcome.code == 0 || outcome.code == 3, "{outcome}");
    outcome
}

fn manifest(text: impl AsRef<[u8]>) -> Outcome {
    let project = Project::new();
    project.write("templates/a/manifest.yaml", text);
    project.write("templates/a/body.txt", "Hello\n");
    bounded(&project)
}

fn html(text: impl AsRef<[u8]>) -> Outcome {
    let project = Project::new();
    project.write("templates/a/manifest.yaml", HEAD);
    project.write("templates/a/body.html", text);
    bounded(&project)
}

#[test]
fn yaml_bombs_are_refused() {
    let laughs: String =
        (1..9).map(|n| format!("l{n}: &l{n} [{}]\n", vec![format!("*l{}", n - 1); 9].join(", "))).collect();
    for bomb in [
        format!("l0: &l0 lol\n{laughs}"),
        "[".repeat(100_000),
        "{a: ".repeat(60_000),
        "- ".repeat(120_000),
        "? ".repeat(120_000),
        format!("a: \"{}", "\\".repeat(250_000)),
        format!("a: {}", "!".repeat(250_000)),
        format!("{}: 1\n", "k".repeat(250_000)),
        "%TAG ! tag:x,2000:\n".repeat(10_000),
        "---\n".repeat(60_000),
        "&a ".repeat(80_000),
    ] {
        manifest(&bomb).exits(3).stdout_has("error[manifest-syntax]");
    }
}

#[test]
fn a_hundred_thousand_mistakes_are_a_few_findings() {
    let keys: String = (0..25_000).map(|n| format!("k{n}: 1\n")).collect();
    let outcome = manifest(format!("{HEAD}{keys}")).exits(3);
    assert!(outcome.stdout.lines().count() <= 20, "{outcome}");
    let names: String = (0..20_000).map(|n| format!("  {n}: x\n")).collect();
    for field in ["headers", "global_info", "global_replacements"] {
        let names = names.replace(": x", "h: x");
        let outcome = manifest(format!("{HEAD}{field}:\n{names}")).exits(3);
        assert!(outcome.stdout.lines().count() <= 40, "{field}: {}", outcome.stdout.lines().count());
    }
    let twice = "a: 1\n".repeat(50_000);
    assert!(manifest(twice).exits(3).stdout.lines().count() <= 20);
}

#[test]
fn one_file_named_thousands_of_times_is_read_once() {
    let project = Project::new();
    let items = "  - path: a.bin\n".repeat(15_000);
    project.write("templates/a/manifest.yaml", format!("{HEAD}attachments:\n{items}"));
    project.write("templates/a/a.bin", vec![7; 7_000_000]);
    project.write("templates/a/body.txt", "Hello\n");
    bounded(&project).exits(3).stdout_has("attachment-duplicate");
}

#[test]
fn html_of_every_bad_shape_is_read_in_bounded_time() {
    let n = 60_000;
    for text in [
        "<div>".repeat(n),
        "<div>".repeat(n) + &"</div>".repeat(n),
        "</div>".repeat(n),
        "<table>".repeat(n),
        "<a href=x>".repeat(n),
        format!("<p {}>", "a=1 ".repeat(n)),
        "<!--".repeat(n),
        "<!--[if mso]>".repeat(n),
        "<![if a]>".repeat(n),
        "{{".repeat(n),
        "{{a|".repeat(n),
        "{{a}}<b>".repeat(n),
        "{{{".repeat(n),
        "{{#".repeat(n),
        "{{é".repeat(n),
        "}}".repeat(n),
        "{%".repeat(n),
        "[[".repeat(n),
        "*|".repeat(n),
        "${".repeat(n),
        format!("<style>{}</style>", "}".repeat(n)),
        format!("<style>{}</style>", "{".repeat(n)),
        format!("<style>{}</style>", "{{".repeat(n)),
        format!("<style>{}</style>", "/*".repeat(n)),
        format!("<style>{}</style>", "'".repeat(n)),
        format!("<style>{}</style>", "@media{".repeat(n)),
        "<style>a{}</style>".repeat(n / 4),
        "<img src=cid:x>".repeat(n / 4),
        format!("<p style='{}'>", "cid:".repeat(n)),
        "&amp".repeat(n),
        "<!-- letterpress-allow x: y -->".repeat(n / 8),
        "<".repeat(n),
        "\u{202e}".repeat(n),
    ] {
        html(text);
    }
}

#[test]
fn strange_bytes_are_named() {
    for (bytes, says) in [
        (b"\xff\xfeh\0i\0".to_vec(), "UTF-16, little endian"),
        (b"\xfe\xff\0h\0i".to_vec(), "UTF-16, big endian"),
        (b"caf\xe9".to_vec(), "at byte 3"),
        (b"a\0b".to_vec(), "U+0000"),
    ] {
        html(&bytes).exits(3).stdout_has("error[not-utf8]").stdout_has(says);
    }
    manifest(b"name: \xff\n").exits(3).stdout_has("error[not-utf8]");
    manifest(b"name: a\0b\nsender_email: a@example.com\n").exits(3);
}

#[test]
fn a_pipe_a_device_and_a_socket_are_not_waited_for() {
    let project = Project::new().template("a");
    let manifest = project.read("templates/a/manifest.yaml");
    project.write(
        "templates/a/manifest.yaml",
        format!("{manifest}attachments:\n  - path: pipe.pdf\n  - path: socket.pdf\n"),
    );
    let root = std::fs::File::open(project.path("templates/a")).unwrap();
    rustix::fs::mknodat(&root, "pipe.pdf", rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(project.path("templates/a/socket.pdf")).unwrap();
    let outcome = bounded(&project).exits(3);
    outcome.stdout_has("`pipe.pdf` is a pipe, not a file").stdout_has("`socket.pdf` is a socket, not a file");
}

#[test]
fn a_pipe_or_a_symlink_in_place_of_a_body_or_a_manifest_is_an_error() {
    for name in ["body.html", "body.txt", "manifest.yaml"] {
        let project = Project::new().template("a");
        std::fs::remove_file(project.path(&format!("templates/a/{name}"))).unwrap();
        let folder = std::fs::File::open(project.path("templates/a")).unwrap();
        rustix::fs::mknodat(&folder, name, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        bounded(&project).exits(3).stdout_has("error[not-a-file]").stderr_has("1 template checked");
        std::fs::remove_file(project.path(&format!("templates/a/{name}"))).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", project.path(&format!("templates/a/{name}"))).unwrap();
        bounded(&project).exits(3).stdout_has("error[path-symlink]").stderr_has("1 template checked");
    }
}

#[test]
fn no_symlink_leads_out() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("manifest.yaml"), "name: Outside\n").unwrap();
    std::fs::write(outside.path().join("secret.pdf"), "%PDF-secret").unwrap();
    // A folder of templates that leads elsewhere, a loop, and a folder on the way to a file.
    let project = Project::new().template("a");
    std::os::unix::fs::symlink(outside.path(), project.path("templates/out")).unwrap();
    std::os::unix::fs::symlink("..", project.path("templates/a/loop")).unwrap();
    std::os::unix::fs::symlink(outside.path(), project.path("templates/a/files")).unwrap();
    let manifest = project.read("templates/a/manifest.yaml");
    project.write("templates/a/manifest.yaml", format!("{manifest}attachments:\n  - path: files/secret.pdf\n"));
    let outcome = bounded(&project).exits(3);
    outcome
        .stdout_has("templates/out: error[path-symlink]")
        .stdout_has("templates/a/loop: error[path-symlink]")
        .stdout_has("manifest.yaml:6:11: error[path-symlink] `files` is a symlink")
        .lacks("Outside");
    // The templates folder itself.
    let project = Project::new();
    std::os::unix::fs::symlink(outside.path(), project.path("templates")).unwrap();
    bounded(&project).exits(3).stdout_has("error[templates-folder]").stdout_has("is a symlink");
}

#[test]
fn nothing_outside_of_the_project_is_opened() {
    // The kernel's own word, where a tracer can be had; the other tests look from the inside.
    let Ok(strace) = std::process::Command::new("strace").arg("-V").output() else { return };
    assert!(strace.status.success());
    let project = Project::new().template("a");
    let manifest = project.read("templates/a/manifest.yaml");
    project.write(
        "templates/a/manifest.yaml",
        format!("{manifest}attachments:\n  - path: ../../letterpress.toml\n  - path: /etc/hostname\n"),
    );
    let output = std::process::Command::new("strace")
        .args(["-f", "-e", "trace=openat,open"])
        .arg(crate::support::binary())
        .arg("validate")
        .current_dir(project.root())
        .output()
        .unwrap();
    let trace = String::from_utf8_lossy(&output.stderr);
    assert!(trace.contains("manifest.yaml") && !trace.contains("/etc/hostname") && !trace.contains("../"), "{trace}");
}

#[test]
fn keys_that_collide_elsewhere_are_refused() {
    let project = Project::new().template("caf\u{e9}").template("cafe\u{301}");
    bounded(&project).exits(3).stdout_has("error[key-invalid]");
    let project = Project::new().template("a");
    project.write("templates/b\u{202e}/manifest.yaml", HEAD);
    bounded(&project).exits(3).stdout_has("error[key-invalid]");
}

#[test]
fn a_decomposed_folder_name_is_the_same_key() {
    let json = |folder: &str| {
        let project = Project::new().template(folder);
        let json = project.run(["validate", "--format", "json"]).exits(0).json();
        json["templates"].as_object().unwrap().keys().next().unwrap().clone()
    };
    assert_eq!(json("caf\u{e9}"), json("cafe\u{301}"));
}
