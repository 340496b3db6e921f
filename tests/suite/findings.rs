//! Findings in every format, what `--fix` does, the pages about rules, and hostile text in all of them.

use std::path::Path;

use letterpress::check::table;

use crate::support::Project;

fn fixture(rule: &str) -> Project {
    let project = Project::empty();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(rule);
    for entry in walkdir::WalkDir::new(&from).into_iter().filter_map(Result::ok) {
        if entry.file_type().is_file() {
            let below = entry.path().strip_prefix(&from).unwrap();
            project.write(below.to_str().unwrap(), std::fs::read(entry.path()).unwrap());
        }
    }
    project
}

#[test]
fn fixes_mend_their_rule_and_a_second_run_changes_nothing() {
    for rule in table::all().filter(|rule| rule.fix) {
        let project = fixture(rule.name);
        let expected_left = if rule.name == "img-relative" { "(and 2 more)" } else { rule.name };
        let before = project.run(["validate", "--format", "concise"]);
        assert!(before.stdout.contains(expected_left), "{}\n{before}", rule.name);
        let mended = project.run(["validate", "--fix", "--yes", "--format", "concise"]);
        assert!(mended.stderr.contains("mended"), "{}\n{mended}", rule.name);
        // Of three images one has no file that could be attached.
        if rule.name == "img-relative" {
            assert!(!mended.stdout.contains("more)"), "{mended}");
        } else {
            assert!(!mended.stdout.contains(rule.name), "{}\n{mended}", rule.name);
        }
        let again = project.run(["validate", "--fix", "--yes"]);
        assert!(again.stderr.contains("nothing to mend"), "{}\n{again}", rule.name);
    }
}

#[test]
fn a_fix_keeps_comments_line_ends_and_everything_else() {
    let project = fixture("img-relative");
    let before = project.read("templates/welcome/manifest.yaml").replace('\n', "\r\n");
    project.write("templates/welcome/manifest.yaml", &before);
    let text = project.read("templates/welcome/body.html").replace('\n', "\r\n");
    project.write("templates/welcome/body.html", &text);
    project.run(["validate", "--fix", "--yes"]).exits(3);
    let after = project.read("templates/welcome/manifest.yaml");
    assert_eq!(after, before.replace("  - path: icon.png\r\n", "  - path: logo.png\r\n  - path: icon.png\r\n"));
    let expected = text.replace("\"logo.png\"", "\"cid:logo.png\"").replace("\"icon.png\"", "\"cid:icon.png\"");
    assert_eq!(project.read("templates/welcome/body.html"), expected);
}

#[test]
fn without_yes_a_fix_only_shows_the_diff() {
    let project = fixture("tag-whitespace");
    let before = project.read("templates/welcome/body.html");
    let outcome = project.run(["validate", "--fix"]).exits(0);
    outcome
        .stderr_has("-<h1>Hello {{ first_name }} and")
        .stderr_has("+<h1>Hello {{first_name}} and")
        .stderr_has("--yes");
    assert_eq!(project.read("templates/welcome/body.html"), before);
}

#[test]
fn sarif_names_the_rule_its_help_and_the_place() {
    let project = fixture("tag-whitespace");
    let log = project.run(["validate", "--format", "sarif"]).exits(0).json();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let result = &run["results"][0];
    assert_eq!(result["ruleId"], "tag-whitespace");
    let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
    assert_eq!(rule["id"], "tag-whitespace");
    assert!(rule["help"]["markdown"].as_str().unwrap().contains("```"));
    let region = &result["locations"][0]["physicalLocation"]["region"];
    assert_eq!((region["startLine"].as_u64(), region["startColumn"].as_u64()), (Some(8), Some(11)));
    let place = &project.run(["validate", "--format", "sarif", "--repository-path", "mail"]).exits(0).json()["runs"][0]
        ["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"];
    assert_eq!(place["uri"], "mail/templates/welcome/body.html");
    assert_eq!(place["uriBaseId"], "%SRCROOT%");
    let deleted = &result["fixes"][0]["artifactChanges"][0]["replacements"][0]["deletedRegion"];
    assert_eq!(deleted["byteLength"], 1);
}

#[test]
fn junit_has_a_case_for_each_template() {
    let project = fixture("name-duplicate");
    let outcome = project.run(["validate", "--format", "junit"]).exits(3);
    outcome
        .stdout_has("tests=\"2\"")
        .stdout_has("failures=\"1\"")
        .stdout_has("<testcase name=\"hello\" classname=\"letterpress\"");
}

#[test]
fn github_and_gitlab_know_the_path_in_the_repository() {
    let project = fixture("unknown-key");
    let outcome = project.run(["validate", "--format", "github", "--repository-path", "mail"]).exits(3);
    outcome.stdout_has(
        "::error file=mail/templates/welcome/manifest.yaml,line=2,col=1,title=letterpress unknown-key::unknown key `subjct` (did you mean `subject`?)\n",
    );
    let issues = project.run(["validate", "--format", "gitlab", "--repository-path", "mail"]).exits(3).json();
    assert_eq!(issues[0]["check_name"], "unknown-key");
    assert_eq!(issues[0]["severity"], "major");
    assert_eq!(issues[0]["location"]["path"], "mail/templates/welcome/manifest.yaml");
    assert_eq!(issues[0]["fingerprint"].as_str().unwrap().len(), 64);
}

#[test]
fn the_same_tree_says_the_same_in_every_run_and_format() {
    let project = Project::new();
    for n in 0..40 {
        project.write(
            &format!("templates/t{n}/manifest.yaml"),
            format!("name: T{}\nnope: 1\nheaders: {{ A: b }}\n", n / 2),
        );
        project.write(&format!("templates/t{n}/body.html"), "<img src=x><a href='/'>{{ x }}");
    }
    for format in ["text", "concise", "json", "sarif", "junit", "github", "gitlab"] {
        let runs: Vec<String> = (0..3).map(|_| project.run(["validate", "--format", format]).exits(3).stdout).collect();
        assert!(!runs[0].is_empty() && runs[0] == runs[1] && runs[1] == runs[2], "{format}");
    }
}

#[test]
fn hostile_text_comes_to_life_in_no_format() {
    let payload = "\\e[31m\\n::error::pwned \\n##[set-output name=x]y ##vso[task]z \\u202e [a](http://b) </failure>]]>";
    let project = Project::new();
    project.write(
        "templates/welcome/manifest.yaml",
        format!(
            "name: \"{payload}\"\n\"{payload}\": 1\nheaders: {{ \"{payload}\": x }}\nsender_email: \"{payload}\"\n"
        ),
    );
    project.write("templates/welcome/body.html", "<p>{{\u{1b}[31m}} ##[error]x</p>\u{1b}]0;title\u{7}");
    project.write("templates/we\u{1b}[31m::error::x/manifest.yaml", "name: x\n");
    for format in ["text", "concise", "json", "sarif", "junit", "github", "gitlab"] {
        let outcome = project.run(["validate", "--format", format]).exits(3);
        for (stream, text) in [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)] {
            let control = text.chars().find(|c| letterpress::untrusted::is_control(*c) && *c != '\n');
            assert_eq!(control, None, "{format} {stream}\n{outcome}");
            assert!(!text.contains("##[") && !text.contains("##vso["), "{format} {stream}\n{outcome}");
            for line in text.lines() {
                let command = line.trim_start().starts_with("::")
                    && line.contains("pwned")
                    && !line.contains("title=letterpress");
                assert!(!command, "{format} {stream}: {line}");
            }
        }
        match format {
            "json" | "sarif" | "gitlab" => assert!(outcome.json().is_object() || outcome.json().is_array()),
            _ => {}
        }
    }
}

#[test]
fn explain_has_a_page_for_every_rule() {
    let project = Project::empty();
    let list = project.run(["explain"]).exits(0);
    for rule in table::all() {
        assert!(list.stdout.contains(rule.name), "{}", rule.name);
    }
    project.run(["explain", "gmail-clip"]).exits(0).stdout_has("104,448").stdout_has("wrong").stdout_has("right");
    project.run(["explain", "gmail-clp"]).exits(64).stderr_has("did you mean `gmail-clip`?");
}

/// Holds a file that is made from the code against it; `LETTERPRESS_TEST_UPDATE=1` writes it again.
#[track_caller]
fn published(path: &str, arguments: &[&str]) {
    let made = Project::empty().run(arguments).exits(0).stdout;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("LETTERPRESS_TEST_UPDATE").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == made, "{} is stale: run the tests with LETTERPRESS_TEST_UPDATE=1", path.display());
}

#[test]
fn the_page_of_rules_is_what_the_table_says() {
    published("docs/rules.md", &["explain", "--format", "markdown"]);
}

#[test]
fn lint_changes_severities_and_profiles_add_rules() {
    let project = fixture("img-http");
    project.write("letterpress.toml", "[lint]\nimg-http = \"error\"\n");
    project.run(["validate", "--format", "concise"]).exits(3).stdout_has("error[img-http]");
    project.write("letterpress.toml", "[lint]\nimg-http = \"off\"\nimg-width-missing = \"info\"\n");
    let outcome = project.run(["validate", "--format", "concise"]).exits(0);
    outcome.stdout_has("info[img-width-missing]").lacks("img-http");
    project.write("letterpress.toml", "[lint]\nimg-htp = \"off\"\nunknown-key = \"warn\"\n");
    let outcome = project.run(["validate"]).exits(3);
    outcome.stderr_has("did you mean `img-http`?").stderr_has("so it stays an error");
}

#[test]
fn an_allow_with_a_reason_silences_its_rule() {
    let project = fixture("img-http");
    let html = project.read("templates/welcome/body.html");
    project.write(
        "templates/welcome/body.html",
        format!("<!-- letterpress-allow img-http: the partner has no https -->{html}"),
    );
    project.run(["validate"]).exits(0).stderr_has("no findings");
    project.write("templates/welcome/body.html", &html);
    let manifest = project.read("templates/welcome/manifest.yaml");
    let allow = "lint: { allow: [{ rule: img-http, reason: the partner has no https }] }\n";
    project.write("templates/welcome/manifest.yaml", format!("{manifest}{allow}"));
    project.run(["validate"]).exits(0).stderr_has("no findings");
    project.write("templates/welcome/manifest.yaml", format!("{manifest}lint: {{ allow: [{{ rule: img-http }}] }}\n"));
    project.run(["validate", "--format", "concise"]).exits(3).stdout_has("an item of `lint.allow` needs `reason`");
}

#[test]
fn json_carries_the_contract_of_each_template() {
    let project = Project::new().template("welcome");
    project.write(
        "templates/welcome/manifest.yaml",
        "name: W\nsubject: Hello {{first_name|there}}\nsender_email: a@example.com\nvariables: [first_name, code]\nglobal_replacements: { company: Example }\n",
    );
    project.write("templates/welcome/body.html", "<p>{{code}} {{company}} {{UnsubscribeUrl}}</p>");
    project.write("templates/welcome/body.txt", "{{code}} {{company}}");
    let json = project.run(["validate", "--format", "json"]).exits(0).json();
    let contract = &json["templates"]["welcome"];
    assert_eq!(contract["engine"], "simple");
    let expected = serde_json::json!({
        "code": { "required": true, "value": null, "used_in": ["html", "plaintext"] },
        "company": { "required": false, "value": "Example", "used_in": ["html", "plaintext"] },
        "first_name": { "required": false, "value": null, "used_in": ["subject"] },
    });
    assert_eq!(contract["variables"], expected);
}

#[test]
fn what_a_fix_writes_needs_no_other_fix() {
    let project = Project::new().template("welcome");
    let manifest = project.read("templates/welcome/manifest.yaml");
    project.write("templates/welcome/manifest.yaml", format!("{manifest}variables: [name, code] # both\n"));
    let html = "<p>Hello {{ name }}, your code is {{code|{{ name }}}}.</p>";
    project.write("templates/welcome/body.html", html);
    std::fs::remove_file(project.path("templates/welcome/body.txt")).unwrap();
    project.run(["validate", "--fix", "--yes"]).exits(0).stderr_has("mended 2 files");
    assert_eq!(project.read("templates/welcome/body.txt"), "Hello {{name}}, your code is {{code|{{name}}}}.\n");
    project.run(["validate", "--fix", "--yes"]).exits(0).stderr_has("nothing to mend").stderr_has("no findings");
}

#[test]
fn many_mistakes_are_mended_in_more_than_one_go() {
    let project = Project::new().template("a");
    let html = project.read("templates/a/body.html").replace("</body>", &("{{ first_name }} ".repeat(600) + "</body>"));
    project.write("templates/a/body.html", html.replace('\n', "\r\n"));
    // Two pieces of blanks in each tag.
    project.run(["validate", "--fix", "--yes"]).stdout_has("tag-whitespace");
    assert_eq!(project.read("templates/a/body.html").matches("{{ first_name }}").count(), 100);
    let again = project.run(["validate", "--fix", "--yes"]);
    assert!(!again.stdout.contains("tag-whitespace"), "{again}");
    assert_eq!(
        project.read("templates/a/body.html"),
        html.replace("{{ first_name }}", "{{first_name}}").replace('\n', "\r\n")
    );
}

#[test]
fn of_a_mail_for_another_engine_only_that_is_said() {
    let project = Project::new().template("welcome");
    let manifest = project.read("templates/welcome/manifest.yaml");
    let html = |tag: &str| format!("<p>Hello {{{{ name }}}}{tag}, a line for the reader of {{{{ company }}}}.</p>");
    let rules = |variables: &str, html: &str| {
        project.write("templates/welcome/manifest.yaml", format!("{manifest}{variables}"));
        project.write("templates/welcome/body.html", html);
        project.write("templates/welcome/body.txt", "Hello {{ name }}, a line for the reader.\n");
        let json = project.run(["validate", "--format", "json"]).exits(0).json();
        let found = json["findings"].as_array().unwrap().iter();
        found.map(|f| f["rule"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for tag in ["{{#if x}}{{/if}}", "{% if x %}", "{{{x}}}", "{{a.b}}", "{{.Name}}"] {
        assert_eq!(rules("", &html(tag)), ["foreign-syntax"], "{tag}");
    }
    // Whoever declares a name has begun to write for this engine, and these do not look like its tags.
    let all = ["tag-whitespace", "foreign-syntax", "tag-undeclared", "tag-parity", "tag-whitespace"];
    for (variables, tag) in [("variables: [name]\n", "{% if x %}"), ("", "*|NAME|*")] {
        let mut found = rules(variables, &html(tag));
        let mut expected = all.map(str::to_owned).to_vec();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{variables}{tag}");
    }
}

#[test]
fn a_column_is_that_of_the_file_also_in_a_line_that_is_shown_in_part() {
    let project = Project::new().template("welcome");
    let html = format!("<p>{}</p><p>\t\u{202e}Hello <a href=\"#\">you</a></p>", "Grüße ".repeat(50));
    project.write("templates/welcome/body.html", &html);
    let column = html.split("#").next().unwrap().chars().count() + 1;
    let place = format!("templates/welcome/body.html:1:{column}");
    project.run(["validate"]).exits(0).stdout_has(&format!("--> {place}\n"));
    project.run(["validate", "--format", "concise"]).exits(0).stdout_has(&format!("{place}: warn[link-empty]"));
}

#[test]
fn a_placeholder_is_found_where_it_stands() {
    let project = Project::new().template("welcome");
    project.write("templates/welcome/body.html", "<p>Hello &amp; bye</p>\n<h1>İ Lorem Ipsum</h1>");
    project.write("templates/welcome/body.txt", "İİİ, a LOREM IPSUM text and\nmore\n");
    let outcome = project.run(["validate", "--format", "concise"]).exits(0);
    outcome.stdout_has("body.html:2:7: warn[placeholder-left]").stdout_has("body.txt:1:8: warn[placeholder-left]");
}

#[test]
fn a_plain_text_may_write_a_link_as_people_do() {
    let project = Project::new().template("welcome");
    let manifest = project.read("templates/welcome/manifest.yaml");
    project.write("templates/welcome/manifest.yaml", format!("{manifest}variables: [link]\n"));
    let html = "<p>Hello <a href=\"https://www.example.com/A?utm=1\">a</a> <a href=\"{{link}}\">b</a></p>";
    project.write("templates/welcome/body.html", html);
    for (text, quiet) in
        [("example.com/a", true), ("HTTPS://EXAMPLE.COM/a#x", true), ("{{link}}", true), ("{{link|x}}", false)]
    {
        project.write("templates/welcome/body.txt", format!("Hello, see {text}.\n"));
        let outcome = project.run(["validate", "--format", "concise"]).exits(0);
        assert_eq!(!outcome.stdout.contains("plaintext-quality"), quiet, "{text}: {outcome}");
    }
}

#[test]
fn a_design_that_is_not_wired_up_gets_a_note() {
    let project = Project::new().template("welcome");
    for (links, said) in [
        ("#", "warn"),
        ("# #", "warn"),
        ("# # #", "info"),
        ("# # # mailto:a@example.com", "info"),
        ("# # # https://example.com", "warn"),
        ("# # # {{UnsubscribeUrl}}", "warn"),
    ] {
        let links: String = links.split(' ').map(|to| format!("<a href=\"{to}\">to</a>")).collect();
        project.write("templates/welcome/body.html", format!("<p>Hello {links}</p>"));
        project.run(["validate", "--format", "concise"]).exits(0).stdout_has(&format!(" {said}[link-empty]"));
    }
    // Whoever sets a rule decides about its notes, too.
    let config = project.read("letterpress.toml");
    project.write("letterpress.toml", format!("{config}[lint]\nlink-empty = \"error\"\ntag-undeclared = \"error\"\n"));
    project.write("templates/welcome/body.html", "<p>Hello {{name}}</p>".to_owned() + &"<a href=\"#\">x</a>".repeat(3));
    let outcome = project.run(["validate", "--format", "concise"]).exits(3);
    outcome.stdout_has(" error[link-empty]").stdout_has(" error[tag-undeclared]");
}

#[test]
fn what_stands_behind_too_many_attributes_is_announced() {
    let project = Project::new().template("welcome");
    let tag = |count: usize| format!("<p>Hello</p><b {}onclick=\"x()\">you</b>", "data-x=\"1\" ".repeat(count));
    project.write("templates/welcome/body.html", tag(999));
    project.run(["validate"]).exits(3).stdout_has("mail clients remove `onclick`");
    // One cause is one finding, also where the address is no address.
    project.write("templates/welcome/body.html", "<p>Hello <a href=\"java&#10;script:x()\">you</a></p>");
    let outcome = project.run(["validate", "--format", "concise"]).exits(3);
    outcome.stdout_has("[active-content]").lacks("link-relative");
    project.write("templates/welcome/body.html", tag(1_000));
    let said = "error[active-content] this tag has more than 1000 attributes, and what follows them was not looked at";
    project.run(["validate", "--format", "concise"]).exits(3).stdout_has(&format!("body.html:1:13: {said}"));
}

#[test]
fn a_misspelt_tag_is_one_finding() {
    let project = Project::new().template("welcome");
    let manifest = project.read("templates/welcome/manifest.yaml");
    let write = |variables: &str, html: &str, text: &str| {
        project.write("templates/welcome/manifest.yaml", format!("{manifest}{variables}"));
        project.write("templates/welcome/body.html", format!("<p>Hello {html}, a line for the reader.</p>"));
        project.write("templates/welcome/body.txt", format!("Hello {text}, a line for the reader.\n"));
        project.run(["validate", "--format", "json"]).exits(0).json()["findings"].as_array().unwrap().clone()
    };
    let found = write("variables: [first_name]\n", "{{frist_name}}", "{{first_name}}");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["rule"], "tag-undeclared");
    assert_eq!(found[0]["help"], "did you mean `{{first_name}}`?");
    // Also where it is the only use.
    let found = write("variables: [first_name]\n", "{{frist_name}}", "you");
    assert_eq!(found.iter().map(|f| f["rule"].as_str().unwrap()).collect::<Vec<_>>(), ["tag-undeclared"]);
    // Two names that are not declared and nearly the same: each file has its finding, and the difference one.
    let found = write("", "{{frist_name}}", "{{first_name}}");
    let parity: Vec<_> = found.iter().filter(|f| f["rule"] == "tag-parity").collect();
    assert_eq!((found.len(), parity.len()), (3, 1), "{found:?}");
    assert_eq!(parity[0]["message"], "the plain text shows `{{first_name}}` where the html shows `{{frist_name}}`");
    // Where a manifest declares nothing at all, an undeclared name is worth knowing and no mistake; each is reported once.
    let found = write("", "{{name}} {{code}}", "{{name}} {{code}}");
    let said: Vec<_> =
        found.iter().map(|f| (f["severity"].as_str().unwrap(), f["message"].as_str().unwrap())).collect();
    assert_eq!(said, [("info", "`{{name}}` and 1 other name are not declared")]);
    // What differs indeed is still said on both sides.
    let found = write("variables: [name, order]\n", "{{name}}", "{{order}}");
    assert_eq!(found.len(), 2, "{found:?}");
}
