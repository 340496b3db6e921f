//! Writing down what is intended and what came of it: in commits that are shared, and one at the end that also frees the state (safety §4, §5).

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Effect, Engine, Halt, Tidying};
use crate::apply::{Event, Saved, Stop};
use crate::state::{Change, Deed, Next, Now, Stamp};

/// How long a commit waits for more to come along while requests are under way. It costs the same for one result and for sixteen, and the first answer of
/// several is mostly a moment before the others.
const GATHER: Duration = Duration::from_millis(2);

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
                } else if due && !self.gathers(now) {
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

    /// Whether a commit waits for more to come along. A run that stops saves at once, and so does one to which no answer is about to come.
    fn gathers(&mut self, now: Now) -> bool {
        if self.flying == 0 || self.halt.is_some() || !self.ledger.has_staged() {
            self.gathering = None;
            return false;
        }
        let until = *self.gathering.get_or_insert(now.mono + GATHER);
        if until <= now.mono {
            self.gathering = None;
            return false;
        }
        self.store_pause = Some(until);
        true
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
    use super::super::{Config, Input};
    use super::*;
    use crate::apply::request::Answer;
    use crate::desired::{Digest, Id, Key};
    use crate::plan::{Action, Step};
    use crate::state::{Account, Location, Register, Run, Session, init};

    fn steps() -> Vec<Step> {
        let step =
            |name| Step { key: Key::new(name).unwrap(), name: None, action: Action::Create { to: Digest::of(b"x") } };
        ["a", "b", "c"].map(step).into()
    }

    fn reserved(number: usize) -> Input {
        Input::Answered(number, Ok(Answer::Reserved(Id::new(format!("id-{number}")).unwrap())))
    }

    fn sent(effects: &[Effect]) -> usize {
        effects.iter().filter(|effect| matches!(effect, Effect::Send(..))).count()
    }

    /// What is written down, carried to the store and back.
    async fn saved(engine: &mut Engine, register: &Register, effects: Vec<Effect>, now: Now) -> Option<Vec<Effect>> {
        let call =
            effects.into_iter().find_map(|effect| if let Effect::Store(call) = effect { Some(call) } else { None });
        let reply = register.answer(call?).await;
        Some(engine.handle([Input::Stored(reply)], now))
    }

    #[tokio::test]
    async fn answers_that_come_within_a_moment_share_a_commit() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Folder(folder.path().join("state"));
        let account = Account { base_url: "sandbox".to_owned(), user_id: 1, project_id: None };
        let run = || Run::of_this_process("me@here");
        init(&location, account, &mut run()).await.unwrap();
        let session = Session::acquire(&location, run(), Duration::ZERO, |_| {}).await.unwrap();
        let Session { register, ledger, run, healed, .. } = session;
        let start = run.clock.now();
        let at = |micros| Now { mono: start.mono + Duration::from_micros(micros), ..start };
        let stamp = Stamp { at: start.wall, who: run.who.clone(), run: run.id };
        let engine = Engine::new(&steps(), ledger, healed, Config::new(3), stamp, run.entropy.clone(), start);
        let mut engine = engine.map_err(|(moved, _)| moved).unwrap();

        // Nothing is under way yet, so the intents go at once.
        let effects = engine.handle([Input::Wake], at(0));
        let effects = saved(&mut engine, &register, effects, at(0)).await.unwrap();
        assert_eq!(sent(&effects), 3);

        // Two of three answers come one after the other, and are saved together when the moment is over.
        for (number, micros) in [(1, 10_000), (2, 11_000)] {
            let effects = engine.handle([reserved(number)], at(micros));
            assert!(saved(&mut engine, &register, effects, at(micros)).await.is_none(), "{number}");
            assert_eq!(engine.wake_at(), Some(at(12_000).mono));
        }
        let effects = engine.handle([Input::Wake], at(12_000));
        let effects = saved(&mut engine, &register, effects, at(12_000)).await.unwrap();
        assert_eq!(sent(&effects), 2);

        // The last answer that is awaited has nothing to wait for.
        let filled = [1, 2].map(|number| Input::Answered(number, Ok(Answer::Filled)));
        let effects = engine.handle(filled, at(20_000));
        assert!(saved(&mut engine, &register, effects, at(20_000)).await.is_none());
        let effects = engine.handle([reserved(3)], at(20_500));
        let effects = saved(&mut engine, &register, effects, at(20_500)).await.unwrap();
        assert_eq!(sent(&effects), 1);
    }
}
