//! What goes wrong in a working day: one clear message, the right exit code, nothing lost, and the next run goes on.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Outcome, Project, Service};

/// A project whose environment `remote` is this service, with a state.
fn remote(service: &Service) -> Project {
    let project = unborn(&service.url).variable("LETTERPRESS_API_KEY", &service.key);
    project.run(["state", "init"]).exits(0);
    project
}

/// The same without a key and without a state.
fn unborn(url: &str) -> Project {
    let config = format!("environment = \"remote\"\n\n[environments.remote]\nbase_url = \"{url}\"\n");
    Project::empty().file("letterpress.toml", config)
}

fn with_content(service: &Service) -> i64 {
    service.count("SELECT count(*) FROM templates WHERE name NOT LIKE 'letterpress-%'")
}

#[test]
fn no_project_upward() {
    Project::empty().run(["plan"]).exits(1).stderr_has("letterpress.toml").stderr_has("letterpress init");
}

#[test]
fn a_templates_folder_that_is_missing_or_empty() {
    let project = Project::new();
    for command in [vec!["validate"], vec!["plan"], vec!["apply", "--yes"]] {
        project.run(&command).exits(3).says("templates");
    }
    std::fs::create_dir(project.path("templates")).unwrap();
    for command in [vec!["validate"], vec!["plan"], vec!["apply", "--yes"]] {
        project.run(&command).exits(3).says("manifest.yaml");
    }
    assert!(!project.path(".letterpress/state").exists());
}

#[test]
fn an_emptied_templates_folder_retires_nothing() {
    let project = Project::new().template("a");
    project.run(["apply", "--yes"]).exits(0);
    std::fs::remove_dir_all(project.path("templates/a")).unwrap();
    project.run(["apply", "--yes"]).exits(3);
    project.write_template("a", "Hello");
    project.run(["apply", "--yes"]).exits(0).stdout_has("Nothing changes");
}

#[test]
fn an_unknown_environment() {
    let project = Project::new().template("a");
    project.run(["plan", "-e", "locl"]).exits(64).stderr_has("did you mean `local`");
}

#[test]
fn a_wrong_letterpress_toml_is_located() {
    let project = Project::new().template("a");
    project.write("letterpress.toml", "[environments.local]\nbase_url = \"sandbox\"\nconcurency = 3\n");
    project.run(["plan", "-e", "local"]).exits(3).stderr_has("letterpress.toml:3:1").stderr_has("concurrency");
}

#[test]
fn no_key_and_a_wrong_key() {
    let service = Service::start();
    let project = unborn(&service.url).template("a");
    project.run(["apply", "--yes"]).exits(7).stderr_has("LETTERPRESS_API_KEY");
    project.run(["state", "init"]).exits(7).stderr_has("LETTERPRESS_API_KEY");
    let project = project.variable("LETTERPRESS_API_KEY", "wrong-key-wrong-key");
    project.run(["state", "init"]).exits(7).lacks("wrong-key-wrong-key");
    assert_eq!(with_content(&service), 0);
}

#[test]
fn a_key_of_another_account_is_refused_before_anything_is_sent() {
    let (mine, other) = (Service::start(), Service::start());
    let project = remote(&mine).template("a");
    project.run(["apply", "--yes"]).exits(0);
    let project = project.variable("LETTERPRESS_API_KEY", &other.key);
    project.write(
        "letterpress.toml",
        format!("environment = \"remote\"\n[environments.remote]\nbase_url = \"{}\"\n", other.url),
    );
    project.write_template("b", "New");
    project.run(["apply", "--yes"]).exits(7).stderr_has("belongs to");
    assert_eq!(other.count("SELECT count(*) FROM templates"), 0);
    // The account's own key is another key of the same account, but not of the same project.
    let project = project.variable("LETTERPRESS_API_KEY", &mine.account_key);
    project.write(
        "letterpress.toml",
        format!("environment = \"remote\"\n[environments.remote]\nbase_url = \"{}\"\n", mine.url),
    );
    project.run(["apply", "--yes"]).exits(7);
    assert_eq!(with_content(&mine), 1);
}

#[test]
fn a_missing_state_is_an_error_with_the_way_out() {
    let service = Service::start();
    let project = unborn(&service.url).variable("LETTERPRESS_API_KEY", &service.key).template("a");
    for command in [vec!["plan"], vec!["apply", "--yes"], vec!["ids"]] {
        project.run(&command).exits(5).stderr_has("letterpress state init");
    }
    assert_eq!(service.count("SELECT count(*) FROM templates"), 0);
}

#[test]
fn a_damaged_state_is_never_no_state() {
    let project = Project::new().template("a");
    project.run(["apply", "--yes"]).exits(0);
    for damage in ["", "{", "{\"format\":1}"] {
        project.write(".letterpress/state/local/head.json", damage);
        project.run(["plan"]).exits(5).stderr_has("head.json");
        project.run(["apply", "--yes"]).exits(5).stderr_has("restore");
    }
    std::fs::remove_file(project.path(".letterpress/state/local/head.json")).unwrap();
    project.run(["apply", "--yes"]).exits(5);
    project.write(".letterpress/state/local/head.json", "{\"format\":99}");
    project.run(["plan"]).exits(5).stderr_has("99");
}

/// A port that nobody listens on.
fn dead_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[test]
fn a_service_that_is_down() {
    let project = unborn(&dead_address()).variable("LETTERPRESS_API_KEY", "some-key").template("a");
    project.run(["state", "init"]).exits(1).stderr_has("doctor");
}

/// Applies three templates while every `/template/create` goes wrong, then with a healthy service.
fn fails_then_goes_on(rule: &str, code: i32, says: &str) -> Outcome {
    let service = Service::with_faults(&format!("[[rule]]\npath = \"/template/create\"\n{rule}\n"));
    let project = remote(&service).template("a").template("b").template("c");
    let outcome = project.run(["apply", "--yes"]).exits(code).says(says);
    let service = service.again::<&str>([]);
    let config = project.read("letterpress.toml");
    let address = config.split('"').find(|part| part.starts_with("http")).unwrap().to_owned();
    project.write("letterpress.toml", config.replace(&address, &service.url));
    project.run(["apply", "--yes"]).exits(0);
    assert_eq!(with_content(&service), 3);
    project.run(["apply", "--yes"]).exits(0).stdout_has("Nothing changes");
    outcome
}

#[test]
fn a_service_that_answers_html() {
    let _ = fails_then_goes_on("answer = \"html\"", 1, "a");
}

#[test]
fn a_service_that_truncates_its_answers() {
    let _ = fails_then_goes_on("when = \"after\"\nanswer = \"truncate\"", 1, "leaked");
}

#[test]
fn a_service_that_drops_connections() {
    let _ = fails_then_goes_on("answer = \"drop\"", 1, "Stopped");
}

#[test]
fn a_service_that_fails() {
    let _ = fails_then_goes_on("answer = \"status\"\nstatus = 500", 1, "500");
}

#[test]
fn a_refusal_in_a_200() {
    let _ = fails_then_goes_on("answer = \"error-in-200\"", 6, "refused");
}

#[test]
fn a_redirect_stops_the_run() {
    let outcome = fails_then_goes_on("answer = \"redirect\"\nlocation = \"http://127.0.0.1:9/\"", 1, "redirect");
    let _ = outcome.stdout_has("base_url");
}

#[test]
fn a_key_that_stops_working() {
    let _ = fails_then_goes_on("answer = \"status\"\nstatus = 401", 7, "key");
}

#[test]
fn one_refused_template_does_not_keep_the_others() {
    let service = Service::with_faults(
        "[[rule]]\npath = \"/template/create\"\ncontains = \"About b\"\nanswer = \"status\"\nstatus = 400\ncode = \"string\"\n",
    );
    let project = remote(&service).template("a");
    project.write_template("b", "b");
    project.write_template("c", "c");
    let outcome = project.run(["apply", "--yes"]).exits(6);
    let _ = outcome.stdout_has("Refused: 1").stdout_has("2 created");
    project.run(["plan", "--detailed-exitcode"]).exits(2).stdout_has("1 to fill");
}

#[test]
fn a_lost_create_is_a_leak_and_never_a_duplicate() {
    let service = Service::with_faults(
        "[[rule]]\npath = \"/template/create\"\nlacks = \"\\\"id\\\":\"\nrequests = \"2\"\nwhen = \"after\"\nanswer = \"drop\"\n",
    );
    let project = remote(&service).template("a").template("b").template("c");
    project.run(["apply", "--yes"]).exits(0).stdout_has("1 placeholder leaked").stdout_has("letterpress state leaks");
    assert_eq!(with_content(&service), 3);
    assert_eq!(service.count("SELECT count(*) FROM templates"), 4);
}

#[test]
fn the_disk_is_full_while_saving() {
    let service = Service::start();
    let project = remote(&service).template("a");
    project.run(["apply", "--yes"]).exits(0);
    for n in 0..40 {
        project.write_template(&format!("many/{n:02}"), "Hello");
    }
    // Files may not grow past 8 blocks of 512 bytes: the head does, in the middle of the run. SIGXFSZ is ignored, so writes fail as on a full disk.
    let script = format!("trap '' XFSZ; ulimit -f 8; exec {} apply --yes", crate::support::binary().display());
    let mut command = std::process::Command::new("sh");
    let output = command
        .args(["-c", &script])
        .current_dir(project.root())
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap())
        .env("LETTERPRESS_API_KEY", &service.key)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let outcome = Outcome::of(output).exits(1);
    let _ = outcome.stdout_has("state").lacks("panicked");
    project.run(["state", "verify"]).exits(0);
    project.run(["apply", "--yes"]).exits(0);
    assert_eq!(with_content(&service), 41);
    project.run(["apply", "--yes"]).exits(0).stdout_has("Nothing changes");
}

#[test]
fn ctrl_c_in_the_middle_saves_the_state() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let service = Service::with_faults("[[rule]]\npath = \"/template/create\"\ndelay_ms = 150\n");
        let project = remote(&service);
        for n in 0..100 {
            project.write_template(&format!("t{n:02}"), "Hello");
        }
        let mut command = project.command(["apply", "--yes"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 1];
        let mut stdout = child.stdout.take().unwrap();
        let mut seen = String::new();
        // The first answers are in: the run is in its middle.
        while !seen.contains("created ") {
            stdout.read_exact(&mut first).unwrap();
            seen.push(char::from(first[0]));
        }
        let began = Instant::now();
        let kill = std::process::Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let rest = std::thread::spawn(move || {
            let mut rest = String::new();
            stdout.read_to_string(&mut rest).unwrap();
            rest
        });
        let outcome = Outcome::of(child.wait_with_output().unwrap());
        assert!(began.elapsed() < Duration::from_secs(7), "it took {:?}", began.elapsed());
        assert_eq!(outcome.code, code, "{outcome}\n{}", rest.join().unwrap());
        // The state is free and saved: every template with content has its id in it.
        project.run(["apply", "--yes"]).exits(0);
        assert_eq!(with_content(&service), 100);
        assert_eq!(service.count("SELECT count(*) FROM templates"), 100, "nothing leaked");
    }
}

#[test]
fn a_closed_stdout_does_not_stop_an_apply() {
    let service = Service::start();
    let project = remote(&service);
    for n in 0..30 {
        project.write_template(&format!("t{n:02}"), "Hello");
    }
    let mut child = project.command(["apply", "--yes"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(with_content(&service), 30);
}

#[test]
fn a_service_that_never_was_one() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut buffer = [0; 1024];
            let _ = stream.read(&mut buffer);
            let _ =
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 15\r\nconnection: close\r\n\r\n<h1>Hello</h1>\n");
        }
    });
    let project = unborn(&url).variable("LETTERPRESS_API_KEY", "some-key").template("a");
    project.run(["state", "init"]).exits(1).lacks("panicked").lacks("some-key");
}
