//! An html body, its CSS, a plain-text body and an AMP body from a stranger: every rule ends, and every place and every edit is within its
//! file and on the boundaries of its characters.
#![no_main]

use std::sync::Arc;

use letterpress::check::{self, Levels, Rules};
use letterpress::diagnostic::Profile;
use letterpress::source::{Config, Folder, Listed, Manifest, Text, Touched};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // Three files in one input, divided by a byte that no UTF-8 has.
    let mut parts = data.splitn(3, |byte| *byte == 0xff);
    let mut raw = Vec::new();
    let mut next = |name: &str| {
        let path = format!("templates/a/{name}");
        let bytes = parts.next()?.to_vec();
        raw.push((path.clone(), bytes.clone()));
        Text::new(path, bytes).ok()
    };
    let (html, plaintext, amp) = (next("body.html"), next("body.txt"), next("body.amp.html"));
    // A body that is no text is there nevertheless.
    let mut names: Vec<String> =
        raw.iter().filter_map(|(path, _)| path.strip_prefix("templates/a/")).map(str::to_owned).collect();
    names.extend(["logo.png".to_owned(), "manifest.yaml".to_owned()]);
    let empty = |path: &str| Text::empty(path.to_owned());
    let folder = Folder {
        key: "a".parse().expect("a key"),
        path: "templates/a".to_owned(),
        config: Arc::new(empty("letterpress.toml")),
        manifest_text: empty("templates/a/manifest.yaml"),
        parsed: true,
        manifest: Manifest::default(),
        html,
        plaintext,
        amp,
        attachments: Vec::new(),
        inline_attachments: Vec::new(),
        listed: Listed { names, regular: true },
        problems: Vec::new(),
        links: Vec::new(),
        touched: Touched::default(),
    };
    let config = Config::read(empty("letterpress.toml")).expect("an empty letterpress.toml is good");
    let (levels, _) = Levels::new(Profile::Strict, &config);
    let verdict = check::folder(folder, &Rules { levels: &levels, environment: "local", measure: |_, _| None });
    let whole = |path: &str, bytes: &std::ops::Range<usize>| {
        let Some((_, raw)) = raw.iter().find(|(known, _)| known == path) else { return true };
        std::str::from_utf8(raw).is_ok_and(|text| text.get(bytes.clone()).is_some())
    };
    for finding in verdict.findings {
        assert!(whole(&finding.location.path, &finding.location.bytes), "{finding:?}");
        for edit in &finding.edits {
            assert!(whole(&edit.path, &edit.bytes), "{finding:?}");
        }
    }
});
