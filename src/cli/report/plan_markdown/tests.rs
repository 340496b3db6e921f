use std::collections::BTreeMap;

use super::*;
use crate::desired::{Content, Desired, Digest, Key, Row};
use crate::state::{Account, State};

const HOSTILE: &str =
    "</details></code><script>alert(1)</script> ``` @everyone #1 | x | ![i](http://e) **b** `c`\n\n# heading";

/// A plan that creates templates with this many bytes of source each.
fn planned(sizes: &[(&str, usize)]) -> (Plan, BTreeMap<Key, Detail>) {
    let rows = sizes.iter().map(|(name, _)| {
        let row = Row { name: HOSTILE.to_owned(), digest: Digest::of(name.as_bytes()), adopt: None, moved_from: None };
        (Key::new(*name).unwrap(), row)
    });
    let desired = Desired { templates: rows.collect() };
    let present = desired.templates.keys().cloned().collect();
    let account = Account { base_url: "sandbox".to_owned(), user_id: 1, project_id: None };
    let state = State::empty(uuid::Uuid::nil(), account);
    let options = crate::plan::Options { environment: "production", reassert: false, selects: &|_| true };
    let plan = crate::plan::plan(&desired, &present, &state, options);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
    let details = sizes.iter().map(|(name, size)| {
        let html = format!("<p>{HOSTILE}</p>\n{}", "<!-- a line of source that nobody sees -->\n".repeat(size / 43));
        let content = Content { subject: Some(HOSTILE.to_owned()), html: Some(html), ..Content::default() };
        (Key::new(*name).unwrap(), Detail::New(crate::plan::changes(None, &content, deadline)))
    });
    (plan, details.collect())
}

fn render(plan: &Plan, details: &BTreeMap<Key, Detail>, layers: Layers, max: usize, now: Timestamp) -> String {
    let mut comment = Comment::new(plan, layers, max, now);
    let steps = plan_text::in_order(plan);
    let listed = steps.iter().take_while(|step| comment.add(step, details.get(&step.key).cloned())).count();
    assert!(listed == steps.len() || !comment.add(steps[listed], None), "a full comment takes no more");
    comment.finish()
}

fn rendered(sizes: &[(&str, usize)], max: usize) -> String {
    let (plan, details) = planned(sizes);
    render(&plan, &details, Layers::All, max, Timestamp::UNIX_EPOCH)
}

#[test]
fn hostile_content_does_not_break_out() {
    let text = rendered(&[("welcome", 1)], 60_000);
    let mut fence = None;
    let (mut opened, mut closed) = (0, 0);
    for line in text.lines() {
        match fence {
            Some(length) => {
                let run = line.bytes().take_while(|b| *b == b'`').count();
                if run >= length && line.len() == run {
                    fence = None;
                }
                continue;
            }
            None if line.starts_with("```") => fence = Some(line.bytes().take_while(|b| *b == b'`').count()),
            None => {}
        }
        opened += line.matches("<details>").count();
        closed += line.matches("</details>").count();
        assert!(!line.contains("<script") && !line.contains("@everyone") && !line.contains("](http"), "{line}");
        assert!(!line.starts_with("# "), "{line}");
    }
    assert_eq!((fence, opened, closed), (None, 1, 1), "{text}");
}

#[test]
fn it_degrades_from_diffs_to_parts_to_counts_and_says_so() {
    let sizes = [("small", 100), ("large", 50_000), ("medium", 5_000)];
    let all = rendered(&sizes, 200_000);
    assert!(!all.contains("Left out"), "{all}");
    let (plan, details) = planned(&sizes);
    let mut stages = std::collections::BTreeSet::new();
    for max in (500..60_000).step_by(100) {
        let text = render(&plan, &details, Layers::All, max, Timestamp::UNIX_EPOCH);
        assert!(text.len() <= max, "{} of {max} bytes: {text}", text.len());
        assert!(text.contains("3 to create") && text.ends_with('\n'), "{text}");
        let said = ["the source of 1 ", "the words and the source of ", "the details of ", "of the table"];
        stages.extend(said.into_iter().filter(|said| text.contains(said)));
    }
    assert_eq!(stages.len(), 4, "{stages:?}");
    let counts = rendered(&sizes, 700);
    assert!(counts.contains("3 to create") && counts.contains("3 rows of the table, and all details"), "{counts}");
}

#[test]
fn thousands_of_hints_and_errors_stay_within_the_limit() {
    let (mut plan, details) = planned(&[("new", 100)]);
    let key = |name: String| Key::new(name).unwrap();
    let step = plan.steps[0].clone();
    let Action::Create { to } = step.action else { panic!("{step:?}") };
    let id = crate::desired::Id::new("an-id").unwrap();
    for n in 0..2_000 {
        let action = Action::Retire { id: id.clone(), digest: Some(to) };
        plan.steps.push(Step { key: key(format!("gone/{n}")), action, ..step.clone() });
    }
    plan.environment = "e".repeat(64);
    for max in [500, 1_000, 5_000, 60_000] {
        let text = render(&plan, &details, Layers::All, max, Timestamp::UNIX_EPOCH);
        assert!(text.len() <= max && text.contains("2,000 to retire"), "{} of {max} bytes: {text}", text.len());
    }
    for n in 0..2_000 {
        plan.conflicts.push(Conflict::IdTaken {
            key: key(format!("new/{n}")),
            id: id.clone(),
            holder: key("h".repeat(200)),
        });
    }
    for max in [500, 1_000, 5_000, 60_000] {
        let text = render(&plan, &details, Layers::All, max, Timestamp::UNIX_EPOCH);
        assert!(text.len() <= max, "{} of {max} bytes: {text}", text.len());
        assert!(max < 1_000 || text.contains(" errors"), "{text}");
    }
}
