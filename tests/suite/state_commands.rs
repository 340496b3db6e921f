//! `state`: looking at the memory of the ids, and mending it (safety §2, §4).

use std::fs;

use crate::support::Project;

fn applied() -> Project {
    let project = Project::new().template("welcome").template("billing/receipt");
    let _ = project.run(["apply", "--yes"]).exits(0);
    project
}

fn id(project: &Project, key: &str) -> String {
    let list = project.run(["state", "list", "--format", "json"]).exits(0).json();
    let rows = list["templates"].as_array().unwrap().clone();
    let row = rows.iter().find(|row| row["key"] == key).unwrap_or_else(|| panic!("no {key} in {list}"));
    row["id"].as_str().unwrap().to_owned()
}

fn bases(project: &Project) -> Vec<String> {
    let names = fs::read_dir(project.path(".letterpress/state/local")).unwrap();
    let mut names: Vec<String> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.starts_with("base-"));
    names.sort_by_key(|name| name.split('-').nth(1).unwrap().parse::<u64>().unwrap());
    names
}

#[test]
fn a_missing_state_ends_with_5_and_says_what_to_do() {
    let project = Project::empty()
        .file(
            "letterpress.toml",
            "environment = \"production\"\n\n[environments.production]\nbase_url = \"https://api.example.com\"\n",
        )
        .template("welcome");
    for command in [&["state", "show"][..], &["state", "list"], &["state", "verify"], &["state", "mv", "a", "b"]] {
        let _ = project.run(command).exits(5).stderr_has("has no state").stderr_has("state init");
    }
    assert!(!project.path(".letterpress/state").exists(), "looking made a folder");
}

#[test]
fn init_binds_the_state_to_the_account_and_never_replaces_one() {
    let project = Project::new().template("welcome");
    let _ = project.run(["state", "init"]).exits(0).stderr_has("bound to project");
    let _ = project.run(["state", "init"]).exits(1).stderr_has("already has a state");
    let show = project.run(["state", "show", "--format", "json"]).exits(0).json();
    assert_eq!(show["base_url"], "sandbox");
    assert_eq!(show["used"], 0);
    let _ = project.run(["apply", "--yes"]).exits(0);
}

#[test]
fn everything_that_was_applied_is_listed_and_shown() {
    let project = applied();
    let welcome = id(&project, "welcome");
    let _ = project.run(["state", "list"]).exits(0).stdout_has(&welcome).stdout_has("live");
    let _ = project.run(["state", "show", "welcome"]).exits(0).stdout_has(&welcome);
    let _ = project.run(["state", "show"]).exits(0).stdout_has("2 live").stdout_has("nobody");
    let _ = project.run(["state", "verify"]).exits(0).stdout_has("2 keys, 2 ids, each once").lacks("bad ");
    let _ = project.run(["state", "history"]).exits(0).stdout_has("apply: 2 × create");
    let pulled = project.run(["state", "pull"]).exits(0).json();
    assert_eq!(pulled["records"]["welcome"]["id"], welcome.as_str());
}

#[test]
fn a_moved_key_keeps_its_id_and_nothing_is_sent() {
    let project = applied();
    let before = id(&project, "welcome");
    let _ = project.run(["state", "mv", "welcome", "billing/receipt"]).exits(1).stderr_has("already has the id");
    let _ = project.run(["state", "mv", "nobody", "hello"]).exits(1).stderr_has("knows no id for `nobody`");
    let _ = project.run(["state", "mv", "welcome", "hello"]).exits(0);
    assert_eq!(id(&project, "hello"), before);
    let _ = project.run(["state", "history"]).exits(0).stdout_has("state mv welcome hello");
}

#[test]
fn a_forgotten_id_can_be_taken_back() {
    let project = applied();
    let welcome = id(&project, "welcome");
    let _ = project.run(["state", "rm", "welcome"]).exits(64).stderr_has("--yes");
    let _ = project.run(["state", "rm", "welcome", "--yes"]).exits(0).stderr_has(&welcome);
    let _ =
        project.run(["state", "import", "other", &id(&project, "billing/receipt")]).exits(1).stderr_has("belongs to");
    let _ = project.run(["state", "import", "welcome", &welcome]).exits(0);
    let _ = project.run(["apply", "--yes"]).exits(0).lacks("reserved");
    assert_eq!(id(&project, "welcome"), welcome);
}

#[test]
fn a_damaged_head_is_restored_from_a_snapshot_and_no_template_is_created_twice() {
    let project = applied();
    let welcome = id(&project, "welcome");
    let newest = bases(&project).pop().unwrap();
    for damage in ["", "{\"format\":1,"] {
        fs::write(project.path(".letterpress/state/local/head.json"), damage).unwrap();
        for command in [&["plan"][..], &["apply", "--yes"], &["state", "list"], &["state", "init"]] {
            let outcome = project.run(command);
            assert!([1, 5].contains(&outcome.code), "{command:?} {outcome}");
            assert!(command == ["state", "init"] || outcome.code == 5, "{command:?} {outcome}");
        }
        let _ = project.run(["state", "show"]).exits(5).stderr_has("damaged").stderr_has(&newest);
        let _ = project.run(["state", "restore", &newest, "--yes"]).exits(0);
        let _ = project.run(["state", "verify"]).exits(0);
        let _ = project.run(["apply", "--yes"]).exits(0).lacks("created");
        assert_eq!(id(&project, "welcome"), welcome);
    }
    let _ = project.run(["state", "restore", "base-1-nonsense.json", "--yes"]).exits(5);
    let _ = project.run(["state", "restore", "../../letterpress.toml", "--yes"]).exits(5);
}

#[test]
fn a_head_of_a_later_version_is_not_touched() {
    let project = applied();
    let head = ".letterpress/state/local/head.json";
    project.write(head, "{\"format\": 2, \"new\": \"things\"}");
    for command in [&["plan"][..], &["apply", "--yes"], &["state", "show"], &["state", "mv", "welcome", "a"]] {
        let _ = project.run(command).exits(5).stderr_has("has format 2");
    }
    assert_eq!(project.read(head), "{\"format\": 2, \"new\": \"things\"}");
}

#[test]
fn a_snapshot_whose_bytes_changed_is_noticed() {
    let project = applied();
    let newest = project.path(".letterpress/state/local").join(bases(&project).pop().unwrap());
    let text = fs::read_to_string(&newest).unwrap().replace("\"live\"", "\"dirt\"");
    fs::write(&newest, text).unwrap();
    let _ = project.run(["plan"]).exits(5).stderr_has("digest does not match").stderr_has("base-1-");
    fs::remove_file(&newest).unwrap();
    let _ = project.run(["state", "verify"]).exits(5).stderr_has("it is missing");
}

#[test]
fn nobody_holds_a_state_that_is_at_rest() {
    let project = applied();
    let _ = project.run(["state", "unlock"]).exits(0).stderr_has("nobody holds");
    let _ = project.run(["state", "leaks"]).exits(0).stderr_has("nothing has leaked");
    let _ = project.run(["state", "leaks", "--forget", "letterpress-nonsense"]).exits(64);
}
