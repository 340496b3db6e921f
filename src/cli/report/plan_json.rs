//! A plan as JSON: stable, with a published schema.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::plan_text;
use crate::limits;
use crate::plan::{Action, Changes, Detail, Plan, Step, Why};
use crate::untrusted::inert_json;

/// What an apply would do.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "letterpress plan", rename = "plan")]
pub struct PlanJson {
    /// 1. Fields may be added within a format; none is removed or changes its meaning.
    format: u32,
    /// The environment's name.
    environment: String,
    /// The state that the plan was made against; the nil UUID where there is none yet.
    lineage: String,
    /// The state's serial.
    serial: u64,
    /// Digest over environment, state, account and steps: what `apply --plan-digest` takes.
    digest: String,
    /// Counts.
    summary: SummaryJson,
    /// What happens, by key.
    steps: Vec<StepJson>,
    /// Why some templates cannot be planned; with any, nothing can be applied.
    conflicts: Vec<ConflictJson>,
}

/// How many templates each thing happens to.
#[derive(Debug, Serialize, JsonSchema)]
struct SummaryJson {
    create: usize,
    update: usize,
    #[serde(rename = "return")]
    back: usize,
    #[serde(rename = "move")]
    moved: usize,
    retire: usize,
    unchanged: usize,
    /// Left out by `--only` or `--exclude`.
    left_out: usize,
    /// Templates that the service would hold afterwards, as far as the state knows.
    templates_used: usize,
    /// Templates that the service allows.
    templates_allowed: usize,
}

/// One step.
#[derive(Debug, Serialize, JsonSchema)]
struct StepJson {
    /// The template's key.
    key: String,
    /// The template's name; a retired one has none.
    name: Option<String>,
    /// `create`, `update`, `return`, `move` or `retire`.
    action: &'static str,
    /// The template's id; a template to create has none yet.
    id: Option<String>,
    /// Digest of the content before, where it is known.
    from: Option<String>,
    /// Digest of the content that is sent; absent where nothing is sent.
    to: Option<String>,
    /// Why an update is sent: `changed`, `returning`, `dirty`, `reserved`, `adopted` or `reasserted`.
    why: Option<Why>,
    /// The key that the entry had.
    moved_from: Option<String>,
    /// What is known of the content before: `none` (a new template), `kept`, or `unknown`. Absent with `--no-diff` and where nothing is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<&'static str>,
    /// What changes in the content; for a new template all that it has. Absent where the content before is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Changes>,
}

/// One conflict.
#[derive(Debug, Serialize, JsonSchema)]
struct ConflictJson {
    /// What is wrong.
    message: String,
    /// The way out.
    help: String,
}

/// The plan as the value that is printed, without what changes inside the templates.
#[must_use]
pub fn value(plan: &Plan) -> PlanJson {
    PlanJson { steps: plan.steps.iter().map(|one| step(one, None)).collect(), ..bare(plan) }
}

/// What stands before a step; between two of them also a comma.
pub const BETWEEN: &str = "\n    ";

/// The text before the steps and the text behind them.
///
/// # Errors
///
/// None in practice; JSON of these values always succeeds.
pub fn frame(plan: &Plan) -> serde_json::Result<(String, String)> {
    let whole = serde_json::to_string_pretty(&bare(plan))?;
    let whole = inert_json(&whole);
    // In a string a line break is escaped, so no foreign text looks like this.
    let (head, tail) = whole.split_once(NO_STEPS).unwrap_or((&whole, ""));
    let end = if plan.steps.is_empty() { "" } else { "\n  " };
    Ok((format!("{head}{}", &NO_STEPS[..NO_STEPS.len() - 1]), format!("{end}]{tail}\n")))
}

/// How a plan without steps shows them.
const NO_STEPS: &str = "\n  \"steps\": []";

/// One step as it stands among the others.
///
/// # Errors
///
/// None in practice; JSON of these values always succeeds.
pub fn piece(one: &Step, detail: Option<Detail>) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(&step(one, detail))?.replace('\n', BETWEEN);
    Ok(match inert_json(&text) {
        Cow::Owned(inert) => inert,
        Cow::Borrowed(_) => text,
    })
}

/// All of a plan but its steps.
fn bare(plan: &Plan) -> PlanJson {
    let of = |word: &str| plan.steps.iter().filter(|step| step.action.word() == word).count();
    PlanJson {
        format: 1,
        environment: plan.environment.clone(),
        lineage: plan.lineage.to_string(),
        serial: plan.serial,
        digest: plan.digest().to_string(),
        summary: SummaryJson {
            create: of("create"),
            update: of("update"),
            back: of("return"),
            moved: of("move"),
            retire: of("retire"),
            unchanged: plan.unchanged,
            left_out: plan.left_out,
            templates_used: plan.used,
            templates_allowed: limits::TEMPLATES,
        },
        steps: Vec::new(),
        conflicts: plan
            .conflicts
            .iter()
            .map(|conflict| {
                let (message, help) = plan_text::explain(conflict);
                ConflictJson { message, help }
            })
            .collect(),
    }
}

fn step(step: &Step, detail: Option<Detail>) -> StepJson {
    let (from, why, moved_from) = match &step.action {
        Action::Create { .. } => (None, None, None),
        Action::Update { from, why, moved_from, .. } => (*from, Some(*why), moved_from.as_ref()),
        Action::Move { from, digest, .. } => (Some(*digest), None, Some(from)),
        Action::Retire { digest, .. } => (*digest, None, None),
        Action::Return { digest, .. } => (Some(*digest), None, None),
    };
    StepJson {
        key: step.key.to_string(),
        name: step.name.clone(),
        action: step.action.word(),
        id: step.action.id().map(ToString::to_string),
        from: from.map(|digest| digest.to_string()),
        to: step.action.sends().map(|digest| digest.to_string()),
        why,
        moved_from: moved_from.map(ToString::to_string),
        earlier: detail.as_ref().map(|detail| match detail {
            Detail::New(_) => "none",
            Detail::Changed(_) => "kept",
            Detail::Unknown => "unknown",
        }),
        changes: detail.and_then(Detail::into_changes),
    }
}
