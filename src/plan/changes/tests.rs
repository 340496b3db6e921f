use std::time::Duration;

use super::*;
use crate::desired::Digest;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(1)
}

fn content(html: &str) -> Content {
    Content {
        name: "Welcome".to_owned(),
        subject: Some("Hello".to_owned()),
        html: Some(html.to_owned()),
        check_links: true,
        check_read: true,
        ..Content::default()
    }
}

#[test]
fn the_same_content_has_no_changes() {
    assert!(changes(Some(&content("a")), &content("a"), soon()).is_empty());
}

#[test]
fn fields_and_map_keys_are_compared_one_by_one() {
    let old = Content { headers: [("X-A".into(), "1".into()), ("X-B".into(), "2".into())].into(), ..content("a") };
    let new = Content {
        headers: [("X-B".into(), "3".into()), ("X-C".into(), "4".into())].into(),
        subject: None,
        check_read: false,
        ..content("a")
    };
    let changes = changes(Some(&old), &new, soon());
    let rows: Vec<(&str, Option<&str>, Option<&str>)> = changes
        .fields
        .iter()
        .map(|change| (change.field.as_str(), change.old.as_deref(), change.new.as_deref()))
        .collect();
    assert_eq!(
        rows,
        [
            ("subject", Some("Hello"), None),
            ("check_read", Some("on"), Some("off")),
            ("headers.X-A", Some("1"), None),
            ("headers.X-B", Some("2"), Some("3")),
            ("headers.X-C", None, Some("4")),
        ]
    );
}

#[test]
fn a_new_template_shows_what_it_has_and_no_defaults() {
    let changes = changes(None, &content("<p>Hi</p>"), soon());
    let names: Vec<&str> = changes.fields.iter().map(|change| change.field.as_str()).collect();
    assert_eq!(names, ["name", "subject"]);
    assert_eq!(changes.parts[0].words, [Sentence(vec![Segment::New("Hi".to_owned())])]);
}

#[test]
fn a_file_is_compared_by_its_digest() {
    let file = |text: &str| ContentFile {
        name: "logo.png".to_owned(),
        mime: "image/png".to_owned(),
        bytes: text.len() as u64,
        digest: Digest::of(text.as_bytes()),
    };
    let with = |file| Content { inline_attachments: vec![file], ..content("a") };
    let changes = changes(Some(&with(file("one"))), &with(file("three")), soon());
    assert_eq!(changes.files.len(), 1);
    assert!(changes.files[0].inline);
    assert_eq!(changes.files[0].new.as_ref().unwrap().bytes, 5);
}

#[test]
fn hostile_input_is_compared_in_bounded_time() {
    // Lines and words that share nothing in order are the worst case of the diff.
    let shuffled = |seed: usize| -> String {
        (0..60_000_usize).map(|n| format!("<p>w{} x{}</p>\n", (n * seed) % 59_999, (n * seed) % 31)).collect()
    };
    let deep = "<div>".repeat(200_000);
    let began = Instant::now();
    let one = changes(Some(&content(&shuffled(7))), &content(&shuffled(11)), soon());
    assert!(!one.parts[0].source.is_empty());
    let _ = changes(Some(&content(&deep)), &content(&format!("{deep}x")), soon());
    let huge = "x".repeat(PART_BYTES + 1);
    assert!(changes(Some(&content("a")), &content(&huge), soon()).parts[0].not_compared);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}
