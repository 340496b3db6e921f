//! `suppressions` and `subscribe` over the real sandbox: pages, lists of addresses, interruptions, and every kind of failure.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::account::project;
use crate::support::{Outcome, Project, Running, Service};

const LIST: &str = "path = '/suppression/list'";

fn addresses(count: usize) -> String {
    (0..count).fold(String::new(), |mut list, at| {
        let _ = writeln!(list, "user{at:04}@example.com");
        list
    })
}

/// A service with so many suppressed addresses, and a project at it.
fn filled(service: &Service, count: usize) -> Project {
    let project = project(service, "").file("all.txt", addresses(count));
    let _ = project.run(["suppressions", "import", "all.txt", "--reason", "unsubscribed", "--rest", "none"]).exits(0);
    project
}

fn requests(service: &Service, path: &str) -> i64 {
    service.count(&format!("SELECT count(*) FROM requests WHERE path = '{path}'"))
}

fn suppressed(service: &Service) -> i64 {
    service.count("SELECT count(*) FROM suppressions")
}

#[test]
fn a_list_is_followed_to_its_end() {
    let service = Service::start();
    let project = filled(&service, 120);
    let lines = project.run(["suppressions", "list", "--format", "jsonl"]).exits(0).stdout;
    assert_eq!(lines.lines().count(), 120);
    // 50, 50, 20, and one that says that there are no more: a short page alone is not the end.
    assert_eq!(requests(&service, "/suppression/list"), 4);
    let json = project.run(["suppressions", "list", "--format", "json", "--limit", "7"]).exits(0).json();
    assert_eq!((json["format"].as_u64(), json["suppressions"].as_array().unwrap().len()), (Some(1), 120));
    let table = project.run(["suppressions", "list", "--max", "60"]).exits(0).stdout;
    assert_eq!(table.lines().count(), 61, "{table}");
}

#[test]
fn filters_and_dates_are_sent_as_the_interface_says() {
    let service = Service::start();
    let project = project(&service, "");
    for (address, reason, created) in
        [("a@example.com", "complained", "2026-01-01"), ("b@example.com", "unsubscribed", "2026-03-01 08:30")]
    {
        let _ = project.run(["suppressions", "add", address, "--reason", reason, "--created", created]).exits(0);
    }
    let count = |arguments: &[&str]| {
        let all = [&["suppressions", "list", "--format", "jsonl"], arguments].concat();
        project.run(all).exits(0).stdout.lines().count()
    };
    assert_eq!(count(&["--reason", "complained"]), 1);
    assert_eq!(count(&["--source", "system"]), 0);
    assert_eq!(count(&["--from", "2026-02-01"]), 1);
    assert_eq!(count(&["--from", "2026-03-01T09:30:00+01:00"]), 1);
    assert_eq!(count(&["--from", "2026-03-01 08:31"]), 0);
    assert_eq!(service.count("SELECT count(*) FROM suppressions WHERE created = '2026-03-01 08:30:00'"), 1);
    let _ = project.run(["suppressions", "list", "--from", "soonish"]).exits(64).stderr_has("`7d`");
    let _ = project.run(["suppressions", "list", "--limit", "0"]).exits(64);
    let bad = project.run(["suppressions", "list", "--reason", "complaint"]).exits(1);
    let _ = bad.stderr_has("did you mean `complained`?").stderr_has("refused");
}

#[test]
fn words_from_the_future_pass_through_and_hostile_ones_stay_words() {
    let service = Service::start();
    let project = filled(&service, 1);
    let hostile = "later\u{1b}[31m ::error::x\u{202e}";
    service.database().execute("UPDATE suppressions SET reason = ?, source = 'moon'", [hostile]).unwrap();
    let table = project.run(["suppressions", "list"]).exits(0).stdout_has("moon").stdout;
    assert!(!table.contains('\u{1b}') && !table.contains('\u{202e}') && !table.contains("::error"), "{table}");
    let json = project.run(["suppressions", "list", "--format", "json"]).exits(0).json();
    assert_eq!(json["suppressions"][0]["reason"], hostile);
}

#[test]
fn an_interrupted_export_goes_on_at_its_last_page() {
    let service =
        Service::with_faults(&format!("[[rule]]\n{LIST}\nrequests = '3-5'\nanswer = 'status'\nstatus = 503\n"));
    let project = filled(&service, 120);
    let export = ["suppressions", "export", "--out", "all.csv", "--resume", "position.json"];
    let _ = project.run(export).exits(1).stderr_has("HTTP 503").stderr_has("goes on after 100 records");
    assert_eq!(project.read("all.csv").lines().count(), 101);
    // A page that was cut off in the middle is written again.
    project.write("all.csv", project.read("all.csv") + ",half a li");
    let another = ["suppressions", "export", "--out", "all.csv", "--resume", "position.json", "--reason", "blocked"];
    let _ = project.run(another).exits(5).stderr_has("another list");
    let _ = project.run(export).exits(0).stderr_has("120 records");
    let all = project.read("all.csv");
    assert_eq!(all.lines().count(), 121, "{all}");
    assert!(all.lines().skip(1).all(|line| line.starts_with(",unsubscribed,user,")), "{all}");
    assert!(!project.path("position.json").exists());
    let _ = project.run(["suppressions", "export", "--out", "all.csv"]).exits(64).stderr_has("--force");
    let _ = project.run(["suppressions", "export", "--out", "all.csv", "--force"]).exits(0);
    assert_eq!(project.read("all.csv"), all);
}

#[test]
fn a_reader_that_goes_away_ends_the_list() {
    let service = Service::start();
    let project = filled(&service, 150);
    let mut command = project.command(["suppressions", "list", "--limit", "5", "--format", "jsonl"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(first.contains("unsubscribed"), "{first}");
}

#[test]
fn a_list_that_never_ends_ends() {
    // A server that sends the same position for ever: the second page is the end.
    let body = r#"{"status":"Success","suppressions":[{"reason":"x","source":"y","is_deletable":false}],"start_position":"p"}"#;
    let server = Scripted::start(body);
    let lines = server.project().run(["suppressions", "list", "--format", "jsonl"]).exits(0).stdout;
    assert_eq!(lines.lines().count(), 2);
    let last = r#"{"status":"Success","suppressions":[{"email":"a@b.example","source":"y","is_deletable":false}],"start_position":""}"#;
    let table = Scripted::start(last).project().run(["suppressions", "list"]).exits(0).stdout;
    assert!(table.contains("a@b.example") && table.lines().count() == 2, "{table}");
}

/// A service that answers `/system/info` as it should, and all else with one body.
struct Scripted {
    url: String,
}

impl Scripted {
    fn start(body: &'static str) -> Self {
        use std::io::{Read as _, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let mut socket = socket.unwrap();
                let mut request = Vec::new();
                let mut piece = [0; 4096];
                while !request.ends_with(b"}") {
                    let read = socket.read(&mut piece).unwrap();
                    request.extend_from_slice(&piece[..read]);
                }
                let info = r#"{"status":"Success","user_id":1,"email":"a@b.example"}"#;
                let body = if request.starts_with(b"POST /system/info") { info } else { body };
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
                socket.write_all((head + body).as_bytes()).unwrap();
            }
        });
        Self { url }
    }

    fn project(&self) -> Project {
        Project::empty()
            .file("letterpress.toml", format!("[environments.a]\nbase_url = \"{}\"\n", self.url))
            .variable("LETTERPRESS_API_KEY", "key")
    }
}

#[test]
fn lists_in_every_form_are_checked_before_anything_is_sent() {
    let service = Service::start();
    let project = project(&service, "")
        .file("a.csv", "email,reason,created\na@example.com,complained,2026-01-01\nb@example.com,,\n")
        .file("b.jsonl", "{\"email\":\"c@example.com\"}\n{\"email\":\"d@example.com\",\"reason\":\"complained\"}\n")
        .file("c.txt", "# people\ne@example.com\n\nf@example.com\n")
        .file(
            "bad.csv",
            "email,reason,created\nnobody,complained,\ng@example.com,rude,\nh@example.com,complained,soon\n",
        );
    let import = |file: &str| project.run(["suppressions", "import", file, "--reason", "unsubscribed"]);
    let bad = import("bad.csv").exits(3).stderr_has("bad.csv:2: `nobody` is not an email address");
    let bad = bad.stderr_has("bad.csv:3: `rude` is none of").stderr_has("bad.csv:4: `created` is not a date");
    let _ = bad.stderr_has("3 of 3 lines").stderr_has("nothing was sent");
    assert_eq!(suppressed(&service), 0);
    for file in ["a.csv", "b.jsonl", "c.txt"] {
        let _ = import(file).exits(0).stderr_has("2 done");
    }
    assert_eq!(suppressed(&service), 6);
    assert_eq!(service.count("SELECT count(*) FROM suppressions WHERE reason = 'complained'"), 2);
    let _ = project.run(["suppressions", "import", "c.txt"]).exits(3).stderr_has("no reason; `--reason` gives one");
    let _ = project.run(["suppressions", "import", "none.txt"]).exits(1).stderr_has("none.txt");
    let _ = project.run(["suppressions", "add", "nobody", "--reason", "complained"]).exits(64);
    let _ = project.run(["suppressions", "add"]).exits(64);
}

#[test]
fn stdin_is_a_list_too() {
    let service = Service::start();
    let project = project(&service, "").file("list", "email\na@example.com\nb@example.com\n");
    let mut command = project.command(["suppressions", "add", "--from-file", "-", "--reason", "complained"]);
    command.stdin(std::fs::File::open(project.path("list")).unwrap());
    let outcome = Outcome::of(command.output().unwrap()).exits(0);
    assert_eq!(outcome.stdout, "done      a@example.com\ndone      b@example.com\n");
}

#[test]
fn removing_asks_and_has_a_ceiling() {
    let service = Service::start();
    let project = filled(&service, 3);
    let _ = project.run(["suppressions", "remove", "user0000@example.com"]).exits(64).stderr_has("--yes");
    let remove = ["suppressions", "remove", "--from-file", "all.txt", "--yes", "--max-deletes", "2"];
    let _ = project.run(remove).exits(64).stderr_has("3 addresses are to be removed").stderr_has("nothing was sent");
    assert_eq!(suppressed(&service), 3);
    let _ = project.run(["suppressions", "remove", "--from-file", "all.txt", "--yes"]).exits(0);
    assert_eq!(suppressed(&service), 0);
}

#[test]
fn refusals_come_in_plain_words_and_the_others_go_on() {
    let service = Service::start();
    let project =
        filled(&service, 2).file("mixed.txt", "user0000@example.com\nnew@example.com\nuser0001@example.com\n");
    service.database().execute("UPDATE suppressions SET is_deletable = 0 WHERE email LIKE '%1@%'", []).unwrap();
    let remove = ["suppressions", "remove", "--from-file", "mixed.txt", "--yes"];
    let outcome = project.run(remove).exits(6).stdout_has("3003: the suppression list has no entry for this address");
    let outcome = outcome.stdout_has("3004: the list has entries for this address, but none that can be removed");
    let _ = outcome.stderr_has("1 done, 2 refused");
    assert!(!project.path("mixed.txt.rest.csv").exists(), "a refusal is not left to do");
    let jsonl = [&remove[..], &["--format", "jsonl"]].concat();
    let lines = project.run(jsonl).exits(1).stdout;
    let third: serde_json::Value = serde_json::from_str(lines.lines().nth(2).unwrap()).unwrap();
    assert_eq!((third["line"].as_u64(), third["code"].as_str()), (Some(3), Some("3004")));
}

#[test]
fn the_daily_limit_stops_every_delete_and_what_is_left_can_be_fed_back() {
    let service = Service::with(["--deletes-per-day", "3"]);
    let all = filled(&service, 8);
    let remove = ["suppressions", "remove", "--yes", "--from-file"];
    let outcome = all.run([&remove[..], &["all.txt"]].concat()).exits(6).stderr_has("906").stderr_has("5 left in");
    assert_eq!(outcome.stdout.lines().filter(|line| line.starts_with("done")).count(), 3, "{outcome}");
    assert_eq!(suppressed(&service), 5);
    assert!(requests(&service, "/suppression/delete") < 3 + 16, "no more were sent");
    let again = all.run([&remove[..], &["all.txt"]].concat()).exits(64);
    let _ = again.stderr_has("all.txt.rest.csv is there already");

    let service = service.again(["--deletes-per-day", "9", "--clock-ahead", "86400"]);
    let tomorrow = project(&service, "").file("rest.csv", all.read("all.txt.rest.csv"));
    let _ = tomorrow.run([&remove[..], &["rest.csv"]].concat()).exits(0).stderr_has("5 done");
    assert_eq!(suppressed(&service), 0);
}

/// The send table of safety §6: what a fault on the operation makes of one request.
#[test]
fn the_send_table_for_every_operation_but_the_template_call() {
    let list = ["suppressions", "list"].as_slice();
    let create = ["suppressions", "add", "new@example.com", "--reason", "complained"].as_slice();
    let delete = ["suppressions", "remove", "user0000@example.com", "--yes"].as_slice();
    let subscribe = [
        "subscribe",
        "--sender-email",
        "a@example.com",
        "--sender-name",
        "A",
        "--recipient-email",
        "user0000@example.com",
    ]
    .as_slice();
    let operations = [
        ("/suppression/list", list),
        ("/suppression/create", create),
        ("/suppression/delete", delete),
        ("/email/subscribe", subscribe),
    ];
    // For each fault on the first request of an operation: the requests that follow from it, and the exit code. (A list that
    // goes well has two: the page, and the one that says that there are no more.)
    let table = [
        ("answer = 'drop'", [(3, 0), (2, 0), (2, 0), (1, 1)]),
        ("answer = 'drop'\nwhen = 'after'", [(3, 0), (2, 0), (2, 0), (1, 1)]),
        ("answer = 'truncate'\nwhen = 'after'", [(3, 0), (2, 0), (2, 0), (1, 1)]),
        ("answer = 'html'", [(3, 0), (2, 0), (2, 0), (1, 1)]),
        ("answer = 'status'\nstatus = 503", [(3, 0), (2, 0), (2, 0), (1, 1)]),
        ("answer = 'status'\nstatus = 500\nwhen = 'after'", [(3, 0), (2, 0), (2, 0), (1, 1)]),
        ("answer = 'status'\nstatus = 429\nretry_after = 1", [(3, 0), (2, 0), (2, 0), (1, 1)]),
        ("answer = 'status'\nstatus = 400", [(1, 1), (1, 1), (1, 1), (1, 1)]),
        ("answer = 'status'\nstatus = 422\ncode = 'string'", [(1, 1), (1, 1), (1, 1), (1, 1)]),
        ("answer = 'error-in-200'", [(1, 1), (1, 1), (1, 1), (1, 1)]),
        ("answer = 'status'\nstatus = 401", [(1, 7), (1, 7), (1, 7), (1, 7)]),
        ("answer = 'status'\nstatus = 403", [(1, 7), (1, 7), (1, 7), (1, 7)]),
        ("answer = 'redirect'\nlocation = 'http://127.0.0.1:1/'", [(1, 1), (1, 1), (1, 1), (1, 1)]),
    ];
    for (fault, expected) in table {
        for ((path, command), (sent, exit)) in operations.into_iter().zip(expected) {
            let service = Service::with_faults(&format!("[[rule]]\npath = '{path}'\nrequests = '1'\n{fault}\n"));
            let project = project(&service, "");
            let seed = "INSERT INTO suppressions SELECT 1, user_id, project_id, 'user0000@example.com', 'unsubscribed', 'user', '2026-01-01 00:00:00', '2026-01-01 00:00:00.000000001', 1 FROM projects";
            service.database().execute(seed, []).unwrap();
            let outcome = project.run(command);
            let found = (requests(&service, path), outcome.code);
            assert_eq!(found, (sent, exit), "{path} with {fault}\n{outcome}");
        }
    }
}

#[test]
fn a_delete_whose_answer_is_lost_twice_is_unknown() {
    let service = Service::with_faults(
        "[[rule]]\npath = '/suppression/delete'\nrequests = '1-2'\nanswer = 'status'\nstatus = 503\n",
    );
    let project = filled(&service, 1);
    let outcome = project.run(["suppressions", "remove", "user0000@example.com", "--yes"]).exits(1);
    let _ = outcome.stdout_has("unknown   user0000@example.com").stdout_has("HTTP 503");
    assert_eq!(requests(&service, "/suppression/delete"), 2);
}

#[test]
fn a_renewal_mail_is_never_sent_twice() {
    let service =
        Service::with_faults("[[rule]]\npath = '/email/subscribe'\nrequests = '1'\nwhen = 'after'\nanswer = 'drop'\n");
    let project = filled(&service, 3);
    let subscribe = ["subscribe", "--sender-email", "a@example.com", "--sender-name", "A", "--from-file", "all.txt"];
    let _ = project.run(subscribe).exits(64).stderr_has("--yes");
    let outcome = project.run([&subscribe[..], &["--yes"]].concat()).exits(6).stdout_has("unknown   ");
    let _ = outcome.stderr_has("2 done, 1 unknown").stderr_has("may have been sent");
    assert_eq!(service.count("SELECT count(*) FROM mails"), 3);
    assert!(!project.path("all.txt.rest.csv").exists(), "what may have been sent must not be fed back");
    // By default a recipient gets one a day: a refusal, not a reason to try again.
    let _ = project.run([&subscribe[..], &["--yes"]].concat()).exits(1).stdout_has("one such mail a day");
    assert_eq!(requests(&service, "/email/subscribe"), 6);
}

#[test]
fn a_service_that_fails_is_not_stormed() {
    // Always: the run stops soon. Half of the time: at most a tenth and ten more than needed (P14).
    let service = Service::with_faults("[[rule]]\npath = '/suppression/create'\nanswer = 'status'\nstatus = 503\n");
    let bad = project(&service, "").file("all.txt", addresses(300));
    let import = ["suppressions", "import", "all.txt", "--reason", "complained"];
    let _ = bad
        .run(import)
        .exits(1)
        .stderr_has("the service keeps failing: no usable answer: HTTP 503")
        .stderr_has("300 left in");
    assert!(requests(&service, "/suppression/create") <= 60);

    let service = Service::with_faults(
        "[[rule]]\npath = '/suppression/create'\nrequests = '*/2'\nanswer = 'status'\nstatus = 503\n",
    );
    let half = project(&service, "").file("all.txt", addresses(300));
    let outcome = half.run(import);
    let sent = requests(&service, "/suppression/create");
    assert!(sent <= 300 + 30 + 10, "{sent} requests\n{outcome}");
}

#[test]
fn fewer_requests_at_once_when_the_service_asks_for_it() {
    let service = Service::with_faults(
        "[[rule]]\npath = '/suppression/create'\nrequests = '*/20'\nanswer = 'status'\nstatus = 429\nretry_after = 0\n",
    );
    let project = project(&service, "requests_per_second = 200\n").file("all.txt", addresses(100));
    let _ =
        project.run(["suppressions", "import", "all.txt", "--reason", "complained"]).exits(0).stderr_has("100 done");
    assert_eq!(suppressed(&service), 100);
}

/// Starts a command and returns when it has reported so many addresses.
fn until_reported(mut command: Command, lines: usize) -> Running {
    command.stderr(Stdio::null()).args(["--format", "csv"]);
    let mut seen = 0;
    let (running, ()) = Running::until(command, |_| {
        seen += 1;
        (seen > lines).then_some(())
    });
    running
}

#[test]
fn a_killed_run_goes_on_where_it_was() {
    let slow = "[[rule]]\npath = '/suppression/delete'\ndelay_ms = 20\nrequests = '1-60'\n";
    let service = Service::with_faults(slow);
    let project = filled(&service, 90);
    let remove = ["suppressions", "remove", "--from-file", "all.txt", "--yes", "--resume", "position.json"];
    drop(until_reported(project.command(remove), 20));
    let left = suppressed(&service);
    assert!(left > 0, "it was killed in the middle");
    // What was sent when it died is sent again, and "nothing there" counts as done for those.
    let outcome = project.run(remove).exits(0);
    assert!(!outcome.stdout.contains("refused"), "{outcome}");
    assert_eq!(suppressed(&service), 0);
    assert!(!project.path("position.json").exists());
}

#[test]
fn a_signal_ends_a_run_with_everything_accounted_for() {
    let service = Service::with_faults("[[rule]]\npath = '/suppression/create'\ndelay_ms = 20\n");
    let project = project(&service, "").file("all.txt", addresses(200));
    let import = ["suppressions", "import", "all.txt", "--reason", "complained"];
    let mut running = until_reported(project.command(import), 20);
    Command::new("kill").args(["-INT", &running.0.id().to_string()]).status().unwrap();
    assert_eq!(running.0.wait().unwrap().code(), Some(130));
    let left = project.read("all.txt.rest.csv").lines().count() - 1;
    assert_eq!(left + usize::try_from(suppressed(&service)).unwrap(), 200);
}
