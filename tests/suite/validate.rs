//! `letterpress validate`: projects as a whole, formats, paths as pre-commit hands them.

use crate::support::Project;

#[test]
fn a_clean_project_says_so_in_one_line() {
    let project = Project::new().template("welcome").template("billing/receipt");
    let outcome = project.run(["validate"]).exits(0);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", "2 templates checked: no findings\n"));
}

#[test]
fn without_a_project_the_way_out_is_named() {
    let project = Project::empty();
    project.run(["validate"]).exits(1).stderr_has("no letterpress.toml").stderr_has("letterpress init");
}

#[test]
fn the_nearest_project_upward_is_used() {
    let project = Project::new().template("welcome");
    let mut command = project.command(["validate"]);
    command.current_dir(project.path("templates/welcome"));
    crate::support::Outcome::of(command.output().unwrap()).exits(0).stderr_has("1 template checked");
}

#[test]
fn an_unknown_environment_is_wrong_use() {
    let project = Project::new().template("welcome");
    let outcome = project.run(["validate", "-e", "locl"]).exits(64);
    outcome.stderr_has("did you mean `local`?").stderr_has("choose with `-e`: local");
}

#[test]
fn a_wrong_config_is_located() {
    let project = Project::new().file("letterpress.toml", "templates = \"templates\"\nenvironmnt = \"local\"\n");
    let outcome = project.run(["validate"]).exits(3);
    outcome.stderr_has("letterpress.toml:2:1").stderr_has("did you mean `environment`?");
}

#[test]
fn a_templates_folder_that_is_missing_or_empty_is_an_error() {
    let project = Project::new();
    project.run(["validate"]).exits(3).stdout_has("templates-folder").stdout_has("does not exist");
    std::fs::create_dir(project.path("templates")).unwrap();
    project.run(["validate"]).exits(3).stdout_has("has no template");
}

#[test]
fn a_finding_is_shown_with_its_line() {
    let project = Project::new().template("welcome");
    project.write("templates/welcome/manifest.yaml", "name: Welcome\nsubjct: Hello\nsender_email: a@example.com\n");
    let outcome = project.run(["validate", "--format", "concise"]).exits(3);
    assert_eq!(outcome.stdout, "templates/welcome/manifest.yaml:2:1: error[unknown-key] unknown key `subjct`\n");
    let outcome = project.run(["validate"]).exits(3);
    outcome.stdout_has("2 | subjct: Hello").stdout_has("did you mean `subject`?").stderr_has("1 error in 1 file");
}

#[test]
fn json_has_the_place_and_the_numbers() {
    let project = Project::new().template("welcome");
    let info: String = (0..11).map(|n| format!("  key{n}: x\n")).collect();
    project.write(
        "templates/welcome/manifest.yaml",
        format!("name: Welcome\nsender_email: a@example.com\nglobal_info:\n{info}"),
    );
    let json = project.run(["validate", "--format", "json"]).exits(3).json();
    let finding = &json["findings"][0];
    assert_eq!(finding["rule"], "info-limits");
    assert_eq!((finding["line"].as_u64(), finding["column"].as_u64()), (Some(14), Some(3)));
    assert_eq!((finding["actual"].as_str(), finding["allowed"].as_str()), (Some("11"), Some("10")));
    assert_eq!(json["counts"]["errors"], 1);
}

#[test]
fn paths_narrow_the_run_to_the_templates_they_belong_to() {
    let project = Project::new().template("good").template("bad").template("bad/inner");
    project.write("templates/bad/manifest.yaml", "nam: x\n");
    project.run(["validate", "templates/good/body.html"]).exits(0).stderr_has("1 template checked");
    project.run(["validate", "templates/good/deleted.png"]).exits(0).stderr_has("1 template checked");
    project.run(["validate", "templates/bad/body.html"]).exits(3).stderr_has("1 template checked");
    project.run(["validate", "templates/bad/inner/body.txt"]).exits(0).stderr_has("1 template checked");
    project.run(["validate", "templates/bad"]).exits(3).stderr_has("2 templates checked");
    project.run(["validate", "README.md"]).exits(0).stderr_has("0 templates checked");
    project.run(["validate", "templates/gone/body.html"]).exits(0).stderr_has("0 templates checked");
    project.run(["validate", "letterpress.toml"]).exits(3).stderr_has("3 templates checked");
}

#[test]
fn defaults_lie_under_the_manifest_and_overrides_on_top() {
    let project = Project::new().template("welcome").file(
        "letterpress.toml",
        "environment = \"a\"\n[defaults]\nsender_email = \"bad\"\n[defaults.headers]\nX-A = \"1\"\n\
         [environments.a]\nbase_url = \"sandbox\"\n[environments.a.defaults]\nsender_email = \"good@example.com\"\n\
         [environments.b]\nbase_url = \"sandbox\"\n",
    );
    project.write(
        "templates/welcome/manifest.yaml",
        "name: Welcome\nheaders: { x-a: '2' }\noverrides: { b: { headers: { X-B: '1' } } }\n",
    );
    let outcome = project.run(["validate", "--format", "concise"]).exits(3);
    outcome.stdout_has("manifest.yaml:2:12: error[header-invalid]").lacks("bad-address");
    let outcome = project.run(["validate", "--format", "concise", "-e", "b"]).exits(3);
    outcome.stdout_has("letterpress.toml:3:16: error[bad-address]");
}

#[test]
fn the_examples_pass_every_default_rule() {
    let project = Project::copy_of(&crate::support::repository().join("examples"));
    for environment in ["local", "staging"] {
        let outcome = project.run(["validate", "-e", environment, "--format", "json"]).exits(0);
        let findings = &outcome.json()["findings"];
        assert!(findings.as_array().is_some_and(Vec::is_empty), "{outcome}");
    }
}

#[test]
fn a_path_without_a_template_is_named() {
    let project = Project::new().template("welcome");
    let outcome = project.run(["validate", "templates/welcom", "../elsewhere"]).exits(0);
    outcome.stderr_has("no template belongs to `templates/welcom`, `../elsewhere`").stderr_has("0 templates checked");
    // A deleted file of a template that is there is not worth a word.
    project.run(["validate", "templates/welcome/gone.png"]).exits(0).lacks("no template belongs");
}

#[test]
fn a_path_over_a_link_leads_to_its_template() {
    let project = Project::new().template("welcome").template("other");
    let link = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(project.root(), link.path().join("project")).unwrap();
    for end in ["body.html", "gone.png", "no/such/folder.png"] {
        let path = link.path().join("project/templates/welcome").join(end);
        let outcome = project.run(["validate", path.to_str().unwrap()]).exits(0);
        outcome.stderr_has("1 template checked");
    }
}

#[test]
fn a_manifest_under_another_name_is_not_passed_over() {
    let project = Project::new().template("welcome").template("hello");
    let manifest = project.read("templates/hello/manifest.yaml");
    std::fs::remove_file(project.path("templates/hello/manifest.yaml")).unwrap();
    project.write("templates/hello/manifest.yml", manifest);
    // With and without the cache, alone and among others.
    for arguments in [&["validate"][..], &["validate"], &["validate", "templates/hello/manifest.yml"], &["plan"]] {
        let outcome = project.run(arguments).exits(3);
        outcome.says("templates/hello/manifest.yml").says("rename it to `manifest.yaml`");
    }
    std::fs::remove_file(project.path("templates/hello/manifest.yml")).unwrap();
    for _ in 0..2 {
        project.run(["validate"]).exits(0).stdout_has("`body.html` has no `manifest.yaml` beside it");
    }
    let config = project.read("letterpress.toml");
    project.write("letterpress.toml", format!("{config}[lint]\nmanifest-missing = \"off\"\n"));
    project.run(["validate"]).exits(0).stderr_has("1 template checked: no findings");
}
