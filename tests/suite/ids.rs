//! `ids`: what it writes is code, and a compiler says so (Rust here; the other languages in `tests/ids`).

use std::process::Command;

use crate::support::{Outcome, Project};

/// Folder names that are words of a language, no words at all, or mean something inside a literal or a comment.
const KEYS: [&str; 16] = [
    "fn",
    "self",
    "Type",
    "class",
    "2fa",
    "__proto__",
    "größe",
    "世界",
    "宇宙",
    "日本/2",
    "a\"b",
    "it's",
    "!",
    "*/ {x}",
    "billing/pay-failed",
    "plain",
];

fn project() -> Project {
    let project = Project::new();
    for key in KEYS {
        write(&project, key, "{{type}} {{Self}} {{userID}} {{x2-y}} {{first_name|you}}");
    }
    write(&project, "plain", "Nothing varies.");
    project.write("templates/free/body.txt", "{% if a %}{{ a.b }}{% endif %}\n\nRead on.\n");
    project.write(
        "templates/free/manifest.yaml",
        "name: free\nsubject: Free\nsender_email: hello@example.com\nsender_name: Example\nheaders: { X-SVC-Template-Engine: liquid }\n",
    );
    project.run(["apply", "--yes"]).exits(0);
    project
}

fn write(project: &Project, key: &str, text: &str) {
    let name = serde_json::Value::from(format!("name {key}"));
    let manifest = format!("name: {name}\nsubject: About it\nsender_email: hello@example.com\nsender_name: Example\n");
    project.write(&format!("templates/{key}/manifest.yaml"), manifest);
    project.write(&format!("templates/{key}/body.txt"), format!("{text}\n\nRead on.\n"));
}

fn build(project: &Project, main: &str) -> Outcome {
    project.write("main.rs", main);
    let mut command = Command::new("rustc");
    command.current_dir(project.root()).args(["--edition", "2024", "-D", "warnings", "main.rs"]);
    Outcome::of(command.output().unwrap())
}

const USES: &str = "#[allow(dead_code)]\nmod template_ids;\nuse template_ids::*;\n";

#[test]
fn rust_compiles_and_hands_the_variables_over() {
    let project = project();
    let code = project.run(["ids", "--format", "rust", "--variables"]).exits(0).stdout;
    project.write("template_ids.rs", &code);
    let ids = project.run(["ids", "--format", "json"]).exits(0).json();
    let main = r#"
        fn send<V: Variables>(variables: V) {
            println!("{} {} {:?}", V::KEY, V::ID, variables.substitutions());
        }

        fn main() {
            send(BillingPayFailedVariables {
                r#type: "card".to_owned(),
                self_: "me".to_owned(),
                user_id: "7".to_owned(),
                x2_y: "no".to_owned(),
                first_name: None,
            });
            send(PlainVariables);
            println!("{} {FREE}", U4E16U754C);
        }
    "#;
    let _ = build(&project, &format!("{USES}{main}")).exits(0);
    let said = Outcome::of(Command::new(project.path("main")).output().unwrap()).exits(0).stdout;
    let id = |key: &str| ids["ids"][key].as_str().unwrap().to_owned();
    assert_eq!(
        said,
        format!(
            "billing/pay-failed {} {{\"Self\": \"me\", \"type\": \"card\", \"userID\": \"7\", \"x2-y\": \"no\"}}\nplain {} {{}}\n{} {}\n",
            id("billing/pay-failed"),
            id("plain"),
            id("世界"),
            id("free"),
        )
    );

    // What is required cannot be forgotten.
    let forgotten = "fn main() { let _ = FnVariables { first_name: None }; }";
    let _ = build(&project, &format!("{USES}{forgotten}")).exits(1).stderr_has("missing fields `self_`");
}

#[test]
fn names_that_cannot_be_told_apart_are_refused_and_named() {
    let project = Project::new().template("a-b").template("a_b");
    write(&project, "welcome", "{{userId}} {{user_id}}");
    project.run(["apply", "--yes"]).exits(0);
    for form in ["rust", "dotenv"] {
        let refused = project.run(["ids", "--format", form]).exits(1);
        let _ = refused.stderr_has("the keys `a-b` and `a_b` would both be called").stderr_has("rename one of them");
    }
    for form in ["typescript", "python", "go", "json"] {
        let _ = project.run(["ids", "--format", form]).exits(0);
    }
    std::fs::remove_dir_all(project.path("templates/a_b")).unwrap();
    project.run(["apply", "--yes"]).exits(0);
    let refused = project.run(["ids", "--format", "rust", "--variables"]).exits(1);
    let _ = refused.stderr_has("the variables of `welcome`, `userId` and `user_id` would both be called `user_id`");
    let _ = project.run(["ids", "--format", "typescript", "--variables"]).exits(0).stdout_has("\"userId\": string");
}
