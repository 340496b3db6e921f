//! §4.4: renewal mails.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};

use serde_json::json;

use super::Bench;
use crate::http::Client;

const FORMER: &str = "[[suppression]]\nemail = \"ann@example.com\"\nreason = \"unsubscribed\"\nsource = \"subscriber\"\n\
    [[suppression]]\nemail = \"bob@example.com\"\nreason = \"complained\"\nsource = \"subscriber\"\n\
    [[suppression]]\nemail = \"cem@example.com\"\nreason = \"blocked\"\nsource = \"system\"\n";

fn link(bench: &Bench, recipient: &str) -> String {
    let query = "SELECT plaintext FROM mails WHERE recipient = ?";
    let text: String = bench.service.database().query_row(query, [recipient], |row| row.get(0)).unwrap();
    let at = text.find("http://").unwrap();
    text[at..].split_whitespace().next().unwrap().to_owned()
}

#[test]
fn s4_4_a_former_subscriber_gets_a_mail_and_its_link_restores_the_status() {
    let bench = Bench::seeded(FORMER);
    for (recipient, left) in [("ann@example.com", 2), ("bob@example.com", 1)] {
        bench.subscribe(recipient).success();
        let link = link(&bench, recipient);
        let path = link.strip_prefix(&bench.service.url).unwrap();
        assert_eq!(bench.list(json!({})).len(), left + 1, "the mail alone changes nothing");
        let reply = bench.client.send("GET", path, &[("sec-fetch-site", "cross-site")], b"").unwrap();
        assert_eq!(reply.status, 200);
        assert!(String::from_utf8_lossy(&reply.body).contains("Subscribed again"));
        assert_eq!(bench.list(json!({})).len(), left);
    }
    let records = bench.list(json!({}));
    assert_eq!(records[0]["reason"], "blocked", "what the administration blocked stays");
}

#[test]
fn s4_4_only_get_follows_a_link_and_a_second_time_does_no_harm() {
    let bench = Bench::seeded(FORMER);
    bench.subscribe("ann@example.com").success();
    let link = link(&bench, "ann@example.com");
    let path = link.strip_prefix(&bench.service.url).unwrap();
    for method in ["HEAD", "POST"] {
        assert_ne!(bench.client.send(method, path, &[], b"").unwrap().status, 200);
        assert_eq!(bench.list(json!({})).len(), 3);
    }
    for _ in 0..2 {
        assert_eq!(bench.client.send("GET", path, &[], b"").unwrap().status, 200);
    }
    assert_eq!(bench.client.send("GET", "/subscribe/0123", &[], b"").unwrap().status, 404);
}

#[test]
fn s4_4_who_did_not_unsubscribe_gets_no_mail() {
    let bench = Bench::seeded(FORMER);
    for recipient in ["new@example.com", "cem@example.com"] {
        bench.subscribe(recipient).refuses(400, 9020, "neither unsubscribed nor complained");
    }
    assert_eq!(bench.service.count("SELECT count(*) FROM mails"), 0);
}

#[test]
fn s4_4_once_a_day_for_each_recipient() {
    let bench = Bench::seeded(FORMER);
    bench.subscribe("ann@example.com").success();
    let reply = bench.subscribe("ann@example.com");
    reply.refuses(429, 9021, "within the last day");
    let seconds: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!((86_390..=86_400).contains(&seconds), "{seconds}");
    bench.subscribe("bob@example.com").success();
    let tomorrow = bench.service.again(["--clock-ahead", "86401"]);
    let request =
        json!({ "sender_email": "shop@example.com", "sender_name": "Shop", "recipient_email": "ann@example.com" });
    Client::of(&tomorrow).post("/email/subscribe", &request).success();
    assert_eq!(tomorrow.count("SELECT count(*) FROM mails"), 3);
}

#[test]
fn s4_4_every_field_is_required_and_checked() {
    let bench = Bench::seeded(FORMER);
    let good =
        json!({ "sender_email": "shop@example.com", "sender_name": "Shop", "recipient_email": "ann@example.com" });
    let send = |field: &str, value: serde_json::Value| {
        let mut request = good.clone();
        request[field] = value;
        bench.client.post("/email/subscribe", &request)
    };
    for field in ["sender_email", "sender_name", "recipient_email"] {
        send(field, json!(null)).refuses(400, 9012, &format!("`{field}` is missing"));
        for wrong in super::wrong_types("string") {
            send(field, wrong).refuses(400, 9013, &format!("`{field}` is "));
        }
    }
    for field in ["sender_email", "recipient_email"] {
        send(field, json!("nobody")).refuses(400, 9014, "is not an email address");
    }
    for wrong in ["", " ", "a\r\nBcc: b@example.com"] {
        send("sender_name", json!(wrong)).refuses(400, 9014, "`sender_name` is blank or has a control character");
    }
}

#[test]
fn s4_4_the_mail_goes_to_an_smtp_server_too() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || receive(listener.accept().unwrap().0));
    let bench = Bench::seeded_with(FORMER, ["--smtp", &address]);
    let request = json!({ "sender_email": "shop@example.com", "sender_name": "Café \"Zur Post\"", "recipient_email": "ann@example.com" });
    bench.client.post("/email/subscribe", &request).success();
    let (envelope, mail) = server.join().unwrap();
    assert_eq!(envelope, ["MAIL FROM:<shop@example.com>", "RCPT TO:<ann@example.com>"]);
    assert!(mail.contains("To: ann@example.com") && mail.contains("multipart/alternative"), "{mail}");
    let token: String = bench.service.database().query_row("SELECT token FROM mails", [], |row| row.get(0)).unwrap();
    assert!(mail.replace("=\r\n", "").contains(&token), "{mail}");
}

/// A mail server for one mail: what came before the content, and the content.
fn receive(stream: TcpStream) -> (Vec<String>, String) {
    let mut out = stream.try_clone().unwrap();
    let mut lines = BufReader::new(stream).lines();
    let mut say = |line: &str| out.write_all(format!("{line}\r\n").as_bytes()).unwrap();
    let mut envelope = Vec::new();
    say("220 test");
    loop {
        let line = lines.next().unwrap().unwrap();
        match line.split(' ').next().unwrap() {
            "EHLO" => say("250 test"),
            "DATA" => {
                say("354 go on");
                let mail: Vec<String> = lines.by_ref().map(Result::unwrap).take_while(|line| line != ".").collect();
                say("250 taken");
                return (envelope, mail.join("\r\n"));
            }
            _ => {
                envelope.push(line.trim_end().to_owned());
                say("250 good");
            }
        }
    }
}
