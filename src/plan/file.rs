//! The plan file: small, no bodies, bound to lineage, account, entries and source digests (safety P11).

use std::io::{self, Write as _};

use serde::{Deserialize, Serialize};

use super::{Plan, Step};
use crate::desired::{Digest, Hasher, Key};

/// The newest format that we write.
const FORMAT: u32 = 1;

/// A plan as saved by `plan --out`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFile {
    /// 1.
    format: u32,
    /// Digest over what was reviewed.
    digest: Digest,
    /// The plan.
    plan: Plan,
}

/// Why a plan file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlanFileError {
    /// Not our JSON.
    #[error("it is not a plan file: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// A later letterpress wrote it.
    #[error("it has format {found}, and this letterpress reads up to {FORMAT}")]
    TooNew {
        /// Its format.
        found: u64,
    },
    /// Its content does not fit its digest.
    #[error("its content was changed after it was written")]
    Tampered,
}

/// Why a saved plan no longer holds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    /// It is for another environment.
    #[error("it was made for the environment `{planned}`, not `{actual}`")]
    Environment {
        /// In the file.
        planned: String,
        /// Of this run.
        actual: String,
    },
    /// It is for another state.
    #[error("it was made against another state (lineage or account differ)")]
    State,
    /// A template is no longer what was reviewed.
    #[error("`{key}`: {what}")]
    Step {
        /// The template.
        key: Key,
        /// What changed.
        what: String,
    },
}

impl PlanFile {
    /// Seals a plan.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self { format: FORMAT, digest: plan.digest(), plan }
    }

    /// Writes the file.
    ///
    /// # Errors
    ///
    /// What the writer fails with.
    pub fn write(&self, out: impl io::Write) -> io::Result<()> {
        let mut out = io::BufWriter::new(out);
        serde_json::to_writer_pretty(&mut out, self)?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// Reads a plan file and checks its digest.
    ///
    /// # Errors
    ///
    /// [`PlanFileError`] says why it cannot be used.
    pub fn read(bytes: &[u8]) -> Result<Self, PlanFileError> {
        #[derive(Deserialize)]
        struct Head {
            format: u64,
        }
        let head: Head = serde_json::from_slice(bytes)?;
        if head.format > u64::from(FORMAT) {
            return Err(PlanFileError::TooNew { found: head.format });
        }
        let file: Self = serde_json::from_slice(bytes)?;
        if file.plan.digest() != file.digest {
            return Err(PlanFileError::Tampered);
        }
        Ok(file)
    }

    /// The reviewed plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Compares with a plan made now: the reviewed steps that are selected and still hold, to the letter.
    /// Steps that only the new plan has are not part of the review and are left out.
    ///
    /// # Errors
    ///
    /// Everything that changed since, one [`Stale`] each.
    pub fn still_holds(&self, now: &Plan, selects: &dyn Fn(&Key) -> bool) -> Result<Vec<Step>, Vec<Stale>> {
        let planned = &self.plan;
        if planned.environment != now.environment {
            let (planned, actual) = (planned.environment.clone(), now.environment.clone());
            return Err(vec![Stale::Environment { planned, actual }]);
        }
        if !same_state(planned, now) {
            return Err(vec![Stale::State]);
        }
        let steps: Vec<Step> = planned.steps.iter().filter(|step| selects(&step.key)).cloned().collect();
        let stale: Vec<Stale> = steps.iter().filter_map(|step| changed(step, now)).collect();
        if stale.is_empty() { Ok(steps) } else { Err(stale) }
    }
}

/// A plan for the built-in service may have been made before there was any state: its lineage is nil. The steps are compared all the same.
fn same_state(planned: &Plan, now: &Plan) -> bool {
    let bound = planned.lineage == now.lineage && planned.account == now.account;
    bound || planned.lineage.is_nil() && planned.account.base_url == now.account.base_url
}

fn changed(step: &Step, now: &Plan) -> Option<Stale> {
    let what = match now.steps.iter().find(|other| other.key == step.key) {
        Some(other) if other == step => return None,
        Some(other) if other.action.sends() != step.action.sends() => {
            "its files changed since the plan was made".to_owned()
        }
        Some(other) => {
            format!("the plan says {}, and now it would be {}", step.action.word(), describe(other, step))
        }
        None => format!("the plan says {}, and now nothing is to be done", step.action.word()),
    };
    Some(Stale::Step { key: step.key.clone(), what })
}

fn describe(now: &Step, planned: &Step) -> String {
    if now.action.word() == planned.action.word() {
        format!("{} of what the state has meanwhile", now.action.word())
    } else {
        now.action.word().to_owned()
    }
}

/// See [`Plan::digest`].
pub(super) fn digest(plan: &Plan) -> Digest {
    #[derive(Serialize)]
    struct Reviewed<'a> {
        environment: &'a str,
        lineage: uuid::Uuid,
        account: &'a crate::state::Account,
        steps: &'a [Step],
    }
    let reviewed =
        Reviewed { environment: &plan.environment, lineage: plan.lineage, account: &plan.account, steps: &plan.steps };
    let mut hasher = Hasher::default();
    let mut out = io::BufWriter::new(&mut hasher);
    // Plain maps and strings into memory: neither can fail.
    let _ = serde_json::to_writer(&mut out, &reviewed);
    let _ = out.flush();
    drop(out);
    hasher.digest()
}
