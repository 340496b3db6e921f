//! The built-in service as a process: its keys, its end, its faults.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::http::{Client, Reply};
use crate::support::{Project, Running, Service};

fn template(name: &str) -> Value {
    json!({ "template": { "name": name, "body": { "html": "<p>Hello</p>" } } })
}

#[test]
fn ids_and_keys_stay_the_same_on_the_same_database() {
    let first = Service::start();
    let info = Client::of(&first).post("/system/info", &json!({})).success();
    let (key, account_key) = (first.key.clone(), first.account_key.clone());
    let second = first.again::<&str>([]);
    assert_eq!((&second.key, &second.account_key), (&key, &account_key));
    assert_eq!(Client::of(&second).post("/system/info", &json!({})).success(), info);
}

#[test]
fn two_databases_are_two_accounts() {
    let (one, other) = (Service::start(), Service::start());
    let id = |service: &Service| Client::of(service).post("/system/info", &json!({})).success()["project_id"].clone();
    assert_ne!(one.key, other.key);
    assert_ne!(id(&one), id(&other));
}

#[test]
fn sigterm_ends_it_with_0() {
    let mut service = Service::start();
    Client::of(&service).post("/template/create", &template("one")).success();
    let id = service.process().id();
    std::process::Command::new("kill").arg(id.to_string()).status().unwrap();
    assert_eq!(service.process().wait().unwrap().code(), Some(0));
    assert_eq!(service.count("SELECT count(*) FROM templates"), 1);
}

#[test]
fn what_was_answered_survives_a_kill() {
    let service = Service::start();
    let id = Client::of(&service).post("/template/create", &template("one")).success()["template"]["id"].clone();
    let service = service.again::<&str>([]);
    let update = json!({ "template": { "id": id, "name": "two", "body": { "plaintext": "x" } } });
    assert_eq!(Client::of(&service).post("/template/create", &update).success()["template"]["id"], id);
    assert_eq!(service.count("SELECT count(*) FROM template_versions"), 2);
}

#[test]
fn concurrent_requests_are_all_kept() {
    let service = Service::start();
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let client = Client::of(&service);
            scope.spawn(move || {
                for n in 0..25 {
                    client.post("/template/create", &template(&format!("{worker}-{n}"))).success();
                }
            });
        }
    });
    assert_eq!(service.count("SELECT count(DISTINCT name) FROM templates"), 200);
    assert_eq!(service.count("SELECT count(*) FROM requests WHERE http = 200"), 200);
    assert_eq!(service.count("SELECT templates FROM accounts"), 200);
}

#[test]
fn a_fault_strikes_before_or_after_the_commit() {
    let service = Service::with_faults(
        r#"
        [[rule]]
        requests = "1"
        answer = "drop"
        [[rule]]
        requests = "2"
        when = "after"
        answer = "drop"
        [[rule]]
        requests = "3"
        answer = "status"
        status = 429
        retry_after = 7
        [[rule]]
        requests = "4"
        when = "after"
        answer = "status"
        status = 503
        code = "number"
        [[rule]]
        requests = "5"
        when = "after"
        answer = "truncate"
        [[rule]]
        requests = "6"
        answer = "html"
        status = 502
        [[rule]]
        requests = "7"
        answer = "error-in-200"
        [[rule]]
        requests = "8"
        answer = "redirect"
        location = "http://127.0.0.1:1/"
        "#,
    );
    let client = Client::of(&service);
    let post = || client.try_post("/template/create", &template("one"));
    let count = || service.count("SELECT count(*) FROM templates");
    assert!(post().is_err() && count() == 0, "dropped before");
    assert!(post().is_err() && count() == 1, "dropped after");
    let reply: Reply = post().unwrap();
    assert_eq!((reply.status, reply.header("retry-after"), count()), (429, Some("7"), 1));
    let reply = post().unwrap();
    assert_eq!((reply.status, reply.json()["code"].is_u64(), count()), (503, true, 2));
    assert!(post().is_err() && count() == 3, "truncated after");
    let reply = post().unwrap();
    assert_eq!((reply.status, reply.header("content-type")), (502, Some("text/html; charset=utf-8")));
    let reply = post().unwrap();
    assert_eq!((reply.status, reply.json()["status"].as_str()), (200, Some("Error")));
    let reply = post().unwrap();
    assert_eq!((reply.status, reply.header("location")), (307, Some("http://127.0.0.1:1/")));
    post().unwrap().success();
    assert_eq!(count(), 4);
    let faults: BTreeSet<String> = service
        .database()
        .prepare("SELECT fault FROM requests WHERE fault IS NOT NULL")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(faults.len(), 8, "{faults:?}");
}

#[test]
fn a_missing_and_an_unknown_key_are_refused() {
    let service = Service::start();
    let client = Client::of(&service);
    client.send("POST", "/system/info", &[("x-api-key", "")], b"{}").unwrap().refuses(401, 9001, "X-API-KEY");
    Client::with_key(&service, "wrong").post_raw("/system/info", "{}").refuses(401, 9002, "not known");
    Client::with_key(&service, "wrong").post_raw("/template/create", "{}").refuses(401, "9002", "not known");
}

#[test]
fn another_page_or_host_gets_nothing() {
    let service = Service::start();
    let client = Client::of(&service);
    let paths = ["/", "/page/templates", "/page/style.css", "/openapi.json", "/system/info", "/nothing"];
    let foreign = [
        ("host", "evil.test"),
        ("host", "127.0.0.1"),
        ("origin", "http://evil.test"),
        ("origin", "null"),
        ("origin", "http://localhost:1"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ];
    for path in paths {
        for sign in foreign {
            for method in ["GET", "POST"] {
                client.send(method, path, &[sign], b"{}").unwrap().refuses(403, 9003, "the request ");
            }
        }
    }
    let own = [("origin", service.url.as_str()), ("sec-fetch-site", "same-origin")];
    client.send("POST", "/system/info", &own, b"{}").unwrap().success();
    let reply = client.send("GET", "/", &[], b"").unwrap();
    assert_eq!(reply.status, 200);
    assert!(reply.header("access-control-allow-origin").is_none());
    assert_eq!(reply.header("cross-origin-resource-policy"), Some("same-origin"));
}

#[test]
fn pages_answer_where_nothing_is() {
    let service = Service::start();
    let client = Client::of(&service);
    let missing = [
        "/page/nothing",
        "/page/templates/x",
        "/page/templates/x/frame",
        "/page/outbox/7",
        "/page/requests/7",
        "/subscribe/x",
    ];
    for path in missing {
        assert_eq!(client.send("GET", path, &[], b"").unwrap().status, 404, "{path}");
    }
    client.send("POST", "/page/templates", &[], b"").unwrap().refuses(405, 9005, "pages only know GET");
}

#[test]
fn garbage_instead_of_http_harms_nobody() {
    let service = Service::start();
    let client = Client::of(&service);
    for garbage in
        ["\0\0\0\0\r\n\r\n", "GET\r\n\r\n", "POST /system/info HTTP/9.9\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\u{0}"]
    {
        let _ = client.exchange(garbage.as_bytes());
    }
    let long = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "a".repeat(1_000_000));
    let _ = client.exchange(long.as_bytes());
    client.post("/system/info", &json!({})).success();
}

#[test]
fn a_wrong_option_or_file_is_explained() {
    let project = Project::empty()
        .file("bad.toml", "[[rule]]\nanswer = \"explode\"\n")
        .file("no.sqlite", "not a database, but long enough to be read as one");
    let run = |arguments: &[&str]| project.run(["sandbox"].iter().chain(arguments));
    run(&["--faults", "bad.toml"])
        .exits(1)
        .stderr_has("bad.toml is not a usable faults file")
        .stderr_has("unknown variant");
    run(&["--seed", "bad.toml"]).exits(1).stderr_has("bad.toml is not a usable seed file").stderr_has("unknown field");
    run(&["--faults", "none.toml"]).exits(1).stderr_has("cannot read none.toml");
    run(&["--db", "no.sqlite"]).exits(1).stderr_has("cannot use the database no.sqlite");
    run(&["--add-project", "x"]).exits(64).stderr_has("team@example.com/Shop");
    run(&["--smtp", "x"]).exits(64).stderr_has("127.0.0.1:1025");
    let busy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    run(&["--listen", &address]).exits(1).stderr_has("cannot listen on 127.0.0.1").stderr_has("takes a free one");
}

#[test]
fn a_seed_is_taken_in_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seed.toml").display().to_string();
    std::fs::write(&file, "[[suppression]]\nemail = \"a{n}@example.com\"\nreason = \"blocked\"\ncount = 3\n").unwrap();
    let service = Service::with(["--seed", &file]).again(["--seed", &file]);
    assert_eq!(service.count("SELECT count(*) FROM suppressions"), 3);
    std::fs::write(&file, "[[suppression]]\nemail = \"b@example.com\"\nreason = \"blocked\"\n").unwrap();
    assert_eq!(service.again(["--seed", &file]).count("SELECT count(*) FROM suppressions"), 4);
}

#[test]
fn a_request_that_is_held_ends_with_the_service() {
    let mut service = Service::with_faults("[[rule]]\nanswer = \"hold\"\n");
    let client = Client::of(&service);
    let waiting = std::thread::spawn(move || client.try_post("/system/info", &json!({})));
    while service.count("SELECT count(*) FROM requests WHERE fault = 'hold before commit'") == 0 {
        std::thread::yield_now();
    }
    let id = service.process().id();
    std::process::Command::new("kill").arg(id.to_string()).status().unwrap();
    assert_eq!(service.process().wait().unwrap().code(), Some(0));
    assert!(waiting.join().unwrap().is_err());
}

#[test]
fn a_head_that_does_not_end_is_given_up() {
    let service = Service::with(["--patience", "1"]);
    let client = Client::of(&service);
    let answer = client.exchange(b"POST /system/info HTTP/1.1\r\nhost: x\r\nx-slow: ").unwrap_or_default();
    assert!(!String::from_utf8_lossy(&answer).contains("Success"));
    client.post("/system/info", &json!({})).success();
}

#[test]
fn an_idle_connection_does_not_hold_up_the_end() {
    let mut service = Service::start();
    let _idle = std::net::TcpStream::connect(service.url.trim_start_matches("http://")).unwrap();
    Client::of(&service).post("/system/info", &json!({})).success();
    let id = service.process().id();
    std::process::Command::new("kill").args(["-INT", &id.to_string()]).status().unwrap();
    assert_eq!(service.process().wait().unwrap().code(), Some(0));
}

#[test]
fn an_idle_connection_is_held_for_as_long_as_was_promised() {
    let service = Service::with(["--patience", "2"]);
    let client = Client::of(&service);
    let began = std::time::Instant::now();
    // Returns when the service closes the connection.
    let held = client.send("POST", "/system/info", &[("connection", "")], b"{}").unwrap();
    held.success();
    assert_eq!(held.header("keep-alive"), Some("timeout=1"));
    assert!(began.elapsed() >= std::time::Duration::from_secs(1));
    assert_eq!(client.post("/system/info", &json!({})).header("keep-alive"), None);
}

#[test]
fn several_services_share_one_database() {
    let folder = tempfile::tempdir().unwrap();
    let services: Vec<Service> = std::thread::scope(|scope| {
        let start = || Service::on(folder.path());
        let started: Vec<_> = (0..4).map(|_| scope.spawn(start)).collect();
        started.into_iter().map(|service| service.join().unwrap()).collect()
    });
    std::thread::scope(|scope| {
        for (n, service) in services.iter().enumerate() {
            scope.spawn(move || {
                for m in 0..25 {
                    Client::of(service).post("/template/create", &template(&format!("{n}-{m}"))).success();
                }
            });
        }
    });
    let keys: BTreeSet<&str> = services.iter().map(|service| service.key.as_str()).collect();
    assert_eq!(keys.len(), 1, "one of them made the account");
    assert_eq!(services[0].count("SELECT count(DISTINCT name) FROM templates"), 100);
    assert_eq!(services[0].count("SELECT templates FROM accounts"), 100);
    assert_eq!(services[0].count("SELECT count(*) FROM requests"), 100);
}

#[test]
#[cfg(target_os = "linux")]
fn open_hands_the_page_to_the_browser() {
    use std::os::unix::fs::PermissionsExt as _;
    let project =
        Project::empty().file("bin/xdg-open", "#!/bin/sh\necho \"$1\" > opened.new && mv opened.new opened\n");
    std::fs::set_permissions(project.path("bin/xdg-open"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = project.command(["sandbox", "--listen", "127.0.0.1:0", "--open"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", project.path("bin").display()));
    let (_running, url) = Running::until(command, |line| line.strip_prefix("listening on ").map(str::to_owned));
    while !project.path("opened").exists() {
        std::thread::yield_now();
    }
    assert_eq!(project.read("opened").trim(), url);
}
