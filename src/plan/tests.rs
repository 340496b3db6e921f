use std::collections::BTreeMap;

use super::*;
use crate::state::Op;

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn id(text: &str) -> Id {
    Id::new(text).unwrap()
}

fn row(content: &str) -> Row {
    Row { name: content.to_owned(), digest: Digest::of(content.as_bytes()), adopt: None, moved_from: None }
}

fn desired(rows: &[(&str, Row)]) -> Desired {
    Desired { templates: rows.iter().map(|(name, row)| (key(name), row.clone())).collect() }
}

fn state(entries: &[(&str, Entry)]) -> State {
    let record = |entry: &Entry| Record { entry: entry.clone(), unsettled: None, applied: None };
    State {
        serial: 7,
        epoch: 1,
        records: entries.iter().map(|(name, entry)| (key(name), record(entry))).collect::<BTreeMap<_, _>>(),
        ..State::empty(Uuid::nil(), Account { base_url: "sandbox".to_owned(), user_id: 1, project_id: None })
    }
}

fn live(name: &str, content: &str) -> Entry {
    Entry::Live { id: id(name), digest: Digest::of(content.as_bytes()) }
}

fn planned(desired: &Desired, state: &State) -> Plan {
    let present = desired.templates.keys().cloned().collect();
    plan(desired, &present, state, Options { environment: "local", reassert: false, selects: &|_| true })
}

fn words(plan: &Plan) -> Vec<(&str, &str)> {
    plan.steps.iter().map(|step| (step.key.as_str(), step.action.word())).collect()
}

#[test]
fn what_is_live_and_the_same_is_left_alone() {
    let plan = planned(&desired(&[("a", row("1"))]), &state(&[("a", live("i", "1"))]));
    assert!(plan.is_empty());
    assert_eq!(plan.unchanged, 1);
}

#[test]
fn each_entry_state_has_its_step() {
    let desired = desired(&[
        ("a", row("1")),
        ("b", row("2")),
        ("c", row("3")),
        ("d", row("4")),
        ("e", row("5")),
        ("f", row("6")),
    ]);
    let op = Op(Uuid::nil());
    let state = state(&[
        ("b", live("b", "old")),
        ("c", Entry::Reserved { id: id("c") }),
        ("d", Entry::Updating { id: id("d"), from: None, to: Digest::of(b"4"), op }),
        ("e", Entry::Retired { id: id("e"), digest: Some(Digest::of(b"5")) }),
        ("f", Entry::Reserving { op }),
        ("g", live("g", "7")),
        ("h", Entry::Retired { id: id("h"), digest: None }),
    ]);
    let plan = planned(&desired, &state);
    let expected = [
        ("a", "create"),
        ("b", "update"),
        ("c", "update"),
        ("d", "update"),
        ("e", "return"),
        ("f", "create"),
        ("g", "retire"),
    ];
    assert_eq!(words(&plan), expected);
    assert_eq!(plan.used, 8, "six ids and two creates");
}

#[test]
fn a_folder_that_does_not_parse_is_not_retired() {
    let state = state(&[("a", live("i", "1"))]);
    let present = BTreeSet::from([key("a")]);
    let plan = plan(
        &Desired::default(),
        &present,
        &state,
        Options { environment: "local", reassert: false, selects: &|_| true },
    );
    assert!(plan.steps.is_empty());
}

#[test]
fn a_move_keeps_the_id_and_sends_nothing_when_the_content_is_the_same() {
    let mut moved = row("1");
    moved.moved_from = Some(key("old"));
    let held = state(&[("old", live("i", "1"))]);
    let same = planned(&desired(&[("new", moved.clone())]), &held);
    assert_eq!(words(&same), [("new", "move")]);

    moved.digest = Digest::of(b"2");
    let changed = planned(&desired(&[("new", moved.clone())]), &held);
    assert_eq!(words(&changed), [("new", "update")]);
    assert_eq!(changed.steps[0].action.id(), Some(&id("i")));

    let both = planned(&desired(&[("new", moved), ("old", row("1"))]), &held);
    assert_eq!(both.conflicts, [Conflict::SourcePresent { key: key("new"), from: key("old") }]);
}

#[test]
fn an_adopted_id_must_be_free() {
    let mut adopting = row("1");
    adopting.adopt = Some(id("i"));
    let free = planned(&desired(&[("a", adopting.clone())]), &state(&[]));
    assert!(matches!(free.steps[0].action, Action::Update { why: Why::Adopted, .. }));
    let twice = planned(&desired(&[("a", adopting.clone()), ("b", adopting.clone())]), &state(&[]));
    assert!(matches!(twice.conflicts[..], [Conflict::IdClaimed { .. }]));
    let mut moving = adopting.clone();
    moving.moved_from = Some(key("old"));
    let moved = planned(&desired(&[("a", moving)]), &state(&[("old", live("other", "1"))]));
    assert!(matches!(moved.conflicts[..], [Conflict::IdDiffers { .. }]));
    let taken = planned(&desired(&[("a", adopting.clone()), ("b", row("2"))]), &state(&[("b", live("i", "2"))]));
    assert!(matches!(taken.conflicts[..], [Conflict::IdTaken { .. }]));
    let differs = planned(&desired(&[("a", adopting)]), &state(&[("a", live("other", "1"))]));
    assert!(matches!(differs.conflicts[..], [Conflict::IdDiffers { .. }]));
}

#[test]
fn the_limit_of_templates_holds_on_both_sides() {
    let entries: Vec<(String, Entry)> = (0..limits::TEMPLATES - 1)
        .map(|n| (format!("k{n}"), Entry::Retired { id: id(&format!("i{n}")), digest: None }))
        .collect();
    let entries: Vec<(&str, Entry)> = entries.iter().map(|(name, entry)| (name.as_str(), entry.clone())).collect();
    let state = state(&entries);
    assert!(planned(&desired(&[("a", row("1"))]), &state).conflicts.is_empty());
    let over = planned(&desired(&[("a", row("1")), ("b", row("2"))]), &state);
    assert_eq!(over.conflicts, [Conflict::TooManyTemplates { used: 10_001, allowed: 10_000 }]);
}

#[test]
fn a_plan_file_holds_until_a_reviewed_step_changes() {
    let state = state(&[("b", live("b", "old"))]);
    let reviewed = planned(&desired(&[("a", row("1")), ("b", row("2"))]), &state);
    let mut bytes = Vec::new();
    PlanFile::new(reviewed.clone()).write(&mut bytes).unwrap();
    let file = PlanFile::read(&bytes).unwrap();
    assert_eq!(file.still_holds(&reviewed, &|_| true).unwrap(), reviewed.steps);

    let more = planned(&desired(&[("a", row("1")), ("b", row("2")), ("c", row("3"))]), &state);
    assert_eq!(file.still_holds(&more, &|_| true).unwrap(), reviewed.steps, "what was not reviewed is left out");

    let other = planned(&desired(&[("a", row("changed")), ("b", row("2"))]), &state);
    assert!(
        matches!(&file.still_holds(&other, &|_| true).unwrap_err()[..], [Stale::Step { key: stale, .. }] if *stale == key("a"))
    );
}

#[test]
fn a_tampered_plan_file_is_refused() {
    let reviewed = planned(&desired(&[("a", row("1"))]), &state(&[]));
    let mut bytes = Vec::new();
    PlanFile::new(reviewed).write(&mut bytes).unwrap();
    let json = String::from_utf8(bytes).unwrap();
    let other = json.replace(&Digest::of(b"1").to_string(), &Digest::of(b"2").to_string());
    assert!(matches!(PlanFile::read(other.as_bytes()), Err(PlanFileError::Tampered)));
    assert!(matches!(PlanFile::read(br#"{"format":2}"#), Err(PlanFileError::TooNew { found: 2 })));
}
