//! `plan`: what it says, in which form, and with which code it ends.

use crate::support::Project;

#[test]
fn a_first_plan_creates_everything_and_needs_no_state_for_the_built_in_service() {
    let project = Project::new().template("welcome").template("billing/receipt");
    let outcome = project.run(["plan"]).exits(0);
    assert_eq!(
        outcome.stdout,
        "local\n\n  + create  billing/receipt  billing/receipt\n  + create  welcome          welcome\n\nPlan: 2 to create; 0 unchanged.\nWhat is created cannot be deleted through the service's interface; 2 of 10,000 used afterwards.\n"
    );
    assert!(!project.path(".letterpress/state").exists(), "a plan wrote a state");
    project.run(["plan", "--detailed-exitcode"]).exits(2);
    project.run(["plan", "--only", "welcome"]).exits(0).stdout_has("1 to create").stdout_has("1 left out");
    project.run(["plan", "--only", "["]).exits(64).stderr_has("not a glob");
}

#[test]
fn json_has_the_digest_of_the_plan_file() {
    let project = Project::new().template("welcome");
    let json = project.run(["plan", "--format", "json", "--out", "plan.json"]).exits(0).json();
    assert_eq!(json["steps"][0]["action"], "create");
    assert_eq!(json["summary"]["templates_allowed"], 10_000);
    let file: serde_json::Value = serde_json::from_str(&project.read("plan.json")).unwrap();
    assert_eq!(file["digest"], json["digest"]);
    assert!(!project.read("plan.json").contains("A line for the reader"), "a plan file holds no body");
}

#[test]
fn errors_in_the_files_end_with_3_and_plan_nothing() {
    let project = Project::new().template("welcome").file("templates/broken/manifest.yaml", "name: [\n");
    let outcome = project.run(["plan"]).exits(3);
    assert_eq!(outcome.stdout, "");
    outcome.stderr_has("templates/broken/manifest.yaml");
}

#[test]
fn a_missing_state_of_a_real_service_ends_with_5_and_says_the_way_out() {
    let project = Project::empty()
        .file(
            "letterpress.toml",
            "environment = \"production\"\n[environments.production]\nbase_url = \"https://api.example.com\"\n",
        )
        .template("welcome");
    project.run(["plan"]).exits(5).stderr_has("has no state").stderr_has("letterpress state init");
}

#[test]
fn a_new_template_is_described_in_json_and_only_counted_without_diffs() {
    let project = Project::new().template("welcome");
    let json = project.run(["plan", "--format", "json"]).exits(0).json();
    assert_eq!(json["steps"][0]["earlier"], "none");
    assert_eq!(json["steps"][0]["changes"]["parts"][0]["words"][0][0]["new"], "Hello");
    let json = project.run(["plan", "--format", "json", "--no-diff"]).exits(0).json();
    assert_eq!(json["steps"][0].get("changes"), None);
    project.run(["plan", "--no-diff", "--diff", "all"]).exits(64);
}

#[test]
fn a_changed_sentence_is_one_line_of_the_next_plan() {
    let project = Project::new().template("welcome").template("other");
    project.run(["apply", "--yes"]).exits(0);
    assert_eq!(std::fs::read_dir(project.path(".letterpress/state/local/objects")).unwrap().count(), 2);
    project.run(["plan", "--detailed-exitcode"]).exits(0).stdout_has("Nothing changes in `local`: 2 templates as last");

    let html = project.read("templates/welcome/body.html");
    project.write("templates/welcome/body.html", html.replace("A line for the reader", "A word for the reader"));
    let outcome = project.run(["plan", "--detailed-exitcode"]).exits(2);
    assert_eq!(
        outcome.stdout,
        "local\n\n  ~ update  welcome  welcome\n      html: 152 B\n        A [-line-]{+word+} for the reader.\n        source: +1 -1 lines (`--diff all` shows them)\n\nPlan: 1 to update; 1 unchanged.\n"
    );
    project
        .run(["plan", "--diff", "source"])
        .exits(0)
        .stdout_has("-<body><h1>Hello</h1><p>A line for the reader.</p></body></html>\n");

    // What is replaced is not kept for ever.
    project.run(["apply", "--yes"]).exits(0);
    assert_eq!(std::fs::read_dir(project.path(".letterpress/state/local/objects")).unwrap().count(), 2);

    // A missing content is no error.
    std::fs::remove_dir_all(project.path(".letterpress/state/local/objects")).unwrap();
    project.write("templates/welcome/body.txt", "Changed\n");
    project.run(["plan"]).exits(0).stdout_has("what the service has is not known");
}

#[test]
fn markdown_is_a_comment_that_fits() {
    let project = Project::new().template("welcome");
    project.run(["apply", "--yes"]).exits(0);
    project.write_template("welcome", "Good day");
    project.write_template("other", "Hello");
    let outcome = project.run(["plan", "--format", "markdown"]).exits(0);
    let text = outcome
        .stdout_has("### 1 to create, 1 to update in <code>local</code>\n")
        .stdout_has("| \\~ update | <code>welcome</code> | <code>welcome</code> | <code>subject</code>, html (+2 −2), plaintext (+1 −1) |")
        .stdout_has("```diff\n- Hello\n+ Good day\n```")
        .stdout_has("letterpress apply --plan-digest ");
    assert!(text.stdout.len() < 10_000);
    let short = project.run(["plan", "--format", "markdown", "--max-bytes", "1500"]).exits(0);
    assert!(short.stdout.len() <= 1_500);
    short.stdout_has("Left out to stay within 1,500 bytes");
}

#[test]
fn the_page_holds_both_mails_in_frames_that_can_do_nothing() {
    let project = Project::new().template("welcome");
    project.run(["apply", "--yes"]).exits(0);
    project.write_template("welcome", "\"></iframe> Good day");
    let outcome = project.run(["plan", "--format", "html"]).exits(0);
    let page = &outcome.stdout;
    assert!(page.contains("default-src 'none'; img-src data:"), "{page}");
    assert_eq!(page.matches("<iframe sandbox=\"\"").count(), 2, "{page}");
    assert_eq!(page.matches("</iframe>").count(), 2, "the mail ended its frame\n{page}");
    assert!(page.contains("srcdoc=\"&lt;!doctype html&gt;"), "{page}");
    for outside in ["http://", "https://", "<script", "src=\"//"] {
        assert!(!page.contains(outside), "the page has {outside}");
    }
}

#[test]
fn the_page_says_what_it_does_not_show() {
    let project = Project::copy_of(&crate::support::repository().join("examples"));
    project.run(["apply", "--yes"]).exits(0);
    let mail = "templates/order-status";
    // Another picture under the same name, and another sentence in the part that needs scripts.
    let mut picture = std::fs::read(project.path(&format!("{mail}/logo.png"))).unwrap();
    picture.push(0);
    project.write(&format!("{mail}/logo.png"), picture);
    let amp = project.read(&format!("{mail}/body.amp.html"));
    project.write(&format!("{mail}/body.amp.html"), amp.replace("is on its way", "is on the way"));
    let page = project.run(["plan", "--format", "html"]).exits(0).stdout;
    let frames: Vec<&str> = page.split("<figure>").skip(1).collect();
    let [before, now] = frames[..] else { panic!("{} frames", frames.len()) };
    assert!(before.contains("only size and digest are kept. Not shown: <code>logo.png</code>"), "{before}");
    assert!(!before.contains("data:image/png") && now.contains("data:image/png"));
    assert!(!now.contains("Not shown"), "{now}");
    assert!(page.contains("run nothing and load nothing"));
    let (_, amp) = page.split_once("<h3>amp ").unwrap();
    assert!(amp.contains("Not rendered: AMP shows nothing before its scripts have run"), "{amp}");
    assert!(amp.contains("is on <del>its</del><ins>the</ins> way"), "{amp}");
}

#[test]
fn a_glob_that_matches_nothing_is_named() {
    let project = Project::new().template("welcome").template("billing/receipt");
    for command in [&["plan"][..], &["apply", "--yes"]] {
        let run = |only: &str| project.run(command.iter().copied().chain(["--only", only])).exits(0);
        let _ = run("wellcome,billing").stderr_has("`--only wellcome` matches no template").lacks("`--only billing`");
        let _ = run("billing/*").lacks("matches no template");
    }
}

/// Two environments, each with a built-in service and overrides of its own.
fn two_environments() -> Project {
    Project::empty().file(
        "letterpress.toml",
        "environment = \"staging\"\n[environments.staging]\nbase_url = \"sandbox\"\n[environments.production]\nbase_url = \"sandbox\"\n",
    )
}

#[test]
fn only_what_staging_has_live_is_promoted() {
    let project = two_environments().template("welcome").template("receipt");
    project.run(["apply", "--yes", "-e", "staging", "--only", "welcome"]).exits(0);
    let outcome = project.run(["plan", "-e", "production", "--from", "staging"]).exits(0);
    outcome
        .stdout_has("+ create  welcome")
        .stdout_has("Plan: 1 to create; 0 unchanged, 1 left out.")
        .stderr_has("held back, since `staging` does not have them live as the files are now: receipt");

    // What changed after staging was applied waits as well.
    project.write_template("welcome", "Newer");
    project.run(["plan", "-e", "production", "--from", "staging"]).exits(0).stdout_has("Nothing changes");
    project.run(["apply", "--yes", "-e", "staging"]).exits(0);
    project.run(["apply", "--yes", "-e", "production", "--from", "staging"]).exits(0).stdout_has("2 created");

    // A folder that is gone is retired in production only once it is in staging.
    std::fs::remove_dir_all(project.path("templates/receipt")).unwrap();
    project.run(["plan", "-e", "production", "--from", "staging"]).exits(0).stdout_has("Nothing changes");
    project.run(["apply", "--yes", "-e", "staging"]).exits(0);
    project.run(["plan", "-e", "production", "--from", "staging"]).exits(0).stdout_has("- retire  receipt");
    project.run(["plan", "-e", "staging", "--from", "staging"]).exits(64);
    project.run(["plan", "-e", "staging", "--from", "nowhere"]).exits(64);
}

#[test]
fn two_environments_are_compared_by_what_was_applied() {
    let project = two_environments().template("welcome").template("receipt").template("same");
    project.run(["apply", "--yes", "-e", "staging"]).exits(0);
    project.run(["apply", "--yes", "-e", "production", "--exclude", "receipt"]).exits(0);
    project.write("templates/welcome/body.txt", "Hello\n\nAnother line for the reader.\n");
    project.run(["apply", "--yes", "-e", "staging"]).exits(0);
    let outcome = project.run(["diff", "production", "staging", "--detailed-exitcode"]).exits(2);
    assert_eq!(
        outcome.stdout,
        "production → staging\n\n  + receipt  only in staging\n  ~ welcome\n      plaintext: 30 B → 36 B\n        [-A-]{+Another+} line for the reader.\n        source: +1 -1 lines (`--diff all` shows them)\n\n2 differences, 1 the same.\n"
    );
    let json = project.run(["diff", "production", "staging", "--format", "json"]).exits(0).json();
    assert_eq!(json["differences"][0]["difference"], "only_new");
    assert_eq!(json["differences"][1]["changes"]["parts"][0]["part"], "plaintext");
    project.run(["diff", "staging", "staging"]).exits(0).stdout_has("No difference between `staging` and `staging`");
}

#[test]
fn a_lost_state_comes_back_from_the_event_stream() {
    let project = Project::new().template("welcome").template("receipt");
    let log = project.run(["apply", "--yes", "--format", "json"]).exits(0).stdout;
    let events: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(events.iter().all(|event| event["format"] == 1 && event["event"].is_string()), "{log}");
    assert_eq!(events[0]["plan"]["summary"]["create"], 2);
    assert_eq!(events.last().unwrap()["code"], 0);
    let before = project.run(["ids", "--format", "json"]).exits(0).json();

    // As a CI keeps it: a stamp before each line, other lines between.
    let stamped: String = log.lines().map(|line| format!("2026-11-01T10:00:00.000Z {line}\nand a remark\n")).collect();
    project.write("job.log", stamped);
    std::fs::remove_dir_all(project.path(".letterpress/state")).unwrap();
    project.run(["state", "init"]).exits(0);
    project.run(["state", "recover", "--from-events", "job.log"]).exits(0).stderr_has("took in 2 of 2 ids");
    assert_eq!(project.run(["ids", "--format", "json"]).exits(0).json(), before);
    project.run(["apply", "--yes"]).exits(0).stdout_has("2 to resend");
    assert_eq!(project.run(["ids", "--format", "json"]).exits(0).json(), before);

    project.write("empty.log", "nothing here\n");
    project.run(["state", "recover", "--from-events", "empty.log"]).exits(5);
    project.run(["state", "recover", "--from-events", "missing.log"]).exits(1);
}

/// Applies one template in a CI that says so in this variable, and takes the log apart: before, in and after the group.
fn folded(variable: &str, begin: &str, end: &str) {
    let project = Project::new().template("welcome").variable(variable, "true");
    let outcome = project.run(["apply", "--yes"]).exits(0);
    let folded = outcome.stdout.split_once(begin).and_then(|(_, rest)| rest.split_once(end));
    let (inside, after) = folded.unwrap_or_else(|| panic!("no group: {outcome}"));
    assert!(inside.contains("created  welcome"), "{outcome}");
    assert!(after.starts_with('\n') && after.contains("Applied: 1 created"), "{outcome}");
}

#[test]
fn a_ci_that_folds_lines_gets_a_group() {
    folded("GITHUB_ACTIONS", "\n::group::Applying 1 template\n", "\n::endgroup::");
    folded("TF_BUILD", "\n##[group]Applying 1 template\n", "\n##[endgroup]");
}

#[test]
fn gitlab_gets_a_section_with_its_times() {
    let name = ":letterpress_apply";
    folded("GITLAB_CI", "[collapsed=true]\r\x1b[0KApplying 1 template\n", "\r\x1b[0K");
    let project = Project::new().template("welcome").variable("GITLAB_CI", "true");
    let log = project.run(["apply", "--yes"]).exits(0).stdout;
    let at = |mark: &str| -> u64 {
        let (_, rest) = log.split_once(mark).unwrap_or_else(|| panic!("no {mark:?} in {log:?}"));
        rest.split_once(name).unwrap().0.parse().unwrap()
    };
    let (begin, end) = (at("\n\x1b[0Ksection_start:"), at("\n\x1b[0Ksection_end:"));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert!(begin <= end && end <= now && now - begin < 600, "{begin} {end} {now}");
    // A stream of events has no sections.
    project.write_template("welcome", "Hi");
    let _ = project.run(["apply", "--yes", "--format", "json"]).exits(0).lacks("section_");
}
