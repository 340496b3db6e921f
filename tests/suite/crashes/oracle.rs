//! What must be true after every crash and race, by the service's own database.

use std::collections::{BTreeMap, BTreeSet};

use crate::bucket::Bucket;
use crate::support::{Project, Service};

/// A project whose environment `remote` is at this address, with a new state in the folder `state`.
pub fn project(url: &str, key: &str, concurrency: usize) -> Project {
    with_state("file:state", &[], url, key, concurrency)
}

/// The same with its state in a bucket.
pub fn project_in(bucket: &Bucket, url: &str, key: &str, concurrency: usize) -> Project {
    with_state(&bucket.place("state"), &bucket.variables(), url, key, concurrency)
}

fn with_state(state: &str, variables: &[(&'static str, String)], url: &str, key: &str, concurrency: usize) -> Project {
    let config = format!(
        "environment = \"remote\"\n\n[environments.remote]\nbase_url = \"{url}\"\nstate = \"{state}\"\nconcurrency = {concurrency}\n"
    );
    let project = Project::empty().file("letterpress.toml", config).variable("LETTERPRESS_API_KEY", key);
    let project = variables.iter().fold(project, |project, (name, value)| project.variable(name, value));
    let _ = project.run(["state", "init"]).exits(0);
    project
}

/// The ids that the state knows, by key.
pub fn ids(project: &Project) -> BTreeMap<String, String> {
    let list = project.run(["state", "list", "--format", "json"]).exits(0).json();
    let rows = list["templates"].as_array().unwrap();
    rows.iter().map(|row| (text(&row["key"]), text(&row["id"]))).collect()
}

/// The placeholders that the state says may exist.
pub fn leaks(project: &Project) -> BTreeSet<String> {
    let leaks = project.run(["state", "leaks", "--format", "json"]).exits(0).json();
    leaks["leaked"].as_array().unwrap().iter().map(text).collect()
}

fn text(value: &serde_json::Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// Every template of the service: its name and its id.
pub fn served(service: &Service) -> Vec<(String, String)> {
    let connection = service.database();
    let mut query = connection.prepare("SELECT name, id FROM templates").unwrap();
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Every template must be known to the state, by its id or as a leak (of this state, or of an earlier one on the same service). Gives the
/// templates with content whose names, which are their keys, begin with `prefix`: they belong to this project, and must be there once each.
#[track_caller]
pub fn nothing_lost(
    service: &Service,
    project: &Project,
    prefix: &str,
    leaked_before: &mut BTreeSet<String>,
) -> BTreeMap<String, String> {
    let ids: BTreeSet<String> = ids(project).into_values().collect();
    leaked_before.extend(leaks(project));
    let mut with_content = BTreeMap::new();
    for (name, id) in served(service) {
        if name.starts_with("letterpress-") {
            let known = leaked_before.contains(&name) || ids.contains(&id);
            assert!(known, "{prefix}: the empty template {name} ({id}) is lost");
        } else if name.starts_with(prefix) {
            assert!(ids.contains(&id), "{prefix}: the id {id} of `{name}` is lost");
            let twice = with_content.insert(name.clone(), id);
            assert_eq!(twice, None, "`{name}` is there twice");
        }
    }
    with_content
}

/// As [`nothing_lost`], and nothing is left to do.
#[track_caller]
pub fn holds(service: &Service, project: &Project, prefix: &str, leaked_before: &mut BTreeSet<String>) {
    let with_content = nothing_lost(service, project, prefix, leaked_before);
    assert_eq!(with_content, ids(project), "{prefix}: left is what the service has, right is what the state knows");
}

/// How many templates have this subject now.
pub fn with_subject(service: &Service, prefix: &str, subject: &str) -> i64 {
    let query =
        "SELECT count(*) FROM current_templates WHERE name LIKE ?1 || '%' AND json_extract(content, '$.subject') = ?2";
    service.database().query_row(query, [prefix, subject], |row| row.get(0)).unwrap()
}
