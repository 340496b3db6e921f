//! The main job, on the built-in service: a folder of templates becomes a running service, and stays in step with it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::support::{Project, repository};

/// The built-in service's own database, as the oracle.
fn database(project: &Project) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(project.path(".letterpress/sandbox.sqlite")).unwrap();
    connection.busy_timeout(Duration::from_secs(10)).unwrap();
    connection
}

fn number(project: &Project, query: &str) -> i64 {
    database(project).query_row(query, [], |row| row.get(0)).unwrap()
}

/// Name → id of every template with content; panics when a name is there twice.
fn served(project: &Project) -> BTreeMap<String, String> {
    let connection = database(project);
    let mut query = connection.prepare("SELECT name, id FROM templates WHERE name NOT LIKE 'letterpress-%'").unwrap();
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let mut names = BTreeMap::new();
    for row in rows {
        let (name, id): (String, String) = row.unwrap();
        assert_eq!(names.insert(name.clone(), id), None, "`{name}` is there twice");
    }
    names
}

fn ids(project: &Project) -> BTreeMap<String, String> {
    let outcome = project.run(["ids", "--format", "json"]).exits(0);
    serde_json::from_value(outcome.json()["ids"].clone()).unwrap()
}

#[test]
fn the_examples_apply_and_a_second_apply_sends_nothing() {
    let project = Project::copy_of(&repository().join("examples"));
    let first = project.run(["apply", "--yes"]).exits(0).stdout_has("Applied: 9 created");
    let ids = ids(&project);
    assert_eq!(ids.len(), 9);
    for id in ids.values() {
        assert!(first.stdout.contains(id), "{first}");
    }
    assert_eq!(served(&project).values().collect::<Vec<_>>().len(), 9);

    let before = number(&project, "SELECT count(*) FROM requests");
    project.run(["apply", "--yes"]).exits(0).stdout_has("Nothing changes");
    let sent: Vec<String> = {
        let connection = database(&project);
        let mut query = connection.prepare("SELECT path FROM requests ORDER BY rowid DESC LIMIT 5").unwrap();
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(number(&project, "SELECT count(*) FROM requests"), before + 1);
    assert_eq!(sent[0], "/system/info");
}

#[test]
fn one_edited_body_is_one_update_under_the_old_id() {
    let project = Project::new().template("a").template("b").template("team/c");
    project.run(["apply", "--yes"]).exits(0);
    let before = ids(&project);
    project.write_template("b", "Changed");
    project.run(["plan", "--detailed-exitcode"]).exits(2).stdout_has("1 to update");
    project.run(["apply", "--yes"]).exits(0).stdout_has("Applied: 1 updated");
    assert_eq!(ids(&project), before);
    let versions = number(&project, "SELECT version FROM templates WHERE name = 'b'");
    assert_eq!(versions, 3, "placeholder, first content, second content");
    assert_eq!(number(&project, "SELECT version FROM templates WHERE name = 'a'"), 2);
    project.run(["plan", "--detailed-exitcode"]).exits(0);
}

#[test]
fn a_removed_folder_is_retired_and_comes_back_under_its_id() {
    let project = Project::new().template("a").template("b");
    project.run(["apply", "--yes"]).exits(0);
    let before = ids(&project);
    let requests = "SELECT count(*) FROM requests WHERE path = '/template/create'";
    let sent = number(&project, requests);
    std::fs::rename(project.path("templates/b"), project.path("b")).unwrap();
    project.run(["apply", "--yes"]).exits(0).stdout_has("1 retired");
    assert_eq!(ids(&project).len(), 1);
    std::fs::rename(project.path("b"), project.path("templates/b")).unwrap();
    project.run(["apply", "--yes"]).exits(0).stdout_has("1 returned");
    assert_eq!(ids(&project), before);
    assert_eq!(number(&project, requests), sent, "nothing was sent");
    // With other content it is sent, and called the same before and after.
    std::fs::rename(project.path("templates/b"), project.path("b")).unwrap();
    project.run(["apply", "--yes"]).exits(0).stdout_has("1 retired");
    project.write_template("b", "Changed");
    project.run(["plan"]).exits(0).stdout_has("1 to return");
    project.run(["apply", "--yes"]).exits(0).stdout_has("returned b").stdout_has("Applied: 1 returned");
    assert_eq!((ids(&project), number(&project, requests)), (before, sent + 1));
}

#[test]
fn a_folder_that_does_not_parse_is_not_retired() {
    let project = Project::new().template("a").template("b");
    project.run(["apply", "--yes"]).exits(0);
    project.write("templates/b/manifest.yaml", "name: [");
    project.run(["plan"]).exits(3).lacks("retire");
    project.run(["apply", "--yes"]).exits(3).lacks("retire");
}

#[test]
fn a_move_keeps_the_id() {
    let project = Project::new().template("old");
    project.run(["apply", "--yes"]).exits(0);
    let id = ids(&project)["old"].clone();
    std::fs::rename(project.path("templates/old"), project.path("templates/new")).unwrap();
    project.run(["plan"]).exits(0).stdout_has("moved_from: old");
    let manifest = project.read("templates/new/manifest.yaml");
    project.write("templates/new/manifest.yaml", format!("{manifest}moved_from: old\n"));
    project.run(["apply", "--yes"]).exits(0).stdout_has("1 moved");
    assert_eq!(ids(&project), BTreeMap::from([("new".to_owned(), id)]));
    project.run(["apply", "--yes"]).exits(0).stdout_has("Nothing changes");
}

#[test]
fn only_and_exclude_narrow_an_apply() {
    let project = Project::new().template("a").template("team/b").template("team/c");
    project.run(["apply", "--yes", "--only", "team", "--exclude", "team/c"]).exits(0).stdout_has("Applied: 1 created");
    assert_eq!(ids(&project).into_keys().collect::<Vec<_>>(), ["team/b"]);
    project.run(["apply", "--yes", "--only", "["]).exits(64);
}

#[test]
fn a_saved_plan_is_applied_or_refused() {
    let project = Project::new().template("a").template("b");
    project.run(["plan", "--out", "reviewed.plan"]).exits(0);
    project.write_template("a", "Changed after the review");
    let stale = project.run(["apply", "--yes", "reviewed.plan"]).exits(5).stderr_has("`a`: its files changed");
    let _ = stale.stderr_has("letterpress plan --out");
    project.write_template("a", "Hello");
    project.write_template("c", "Not reviewed");
    project.run(["apply", "--yes", "reviewed.plan"]).exits(0).stdout_has("Applied: 2 created");
    assert_eq!(ids(&project).into_keys().collect::<Vec<_>>(), ["a", "b"]);
    project.run(["apply", "--yes", "reviewed.plan"]).exits(5);
    project.write("reviewed.plan", "{}");
    project.run(["apply", "--yes", "reviewed.plan"]).exits(5).stderr_has("reviewed.plan");
}

#[test]
fn apply_does_not_ask_where_nobody_is() {
    let project = Project::new().template("a");
    project.run(["apply"]).exits(64).stderr_has("--yes");
    assert!(!project.path(".letterpress").exists());
}

#[test]
fn killed_at_ten_moments_and_run_again_every_template_is_there_once() {
    const TEMPLATES: usize = 60;
    let project = Project::new();
    for n in 0..TEMPLATES {
        project.write_template(&format!("t{n:02}"), "Hello");
    }
    for round in 0..10_u64 {
        let mut child = project.command(["apply", "--yes"]);
        let mut child = child.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(20 + round * 23));
        child.kill().unwrap();
        let _ = child.wait().unwrap();
        // Every round has something to do, also once all were created.
        project.write_template(&format!("t{round:02}"), &format!("Round {round}"));
    }
    project.run(["apply", "--yes"]).exits(0);
    let (served, ids) = (served(&project), ids(&project));
    assert_eq!(served.len(), TEMPLATES);
    assert_eq!(served, ids, "the state knows the id of every template with content");
    for round in 0..10 {
        let content = format!(
            "SELECT count(*) FROM current_templates WHERE name = 't{round:02}' AND content LIKE '%Round {round}%'"
        );
        assert_eq!(number(&project, &content), 1);
    }
    project.run(["apply", "--yes"]).exits(0).stdout_has("Nothing changes");
    assert!(Path::new(&project.path(".letterpress/state/local/head.json")).exists());
}
