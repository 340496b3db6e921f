//! `build`: the exact request, and the mail.

use crate::support::{Project, repository};

#[test]
fn the_request_is_what_the_service_is_sent() {
    let project = Project::copy_of(&repository().join("examples"));
    project.run(["apply", "--yes"]).exits(0);
    let built = project.run(["build", "billing/receipt"]).exits(0).json();
    let database = rusqlite::Connection::open(project.path(".letterpress/sandbox.sqlite")).unwrap();
    let query = "SELECT content FROM current_templates WHERE name = 'Receipt'";
    let stored: String = database.query_row(query, [], |row| row.get(0)).unwrap();
    let stored: serde_json::Value = serde_json::from_str(&stored).unwrap();
    let fields =
        ["/name", "/subject", "/body/html", "/body/plaintext", "/sender_email", "/attachments", "/inline_attachments"];
    for field in fields {
        let sent = built["template"].pointer(field).unwrap();
        assert!(stored.pointer(field) == Some(sent), "{field} differs");
    }
}

#[test]
fn files_go_into_a_folder_and_a_wrong_key_is_told() {
    let project = Project::copy_of(&repository().join("examples"));
    project.run(["build", "--out", "out"]).exits(0);
    assert!(project.path("out/billing/receipt.json").exists() && project.path("out/welcome.json").exists());
    project.run(["build", "welcom"]).exits(64).stderr_has("did you mean `welcome`?");
}

#[test]
fn a_mail_has_every_part() {
    let project = Project::copy_of(&repository().join("examples"));
    let mail = project.run(["build", "order-status", "--format", "eml"]).exits(0).stdout;
    for part in [
        "Subject: Order {{order}} is on its way",
        "text/plain",
        "text/x-amp-html",
        "text/html",
        "Content-ID: <logo.png>",
    ] {
        assert!(mail.contains(part), "no {part}\n{mail}");
    }
    let receipt = project.run(["build", "billing/receipt", "--format", "eml"]).exits(0);
    let _ = receipt.stdout_has("Terms-of-sale.pdf").stdout_has("X-SVC-Global-Language: en");
    project.run(["build", "--format", "eml"]).exits(64).stderr_has("--out");
}
