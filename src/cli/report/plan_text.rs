//! A plan as a person reads it: grouped, aligned, only what changes, one summary line.

use std::fmt::{self, Write as _};

use jiff::Timestamp;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::plan_detail::{self, Layers, Layout};

use crate::cli::terminal::{BOLD, CYAN, DIM, GREEN, RED, YELLOW};
use crate::limits;
use crate::plan::{Action, Conflict, Detail, PartChange, Plan, Step, Why};
use crate::state::Stamp;
use crate::untrusted::Untrusted;

/// Columns that a key gets at most before its row goes out of line.
const KEY_COLUMNS: usize = 44;

/// Renders a plan without what changes inside the templates; `now` is for "two hours ago".
#[must_use]
pub fn render(plan: &Plan, now: Timestamp) -> String {
    let rows = Rows::new(plan, Layout { layers: Layers::Words, width: None });
    let mut out = head(plan, now);
    out.extend(in_order(plan).into_iter().map(|step| rows.one(step, None)));
    out + &tail(plan)
}

/// What stands above the rows; `now` is for "two hours ago".
#[must_use]
pub fn head(plan: &Plan, now: Timestamp) -> String {
    let environment = Untrusted(&plan.environment).line();
    if plan.is_empty() {
        let unchanged = count(plan.unchanged, "template");
        let last = last_apply(plan.last_apply.as_ref(), now);
        let left_out = left_out(plan);
        return format!(
            "{GREEN}Nothing changes{GREEN:#} in `{environment}`: {unchanged} as last applied{last}{left_out}.\n"
        );
    }
    if plan.steps.is_empty() { String::new() } else { format!("{BOLD}{environment}{BOLD:#}\n\n") }
}

/// How the rows of a plan are laid out.
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    layout: Layout,
    /// Columns of the keys.
    keys: usize,
}

impl Rows {
    /// Measures the keys.
    #[must_use]
    pub fn new(plan: &Plan, layout: Layout) -> Self {
        let keys = plan.steps.iter().map(|step| line(step.key.as_str()).width()).max().unwrap_or(0).min(KEY_COLUMNS);
        Self { layout, keys }
    }

    /// One step, with what changes inside the template below it.
    #[must_use]
    pub fn one(&self, step: &Step, detail: Option<&Detail>) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut out, step);
        if let Some(detail) = detail {
            let _ = plan_detail::write(&mut out, detail, self.layout);
        }
        out
    }

    fn write(&self, out: &mut String, step: &Step) -> fmt::Result {
        let (sign, style) = sign(&step.action);
        let key = line(step.key.as_str());
        let gap = " ".repeat(self.keys.saturating_sub(key.width()));
        let name = step.name.as_deref().map(line).unwrap_or_default();
        let note = note(&step.action);
        write!(out, "  {style}{sign} {:<6}{style:#}  {key}{gap}", word(&step.action))?;
        let before = 12 + self.keys.max(key.width());
        let together = before + name.width() + note.width() + 3;
        let (name, below) = match self.layout.width {
            // What happens must not be cut, nor break in the middle of a word.
            Some(columns) if !note.is_empty() && together > columns => (fit(&name, self.layout.width, before), true),
            width => (fit(&name, width, before + if note.is_empty() { 0 } else { note.width() + 3 }), false),
        };
        match (name.is_empty(), note.is_empty(), below) {
            (_, false, true) => writeln!(out, "  {name}\n      {DIM}{note}{DIM:#}"),
            (false, false, false) => writeln!(out, "  {name} {DIM}({note}){DIM:#}"),
            (false, true, _) => writeln!(out, "  {name}"),
            (true, false, false) => writeln!(out, "  {DIM}{note}{DIM:#}"),
            (true, true, _) => writeln!(out),
        }
    }
}

/// What stands below the rows.
#[must_use]
pub fn tail(plan: &Plan) -> String {
    let mut out = String::new();
    if !plan.is_empty() {
        // Writing to a string cannot fail.
        let _ = end(&mut out, plan);
    }
    out
}

fn end(out: &mut String, plan: &Plan) -> fmt::Result {
    for conflict in &plan.conflicts {
        let (what, help) = explain(conflict);
        writeln!(out, "  {RED}! error{RED:#}   {}", Untrusted(&what).line())?;
        writeln!(out, "            {CYAN}help{CYAN:#}: {}", Untrusted(&help).line())?;
    }
    writeln!(
        out,
        "\n{BOLD}Plan{BOLD:#}: {}; {} unchanged{}.",
        totals(plan),
        thousands(plan.unchanged),
        left_out(plan)
    )?;
    let creates = plan.steps.iter().filter(|step| matches!(step.action, Action::Create { .. })).count();
    if creates > 0 {
        let used = format!("{} of {} used afterwards", thousands(plan.used), thousands(limits::TEMPLATES));
        writeln!(out, "{DIM}What is created cannot be deleted through the service's interface; {used}.{DIM:#}")?;
    }
    for (from, to) in looks_moved(plan) {
        let (from, to) = (line(from), line(to));
        writeln!(
            out,
            "{CYAN}hint{CYAN:#}: `{from}` has gone and `{to}` has the same content; to keep the id, write `moved_from: {from}` into its manifest."
        )?;
    }
    Ok(())
}

/// Every word of [`word`], in the order of a summary.
pub const WORDS: [&str; 8] = ["create", "adopt", "fill", "update", "resend", "return", "move", "retire"];

/// What happens to a template, in one word for people; finer than the action, since each has other consequences.
#[must_use]
pub fn word(action: &Action) -> &'static str {
    match action {
        Action::Update { why: Why::Adopted, .. } => "adopt",
        Action::Update { why: Why::Reserved, .. } => "fill",
        Action::Update { why: Why::Dirty | Why::Reasserted, .. } => "resend",
        Action::Update { why: Why::Returning, .. } => "return",
        action => action.word(),
    }
}

/// `1 to create, 2 to update`.
#[must_use]
pub fn totals(plan: &Plan) -> String {
    let parts: Vec<String> = WORDS
        .iter()
        .filter_map(|one| {
            let n = plan.steps.iter().filter(|step| word(&step.action) == *one).count();
            (n > 0).then(|| format!("{} to {one}", thousands(n)))
        })
        .collect();
    if parts.is_empty() { "nothing to do".to_owned() } else { parts.join(", ") }
}

/// A conflict as a sentence, and the way out.
#[must_use]
pub fn explain(conflict: &Conflict) -> (String, String) {
    match conflict {
        Conflict::IdTaken { key, id, holder } => (
            format!("`{key}` adopts the id {id}, which `{holder}` holds"),
            format!(
                "to move the id, use `moved_from: {holder}` in the manifest or `letterpress state mv {holder} {key}`"
            ),
        ),
        Conflict::IdClaimed { key, id, other } => (
            format!("`{key}` adopts the id {id}, and so does `{other}`"),
            "an id belongs to one key only: take it out of `ids` in one of the manifests".to_owned(),
        ),
        Conflict::IdDiffers { key, id, held } => (
            format!("`{key}` adopts the id {id}, but the state has {held} for it"),
            "take `ids` out of the manifest, or let the state forget the old id with `letterpress state rm`".to_owned(),
        ),
        Conflict::SourcePresent { key, from } => (
            format!("`{key}` says `moved_from: {from}`, but the folder `{from}` is still there"),
            format!("remove the folder `{from}`, or take `moved_from` out of the manifest"),
        ),
        Conflict::SourceClaimed { key, from } => (
            format!("`{key}` says `moved_from: {from}`, and so does another template"),
            "an id can go to one key only: take `moved_from` out of one of the manifests".to_owned(),
        ),
        Conflict::TooManyTemplates { used, allowed } => (
            format!("too-many-templates: the service would hold {used} templates, and it allows {allowed}"),
            "retired templates count too; plan fewer new ones, or ask the service's support for more".to_owned(),
        ),
    }
}

/// A folder that vanished and one that appeared with the same content.
#[must_use]
pub fn looks_moved(plan: &Plan) -> Vec<(&str, &str)> {
    let retired = plan.steps.iter().filter_map(|step| match &step.action {
        Action::Retire { digest: Some(digest), .. } => Some((digest, step.key.as_str())),
        _ => None,
    });
    retired
        .filter_map(|(gone, from)| {
            let new = |step: &&Step| matches!(&step.action, Action::Create { to } if to == gone);
            plan.steps.iter().find(new).map(|step| (from, step.key.as_str()))
        })
        .collect()
}

/// The steps as a person reads them: what cannot be undone first.
#[must_use]
pub fn in_order(plan: &Plan) -> Vec<&Step> {
    let mut steps: Vec<&Step> = plan.steps.iter().collect();
    steps.sort_by_key(|step| rank(&step.action));
    steps
}

fn rank(action: &Action) -> u8 {
    match action {
        Action::Create { .. } => 0,
        Action::Update { .. } => 1,
        Action::Return { .. } => 2,
        Action::Move { .. } => 3,
        Action::Retire { .. } => 4,
    }
}

/// The sign before a step, and its colour.
#[must_use]
pub fn sign(action: &Action) -> (char, anstyle::Style) {
    match action {
        Action::Create { .. } => ('+', GREEN),
        Action::Update { .. } => ('~', YELLOW),
        Action::Return { .. } => ('<', GREEN),
        Action::Move { .. } => ('>', CYAN),
        Action::Retire { .. } => ('-', RED),
    }
}

/// What there is to say about a step besides its word.
#[must_use]
pub fn note(action: &Action) -> String {
    match action {
        Action::Create { .. } => String::new(),
        Action::Update { why, moved_from, .. } => {
            let why = reason(*why);
            match (moved_from, why.is_empty()) {
                (Some(from), true) => format!("moved from {}", line(from.as_str())),
                (Some(from), false) => format!("moved from {}; {why}", line(from.as_str())),
                (None, _) => why.to_owned(),
            }
        }
        Action::Move { from, .. } => format!("from {}; the id stays, nothing is sent", line(from.as_str())),
        Action::Retire { .. } => "the folder is gone; the id is kept, nothing is sent".to_owned(),
        Action::Return { .. } => "the folder is back as it was; same id, nothing is sent".to_owned(),
    }
}

/// Why content is sent, where it is not simply that it changed.
#[must_use]
pub fn reason(why: Why) -> &'static str {
    match why {
        Why::Changed => "",
        Why::Returning => "the folder is back with other content; same id",
        Why::Dirty => "sent again: what the service has is not known",
        Why::Reserved => "its id is reserved and still empty",
        Why::Adopted => "adopted by `ids`; what the service holds is replaced",
        Why::Reasserted => "unchanged, sent again as asked",
    }
}

fn left_out(plan: &Plan) -> String {
    if plan.left_out == 0 { String::new() } else { format!(", {} left out", plan.left_out) }
}

fn last_apply(stamp: Option<&Stamp>, now: Timestamp) -> String {
    let Some(stamp) = stamp else { return String::new() };
    format!(" ({} by {})", ago(stamp.at, now), Untrusted(&stamp.who).line())
}

/// `3 minutes ago`, in the largest unit that fits.
#[must_use]
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(at).as_secs().max(0);
    let (n, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{} ago", count(usize::try_from(n).unwrap_or(usize::MAX), unit))
}

/// `3.2 kB → 3.3 kB`: how large a body was and is.
#[must_use]
pub fn sizes(change: &PartChange) -> String {
    let size = |size: usize| bytes(size as u64);
    match (change.old_bytes.map(size), change.new_bytes.map(size)) {
        (Some(old), Some(new)) if old == new => new,
        (Some(old), Some(new)) => format!("{old} → {new}"),
        (Some(old), None) => format!("removed, was {old}"),
        (None, new) => format!("new, {}", new.unwrap_or_default()),
    }
}

/// `1 template`, `2 templates`.
#[must_use]
pub fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{} {noun}s", thousands(n)) }
}

/// `12.3 kB`, in thousands.
#[must_use]
pub fn bytes(n: u64) -> String {
    match n {
        0..1_000 => format!("{n} B"),
        1_000..1_000_000 => format!("{}.{} kB", n / 1_000, n % 1_000 / 100),
        _ => format!("{}.{} MB", n / 1_000_000, n % 1_000_000 / 100_000),
    }
}

/// A text that has only what is left of a line; what is cut off shows as `…`.
fn fit(text: &str, width: Option<usize>, taken: usize) -> String {
    let Some(room) = width.map(|width| width.saturating_sub(taken + 1).max(8)) else { return text.to_owned() };
    if text.width() <= room {
        return text.to_owned();
    }
    let mut columns = 1;
    let fits = |c: &char| {
        columns += c.width().unwrap_or(0);
        columns <= room
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{kept}…")
}

/// `10,000`.
#[must_use]
pub fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn line(text: &str) -> String {
    Untrusted(text).line().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desired::{Digest, Id, Key};

    #[test]
    fn what_happens_is_never_cut() {
        let id = Id::new("i").unwrap();
        let action = Action::Move { id, from: Key::new("team-invite").unwrap(), digest: Digest::of(b"") };
        let step = Step { key: Key::new("invite").unwrap(), name: Some("Team invite".to_owned()), action };
        let plan = Plan {
            environment: "local".to_owned(),
            lineage: uuid::Uuid::nil(),
            account: crate::state::Account { base_url: "sandbox".to_owned(), user_id: 1, project_id: None },
            serial: 1,
            steps: vec![step],
            conflicts: Vec::new(),
            unchanged: 12_345,
            left_out: 0,
            used: 1,
            last_apply: None,
        };
        let shown = |columns| {
            let layout = Layout { layers: Layers::Words, width: Some(columns) };
            let text = Rows::new(&plan, layout).one(&plan.steps[0], None) + &tail(&plan);
            anstream::adapter::strip_str(&text).to_string()
        };
        let note = "from team-invite; the id stays, nothing is sent";
        assert!(shown(200).contains(&format!("> move    invite  Team invite ({note})\n")), "{}", shown(200));
        let narrow = shown(60);
        assert!(narrow.contains(&format!("> move    invite  Team invite\n      {note}\n")), "{narrow}");
        assert!(narrow.lines().all(|line| line.width() <= 60), "{narrow}");
        assert!(narrow.contains("12,345 unchanged"));
    }

    #[test]
    fn numbers_and_times_read_well() {
        assert_eq!(thousands(10_000), "10,000");
        assert_eq!(thousands(999), "999");
        assert_eq!(count(1, "hour"), "1 hour");
        let at = Timestamp::from_second(1_000_000).unwrap();
        let later = |seconds: i32| Timestamp::from_second(1_000_000 + i64::from(seconds)).unwrap();
        assert_eq!(ago(at, later(5)), "just now");
        assert_eq!(ago(at, later(7_300)), "2 hours ago");
        assert_eq!(ago(later(60), at), "just now", "clocks differ");
    }
}
