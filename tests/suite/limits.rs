//! Every limit of the interface has a test on both sides of it.

use crate::support::Project;

const HEAD: &str = "name: Welcome\nsender_email: hello@example.com\n";

/// Checks a manifest beside a plain-text body; gives what is said about it.
fn said(manifest: &str) -> String {
    let project = Project::new();
    project.write("templates/welcome/manifest.yaml", format!("{HEAD}{manifest}"));
    project.write("templates/welcome/body.txt", "Hello\n");
    project.run(["validate", "--format", "concise"]).stdout
}

#[track_caller]
fn boundary(rule: &str, good: &str, bad: &str) {
    assert_eq!(said(good), "");
    let said = said(bad);
    assert!(said.contains(&format!("error[{rule}]")), "{said}");
}

fn map(name: &str, entries: impl Iterator<Item = String>) -> String {
    format!("{name}:\n{}", entries.map(|entry| format!("  {entry}\n")).collect::<String>())
}

#[test]
fn fifty_headers() {
    let headers = |n: usize| map("headers", (0..n).map(|i| format!("X-{i}: a")));
    boundary("too-many-headers", &headers(50), &headers(51));
}

#[test]
fn ten_keys_of_global_info() {
    let info = |n: usize| map("global_info", (0..n).map(|i| format!("k{i}: a")));
    boundary("info-limits", &info(10), &info(11));
}

#[test]
fn sixty_four_symbols_in_a_key_and_1024_in_a_value() {
    // Symbols are Unicode scalar values: `é` is one, whatever its bytes.
    let info = |key: usize, value: usize| format!("global_info: {{ {}: {} }}\n", "é".repeat(key), "é".repeat(value));
    boundary("info-limits", &info(64, 1), &info(65, 1));
    boundary("info-limits", &info(1, 1024), &info(1, 1025));
}

#[test]
fn symbols_that_are_two_units_elsewhere_are_a_warning() {
    let said = said(&format!("global_info: {{ k: {} }}\n", "😀".repeat(513)));
    assert!(said.contains("warn[info-limits]") && said.contains("1026 UTF-16 units"), "{said}");
}

#[test]
fn four_thousand_bytes_of_global_info_in_total() {
    let info = |last: usize| {
        let entry = |i: usize, length: usize| format!("k{i}: {}", "v".repeat(length));
        map("global_info", [entry(1, 1024), entry(2, 1024), entry(3, 1024), entry(4, last)].into_iter())
    };
    // Four keys of two bytes, three values of 1,024 bytes, and the rest.
    assert_eq!(said(&info(4_000 - 8 - 3 * 1_024)), "");
    assert!(said(&info(4_001 - 8 - 3 * 1_024)).contains("warn[info-limits]"));
}

#[test]
fn names_of_substitutions() {
    let named = |name: &str| format!("subject: \"{{{{a}}}}\"\nglobal_replacements: {{ a: x, \"{name}\": x }}\n");
    for bad in ["1a", "_a", "-a", "a b", "é", "a.b", ""] {
        assert!(said(&named(bad)).contains("error[replacement-name]"), "{bad}");
    }
    for good in ["b", "B9", "first_name", "first-name"] {
        assert!(!said(&named(good)).contains("replacement-name"), "{good}");
    }
}

#[test]
fn two_hundred_and_fifty_five_bytes_of_a_name_and_of_an_attachment_name() {
    let named = |length: usize| {
        let project = Project::new();
        project
            .write("templates/a/manifest.yaml", format!("name: {}\nsender_email: a@example.com\n", "n".repeat(length)));
        project.write("templates/a/body.txt", "Hello\n");
        project.run(["validate", "--format", "concise"]).stdout
    };
    assert_eq!(named(255), "");
    assert!(named(256).contains("error[name-too-long]"));
    let attached = |length: usize| {
        let project = Project::new();
        let name = format!("{}.pdf", "n".repeat(length - 4));
        let manifest = format!("{HEAD}attachments:\n  - path: a.pdf\n    name: {name}\n");
        project.write("templates/a/manifest.yaml", manifest);
        project.write("templates/a/a.pdf", "%PDF-1.4 x");
        project.write("templates/a/body.txt", "Hello\n");
        project.run(["validate", "--format", "concise"]).stdout
    };
    assert_eq!(attached(255), "");
    assert!(attached(256).contains("error[attachment-name]"));
}

#[test]
fn an_address_of_320_bytes() {
    // The parts have limits of their own, 64 and 255 bytes: 64 + 1 + 255 is the longest address there is.
    let address = |domain: usize| {
        let labels = format!("{}.{}.{}.", "d".repeat(63), "d".repeat(63), "d".repeat(63));
        format!("reply_to: {}@{labels}{}\n", "l".repeat(64), "d".repeat(domain - labels.len()))
    };
    assert_eq!(said(&address(254)), "");
    assert!(said(&address(256)).contains("error[bad-address]"));
}

#[test]
fn seven_megabytes_of_an_attachment() {
    let attached = |bytes: usize| {
        let project = Project::new();
        project.write("templates/a/manifest.yaml", format!("{HEAD}attachments:\n  - path: a.bin\n"));
        project.write("templates/a/a.bin", vec![7; bytes]);
        project.write("templates/a/body.txt", "Hello\n");
        project.run(["validate", "--format", "concise"]).stdout
    };
    assert_eq!(attached(7_340_031), "");
    assert!(attached(7_340_032).contains("error[attachment-too-large]"));
    assert!(attached(0).contains("error[attachment-too-large]"));
}

#[test]
fn ten_megabytes_of_a_request_as_serialized() {
    let project = Project::new();
    project.write("templates/a/manifest.yaml", HEAD);
    let with = |body: usize| {
        project.write("templates/a/body.txt", "x".repeat(body));
        project.run(["validate", "--format", "json"]).json()["findings"].clone()
    };
    project.write("templates/a/body.txt", "x".repeat(11_000_000));
    // How much of a request is not the body: measured once, with a body that is as large as it may be read.
    let most = 10_485_760;
    let finding = with(most - 1)[0].clone();
    let overhead = finding["actual"].as_str().unwrap().parse::<usize>().unwrap() - (most - 1);
    assert!((20..400).contains(&overhead), "{overhead}");
    let severity = |findings: &serde_json::Value| findings[0]["severity"].as_str().map(str::to_owned);
    assert_eq!(severity(&with(most - overhead)).as_deref(), Some("warn"));
    assert_eq!(severity(&with(most - overhead + 1)).as_deref(), Some("error"));
    assert_eq!(severity(&with(10_000_000 - overhead)), None);
    assert_eq!(severity(&with(10_000_001 - overhead)).as_deref(), Some("warn"));
}

#[test]
fn a_manifest_of_256_kib_and_16_levels() {
    let sized = |bytes: usize| {
        let project = Project::new();
        let comment = bytes - HEAD.len() - 2;
        project.write("templates/a/manifest.yaml", format!("{HEAD}#{}\n", "c".repeat(comment)));
        project.write("templates/a/body.txt", "Hello\n");
        project.run(["validate", "--format", "concise"]).stdout
    };
    assert_eq!(sized(262_144), "");
    assert!(sized(262_145).contains("error[manifest-syntax]"));
    let nested = |depth: usize| said(&format!("subject: {}{}\n", "[".repeat(depth), "]".repeat(depth)));
    // The manifest itself is the first level.
    assert!(nested(15).contains("error[wrong-type]"));
    assert!(nested(16).contains("error[manifest-syntax]"));
}

#[test]
fn what_gmail_clips() {
    let sized = |bytes: usize| {
        let project = Project::new().template("a");
        let head = "<!doctype html><html lang=en><head><meta charset=utf-8><title>T</title></head><body><h1>H</h1><p>";
        let tail = "</p></body></html>";
        project.write("templates/a/body.html", format!("{head}{}{tail}", "x".repeat(bytes - head.len() - tail.len())));
        project.run(["validate", "--format", "concise"]).exits(0).stdout
    };
    assert_eq!(sized(81_920), "");
    assert!(sized(81_921).contains("info[gmail-clip]"));
    assert!(sized(104_448).contains("info[gmail-clip]"));
    assert!(sized(104_449).contains("warn[gmail-clip]"));
}
