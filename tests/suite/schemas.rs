//! `schema`: every document it knows is published below docs/schema, as the code has it now.

use std::fs;

use crate::support::{Project, repository};

/// The documents that `schema --help` lists.
fn documents(project: &Project) -> Vec<String> {
    let help = project.run(["schema", "--help"]).exits(0).stdout;
    let values = help.lines().filter_map(|line| line.trim().strip_prefix("- "));
    values.filter_map(|line| line.split(':').next()).map(str::to_owned).collect()
}

#[test]
fn every_schema_is_published() {
    let project = Project::empty();
    let documents = documents(&project);
    assert!(documents.len() >= 6, "{documents:?}");
    for document in documents {
        let schema = project.run(["schema", &document]).exits(0);
        assert!(schema.json()["title"].is_string(), "{document}");
        let path = repository().join("docs/schema").join(format!("{document}.json"));
        if std::env::var_os("LETTERPRESS_TEST_UPDATE").is_some() {
            fs::write(&path, &schema.stdout).unwrap();
        }
        let published = fs::read_to_string(&path).unwrap_or_default();
        assert!(published == schema.stdout, "{} is stale: run with LETTERPRESS_TEST_UPDATE=1", path.display());
    }
}
