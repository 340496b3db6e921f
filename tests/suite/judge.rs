//! The built-in service judges what letterpress sends: strictly, and by what it holds afterwards.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::support::{Project, Service};

/// A project whose only environment is this service.
fn project_on(service: &Service, project: Project) -> Project {
    let toml = format!(
        "templates = \"templates\"\nenvironment = \"local\"\n\n[environments.local]\nbase_url = \"{}\"\n",
        service.url
    );
    project.file("letterpress.toml", toml).variable("LETTERPRESS_API_KEY", &service.key)
}

fn apply(project: &Project) {
    if !project.path(".letterpress").exists() {
        let _ = project.run(["state", "init"]).exits(0);
    }
    let _ = project.run(["apply", "--yes"]).exits(0);
}

/// What the service holds, by name, without what it adds itself.
fn held(service: &Service) -> BTreeMap<String, Value> {
    let database = service.database();
    let mut statement = database.prepare("SELECT content FROM current_templates").unwrap();
    let contents = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    contents
        .map(|content| {
            let mut template: Value = serde_json::from_str(&content.unwrap()).unwrap();
            template.as_object_mut().unwrap().retain(|name, _| name != "id" && name != "template_creator");
            (template["name"].as_str().unwrap().to_owned(), template)
        })
        .collect()
}

/// What `build` shows, by name. An empty part and an absent one are the same template.
fn built(project: &Project) -> BTreeMap<String, Value> {
    let outcome = project.run(["build"]).exits(0);
    let lines = outcome.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .map(|mut request| {
            let mut template = request["template"].take();
            let is_empty =
                |value: &Value| value == "" || *value == serde_json::json!({}) || *value == serde_json::json!([]);
            template["body"].as_object_mut().unwrap().retain(|_, value| !is_empty(value));
            template.as_object_mut().unwrap().retain(|_, value| !is_empty(value));
            (template["name"].as_str().unwrap().to_owned(), template)
        })
        .collect()
}

/// Nothing was refused, and nothing ignored or missed.
fn assert_clean(service: &Service) {
    assert_eq!(service.count("SELECT count(*) FROM requests WHERE http <> 200 OR notes <> ''"), 0);
}

#[test]
fn the_service_holds_exactly_what_build_shows() {
    let service = Service::with(["--strict"]);
    let examples = Project::copy_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("examples"));
    let defaults =
        examples.read("letterpress.toml").replace("base_url = \"sandbox\"", &format!("base_url = \"{}\"", service.url));
    let project = examples.file("letterpress.toml", defaults).variable("LETTERPRESS_API_KEY", &service.key);
    apply(&project);
    assert!(held(&service).len() >= 8);
    assert_eq!(held(&service), built(&project));
    assert_clean(&service);
}

#[test]
fn every_byte_and_every_limit_arrives() {
    let service = Service::with(["--strict"]);
    let headers: String = (0..50).map(|n| format!("  X-Header-{n}: \"value {n} ✓\"\n")).collect();
    let info: String = (0..10).map(|n| format!("  \"{}{n}\": \"{}\"\n", "к".repeat(63), "é".repeat(1_024))).collect();
    let manifest = format!(
        "name: \"Everything ✉ \u{1f48c}\"\nsubject: \"«{{{{company}}}}» \\\"quoted\\\" \\\\ \u{a0}end\"\nsender_email: hello@example.com\n\
         sender_name: Example\nreply_to: help@example.com\nglobal_replacements: {{ company: \"A&B <C>\" }}\nheaders:\n{headers}global_info:\n{info}\
         attachments: [{{ path: large.bin, type: application/octet-stream }}]\ncheck_links: false\ncheck_read: 0\n"
    );
    let html = "<!doctype html>\r\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>x</title></head>\n<body>\t<p>\u{200c}\u{feff}&nbsp;\u{1f48c} \\u0041 {{company}}</p></body></html>";
    let large: Vec<u8> = (0..7_340_031u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let project = project_on(&service, Project::empty())
        .file("templates/everything/manifest.yaml", manifest)
        .file("templates/everything/body.html", html)
        .file("templates/everything/body.txt", "Plain {{company}}\n")
        .file("templates/everything/large.bin", large);
    apply(&project);
    assert_eq!(held(&service), built(&project));
    let stored = &held(&service)["Everything ✉ \u{1f48c}"];
    // Line ends are the one thing that is made the same on every platform (safety P15).
    assert_eq!(stored["body"]["html"], html.replace("\r\n", "\n"));
    assert_eq!(stored["attachments"][0]["content"].as_str().map(str::len), Some(9_786_708));
    assert_eq!((&stored["check_links"], &stored["check_read"]), (&Value::from(0), &Value::from(0)));
    assert_clean(&service);
}

#[test]
fn what_leaves_the_manifest_leaves_the_service() {
    // The service keeps what an update leaves out, so that a client must clear it by name.
    let service = Service::with(["--strict"]);
    let full = "name: A\nsubject: s\nsender_email: a@example.com\nsender_name: n\nreply_to: r@example.com\nglobal_replacements: { a: b }\n\
        global_info: { a: b }\nheaders: { X-A: b }\nattachments: [{ path: a.txt }]\ninline_attachments: [{ path: a.png }]\ncheck_links: false\n";
    let project = project_on(&service, Project::empty())
        .file("templates/a/manifest.yaml", full)
        .file("templates/a/body.html", "<p>{{a}} <img src=\"cid:a.png\" alt=\"a\"></p>")
        .file("templates/a/body.txt", "{{a}}")
        .file("templates/a/a.txt", "text")
        .file("templates/a/a.png", b"\x89PNG\r\n\x1a\n");
    apply(&project);
    assert_eq!(held(&service), built(&project));
    project.write("templates/a/manifest.yaml", "name: A\nsender_email: a@example.com\n");
    project.write("templates/a/body.html", "<p>new</p>");
    std::fs::remove_file(project.path("templates/a/body.txt")).unwrap();
    apply(&project);
    assert_eq!(held(&service), built(&project));
    let left: Vec<String> = held(&service)["A"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(left, ["name", "body", "sender_email", "template_builder", "check_links", "check_read"]);
    assert_clean(&service);
}
