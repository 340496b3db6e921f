//! Input from strangers: bounded time and memory for any file, nothing outside a template's folder is read (safety P6, P9).

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{Outcome, Project};

const HEAD: &str = "name: Welcome\nsender_email: hello@example.com\n";
/// What one folder may cost over the base, in KiB of memory, and the seconds of CPU that it may take: a debug build is many times slower.
const MEMORY_KIB: u64 = 64 * 1_024;
const CPU: u64 = 10;

/// Runs `validate` in a bounded address space, so that whoever eats more memory fails.
fn bounded(project: &Project) -> Outcome {
    limited(project, &format!("ulimit -v {}; ulimit -t {CPU}", 512 * 1_024 + MEMORY_KIB))
}

/// What `validate` of next to nothing allocates, in KiB: the least limit under which it ends well.
static BASE_KIB: LazyLock<u64> = LazyLock::new(|| {
    let project = Project::new().template("a");
    let (mut fails, mut works): (u64, u64) = (0, 1_024 * 1_024);
    while works - fails > 512 {
        let middle = fails.midpoint(works);
        let ends = output(&project, &format!("ulimit -d {middle}")).status.success();
        *(if ends { &mut works } else { &mut fails }) = middle;
    }
    works
});

/// Runs `validate` with what it may allocate over the base, and no more.
fn narrow(project: &Project) -> Outcome {
    limited(project, &format!("ulimit -d {}; ulimit -t {CPU}", *BASE_KIB + MEMORY_KIB))
}

fn limited(project: &Project, limits: &str) -> Outcome {
    let outcome = Outcome::of(output(project, limits));
    assert!(outcome.code == 0 || outcome.code == 3, "{outcome}");
    outcome
}

fn output(project: &Project, limits: &str) -> std::process::Output {
    let script = format!("{limits}; exec \"$0\" validate --no-cache --format concise");
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", &script])
        .arg(crate::support::binary())
        .current_dir(project.root())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("RAYON_NUM_THREADS", "1");
    command.output().unwrap()
}

fn manifest(text: impl AsRef<[u8]>) -> Outcome {
    let project = Project::new();
    project.write("templates/a/manifest.yaml", text);
    project.write("templates/a/body.txt", "Hello\n");
    narrow(&project)
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
fn a_body_of_ten_megabytes_of_anything_costs_a_bounded_multiple_of_it() {
    let many = |piece: &str| piece.repeat(9_900_000 / piece.len());
    for text in [
        many("&a "),
        many("{{a|"),
        many("{{ a }}"),
        (0..900_000).map(|n| format!("{{{{a{n}}}}}")).collect(),
        many("{% if %}"),
        many("${x}"),
        many("\r\n"),
        many("<img src=x>"),
        many("<a href=\"{{a|b}}\">"),
        format!("<a {}>", many("x=1 ")),
        format!("<p style=\"{}\">", many(" cid:x")),
        format!("<a b=\"{}\">", many("'&x; ")),
        format!("<style>{}", many("@media{a{b:c}}}}")),
        format!("<style>{}", many("{{")),
        format!("<style>{}", many("'")),
    ] {
        let project = Project::new();
        project.write("templates/a/manifest.yaml", HEAD);
        project.write("templates/a/body.html", &text);
        narrow(&project).stderr_has("1 template checked");
    }
    for (engine, text) in [("liquid", many("{% if %}")), ("velocity", many("#if(")), ("velocity", many("${"))] {
        let project = Project::new();
        project.write("templates/a/manifest.yaml", format!("{HEAD}headers: {{ X-SVC-Template-Engine: {engine} }}\n"));
        project.write("templates/a/body.txt", &text);
        narrow(&project).stderr_has("1 template checked");
    }
}

#[test]
fn three_bodies_of_ten_megabytes_together_stay_below_the_limit() {
    for piece in ["\r\n", "{{ a }}"] {
        let text = piece.repeat(9_900_000 / piece.len());
        let project = Project::new();
        project.write("templates/a/manifest.yaml", HEAD);
        for body in ["body.html", "body.txt", "body.amp.html"] {
            project.write(&format!("templates/a/{body}"), &text);
        }
        narrow(&project).stderr_has("1 template checked");
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
fn a_nul_in_a_style_block_moves_no_edit() {
    // Found by fuzzing: a NUL is read as a sign of three bytes.
    let project = Project::new().template("a");
    let style = format!("<style>@media a{{.b{{c:d}}}}{}@media e{{.f{{g:h}}}}</style>", "\0".repeat(200));
    let text = project.read("templates/a/body.html").replace("</head>", &format!("{style}</head>"));
    project.write("templates/a/body.html", &text);
    project.run(["validate", "--fix", "--yes"]).exits(3).stdout_has("U+0000");
    assert_eq!(project.read("templates/a/body.html"), text);
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
fn a_device_is_not_read() {
    let project = Project::new().template("a");
    let folder = std::fs::File::open(project.path("templates/a")).unwrap();
    let zero = rustix::fs::makedev(1, 5);
    let (kind, mode) = (rustix::fs::FileType::CharacterDevice, rustix::fs::Mode::RUSR);
    // Only root may make one; what is not a regular file is refused in one place for all kinds.
    if rustix::fs::mknodat(&folder, "zero.pdf", kind, mode, zero).is_err() {
        return;
    }
    let manifest = project.read("templates/a/manifest.yaml");
    project.write("templates/a/manifest.yaml", format!("{manifest}attachments: [{{ path: zero.pdf }}]\n"));
    narrow(&project).exits(3).stdout_has("error[not-a-file] `zero.pdf` is a device, not a file");
    for name in ["body.html", "manifest.yaml"] {
        std::fs::remove_file(project.path(&format!("templates/a/{name}"))).unwrap();
        rustix::fs::mknodat(&folder, name, kind, mode, zero).unwrap();
        narrow(&project).exits(3).stdout_has(&format!("error[not-a-file] `{name}` is a device, not a file"));
    }
    std::fs::remove_file(project.path("letterpress.toml")).unwrap();
    let root = std::fs::File::open(project.root()).unwrap();
    rustix::fs::mknodat(&root, "letterpress.toml", kind, mode, zero).unwrap();
    narrow(&project).exits(3).stderr_has("`letterpress.toml` is a device, not a file");
}

#[test]
fn a_folder_in_place_of_a_body_is_an_error() {
    let project = Project::new().template("a");
    std::fs::remove_file(project.path("templates/a/body.html")).unwrap();
    std::fs::create_dir(project.path("templates/a/body.html")).unwrap();
    narrow(&project).exits(3).stdout_has("body.html: error[not-a-file] `body.html` is a folder, not a file");
}

#[test]
fn a_body_in_another_encoding_is_located_and_named() {
    let project = Project::new().template("a");
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    for (bytes, said) in [
        (
            b"<p>\xc3\xbc</p>\n<p>\xfc</p>".to_vec(),
            "2:4: error[not-utf8] not UTF-8 at byte 13; the file is probably Windows-1252",
        ),
        (utf16("<p>Hello</p>"), "1:2: error[not-utf8] not UTF-8 at byte 1; the file is probably UTF-16, little endian"),
        (
            utf16("\u{feff}<p>Hello</p>"),
            "1:1: error[not-utf8] not UTF-8 at byte 0; the file is probably UTF-16, little endian",
        ),
    ] {
        project.write("templates/a/body.html", bytes);
        narrow(&project).exits(3).stdout_has(&format!("body.html:{said}"));
    }
}

#[test]
fn links_in_a_circle_end() {
    let project = Project::new().template("a");
    let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, project.path(at)).unwrap();
    link("loop.pdf", "templates/a/loop.pdf");
    link("../a", "templates/a/again");
    link("two", "templates/one");
    link("one", "templates/two");
    let manifest = project.read("templates/a/manifest.yaml");
    let items = "attachments: [{ path: loop.pdf }, { path: again/again/terms.pdf }]\n";
    project.write("templates/a/manifest.yaml", format!("{manifest}{items}"));
    let outcome = narrow(&project).exits(3).stderr_has("1 template checked");
    for path in ["templates/one", "templates/two"] {
        assert!(outcome.stdout.contains(&format!("{path}: error[path-symlink]")), "{outcome}");
    }
    // Each once, and where the manifest names it.
    for link in ["loop.pdf", "again"] {
        let found: Vec<&str> =
            outcome.stdout.lines().filter(|line| line.contains(&format!("`{link}` is a symlink"))).collect();
        assert!(found.len() == 1 && found[0].starts_with("templates/a/manifest.yaml:"), "{outcome}");
    }
    let config = Project::empty();
    std::os::unix::fs::symlink("letterpress.toml", config.path("letterpress.toml")).unwrap();
    narrow(&config).exits(3).stderr_has("`letterpress.toml` is a symlink");
}

#[test]
fn what_may_not_be_read_is_named_and_not_taken_for_absent() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = Project::new().template("a");
    project.write("templates/a/terms.pdf", "%PDF-1.4");
    let manifest = project.read("templates/a/manifest.yaml");
    project.write("templates/a/manifest.yaml", format!("{manifest}attachments: [{{ path: terms.pdf }}]\n"));
    // Root may read everything, so this is run as nobody, with a copy of the program where nobody can start it.
    let mode = |path: &str, mode: u32| {
        std::fs::set_permissions(project.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    std::fs::copy(crate::support::binary(), project.path("program")).unwrap();
    for path in ["", "program", "templates", "templates/a"] {
        mode(path, 0o755);
    }
    let run = || {
        let mut command = std::process::Command::new(project.path("program"));
        command.args(["validate", "--no-cache", "--format", "concise"]).current_dir(project.root()).env_clear();
        if rustix::process::geteuid().is_root() {
            std::os::unix::process::CommandExt::uid(&mut command, 65_534);
            std::os::unix::process::CommandExt::gid(&mut command, 65_534);
        }
        Outcome::of(command.output().unwrap())
    };
    run().exits(0);
    for (path, says) in [
        ("templates/a/body.html", "templates/a/body.html: error[not-a-file] `body.html` cannot be read"),
        ("templates/a/manifest.yaml", "error[not-a-file] `manifest.yaml` cannot be read"),
        ("templates/a/terms.pdf", "templates/a/manifest.yaml:5:23: error[not-a-file] `terms.pdf` cannot be read"),
        ("templates/a", "templates/a: error[templates-folder] the folder cannot be read"),
        ("templates", "error[templates-folder] the templates folder `templates` cannot be read"),
    ] {
        let folder = project.path(path).is_dir();
        mode(path, 0);
        run().exits(3).stdout_has(says);
        mode(path, if folder { 0o755 } else { 0o644 });
    }
    run().exits(0);
}

#[test]
fn a_file_that_grows_while_it_is_read_ends() {
    use std::io::Write as _;
    let project = Project::new().template("a");
    let manifest = project.read("templates/a/manifest.yaml");
    project.write("templates/a/manifest.yaml", format!("{manifest}attachments: [{{ path: log.bin }}]\n"));
    let names = ["templates/a/log.bin", "templates/a/body.txt", "templates/a/manifest.yaml", "letterpress.toml"];
    for name in names {
        let before = std::fs::read(project.path(name)).unwrap_or_default();
        let full = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut file = std::fs::OpenOptions::new().append(true).create(true).open(project.path(name)).unwrap();
                let mut size = 0;
                // Faster than it can be read, and never at an end; the disk is spared by starting anew.
                while !full.load(Ordering::Relaxed) {
                    file.write_all(&[b'#'; 1_024 * 1_024]).unwrap();
                    size += 1;
                    if size % 64 == 0 {
                        file.set_len(0).unwrap();
                    }
                }
            });
            for _ in 0..5 {
                narrow(&project);
            }
            full.store(true, Ordering::Relaxed);
            writer.join().unwrap();
        });
        std::fs::write(project.path(name), before).unwrap();
    }
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
