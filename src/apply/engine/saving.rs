//! Writing down what is intended and what came of it: what came together shares a commit, none waits for more to come (safety §1.3),
//! and the last also frees the state.

use std::collections::BTreeMap;

use super::{Effect, Engine, Halt, Tidying};
use crate::apply::{Event, Saved, Stop};
use crate::state::{Change, Deed, Next, Now, Stamp};

impl Engine {
    /// Lets the ledger write: what is staged, a beat, or the last commit that also releases.
    pub(super) fn write(&mut self, now: Now) {
        self.store_pause = None;
        loop {
            if self.ledger.has_ended() {
                return;
            }
            if self.limit.is_some_and(|limit| limit <= now.mono) {
                let next = self.ledger.abandon();
                self.stored(next, now);
                return;
            }
            if self.ledger.is_idle() && !self.releasing {
                let finished =
                    self.open.is_empty() && (self.halt.is_some() || self.queue.is_empty() && self.resting.is_empty());
                let due = self.ledger.due().is_some_and(|due| due <= now.mono);
                // Whoever stops early leaves that to the next run.
                let tidies = finished && self.halt.is_none() && self.tidying != Tidying::Done;
                if tidies && self.tidying == Tidying::Wanted && !self.ledger.has_staged() {
                    self.tidying = Tidying::Asked;
                    self.effects.push(Effect::Tidy);
                }
                if finished && !tidies && self.ledger.spaced() > now.mono {
                    self.store_pause = Some(self.ledger.spaced());
                } else if finished && !tidies {
                    self.sum_up(now);
                    self.releasing = true;
                    self.ledger.begin(true, now, &mut self.entropy);
                } else if due {
                    self.ledger.begin(false, now, &mut self.entropy);
                }
            }
            match self.ledger.poll(now) {
                Next::Call(call) => self.effects.push(Effect::Store(call)),
                Next::Idle | Next::Busy => return,
                Next::Wait(until) => {
                    self.store_pause = Some(until);
                    return;
                }
                next => self.stored(next, now),
            }
        }
    }

    pub(super) fn stored(&mut self, next: Next, now: Now) {
        match next {
            Next::Call(call) => self.effects.push(Effect::Store(call)),
            Next::Idle | Next::Busy | Next::Wait(_) => {}
            Next::Landed { serial } => self.tell(Event::Committed { serial }),
            Next::Released => {
                self.tell(Event::Committed { serial: self.ledger.state().serial });
                self.outcome.saved = Saved::Yes;
            }
            Next::Fenced { by } => {
                self.outcome.saved = Saved::Fenced { by };
                self.stop(Stop::Fenced, Halt::Quiet, now);
            }
            Next::GaveUp(why) => {
                self.outcome.saved = Saved::No { why: why.clone() };
                self.stop(Stop::Unsaved(why), Halt::Quiet, now);
            }
        }
    }

    /// The line in the history.
    fn sum_up(&mut self, now: Now) {
        if !self.worked {
            return;
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for applied in &self.outcome.applied {
            *counts.entry(applied.action).or_default() += 1;
        }
        let mut parts: Vec<String> = counts.iter().map(|(action, count)| format!("{count} × {action}")).collect();
        let left = self.queue.len() + self.resting.len() + self.outcome.not_attempted.len();
        let rest = [
            (self.outcome.refused.len(), "refused"),
            (self.outcome.failed.len(), "failed"),
            (self.outcome.unknown.len(), "unknown"),
            (left, "not attempted"),
        ];
        parts.extend(rest.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")));
        let stamp = Stamp { at: now.wall, ..self.stamp.clone() };
        self.ledger.stage(Change::Did(Deed::new(stamp, &format!("apply: {}", parts.join(", ")), true)));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Input;
    use super::super::tests::{begin, call, commit};
    use super::*;
    use crate::apply::request::Answer;
    use crate::desired::Id;

    #[tokio::test]
    async fn an_answer_is_written_down_in_the_turn_that_takes_it_in() {
        let folder = tempfile::tempdir().unwrap();
        let (mut engine, register, now) = begin(folder.path(), 3, 3).await;
        let mut effects = engine.handle([Input::Wake], now);
        for number in 1..=3 {
            let reply = register.answer(call(effects).expect("nothing is written down")).await;
            engine.handle([Input::Stored(reply)], now);
            // The others are under way, or have just been sent on: none of them is waited for.
            let answer = Answer::Reserved(Id::new(format!("id-{number}")).unwrap());
            effects = engine.handle([Input::Answered(number, Ok(answer))], now);
        }
        assert!(effects.iter().any(|effect| matches!(effect, Effect::Store(_))));
    }

    #[tokio::test]
    async fn more_templates_are_open_where_intents_take_as_long_as_requests() {
        let folder = tempfile::tempdir().unwrap();
        let (mut engine, register, now) = begin(folder.path(), 40, 4).await;
        let later = Now { mono: now.mono + Duration::from_millis(50), ..now };
        commit(&mut engine, &register, now, later).await;
        assert_eq!(engine.open.len(), 8);
    }
}
