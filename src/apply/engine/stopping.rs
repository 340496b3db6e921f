//! Stopping before the end: no new keys, then no new requests, then out (safety §5).

use super::{Engine, Halt};
use crate::apply::item::{Item, Stage};
use crate::apply::policy;
use crate::apply::request::Ask;
use crate::apply::{Event, Failed, Stop};
use crate::state::{Change, Now, Unsettled};

impl Engine {
    pub(super) fn stop(&mut self, stop: Stop, halt: Halt, now: Now) {
        if self.halt >= Some(halt) {
            return;
        }
        if halt == Halt::Quiet {
            self.deadline.get_or_insert(now.mono + policy::DRAIN);
        }
        self.tell(Event::Stopping { why: stop.to_string() });
        self.outcome.stop.get_or_insert(stop);
        self.halt = Some(halt);
    }

    pub(super) fn interrupt(&mut self, now: Now) {
        self.interrupts += 1;
        // A store that wants pauses between writes must get its last one in.
        let drain = policy::DRAIN.saturating_sub(self.ledger.terms().spacing);
        let save = if self.interrupts > 1 { policy::SAVE_IN_HASTE } else { policy::SAVE };
        let (deadline, limit) = (now.mono + drain, now.mono + save);
        self.deadline = Some(self.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
        self.limit = Some(self.limit.map_or(limit, |earlier| earlier.min(limit)));
        self.stop(Stop::Interrupted, Halt::Quiet, now);
        if self.interrupts > 1 {
            self.deadline = Some(now.mono);
        }
    }

    /// No new keys: one of which nothing was sent yet is put back, though it was opened ahead of its turn.
    pub(super) fn drain(&mut self) {
        let new: Vec<usize> =
            self.open.iter().filter(|(_, item)| item.has_sent_nothing()).map(|(number, _)| *number).collect();
        for item in new.iter().filter_map(|number| self.open.remove(number)).collect::<Vec<_>>() {
            self.put_back(item);
        }
    }

    /// No new requests: what was not sent is put back at once, what was sent is awaited until the deadline.
    pub(super) fn quiet(&mut self, now: Now) {
        let deadline = *self.deadline.get_or_insert(now.mono + policy::DRAIN);
        let numbers: Vec<usize> = self.open.keys().copied().collect();
        for number in numbers {
            let flies = self.open.get(&number).is_some_and(Item::is_flying);
            if flies && now.mono < deadline {
                continue;
            }
            let Some(item) = self.open.remove(&number) else { continue };
            if flies {
                self.abandon(item, now);
            } else {
                self.put_back(item);
            }
        }
    }

    fn put_back(&mut self, item: Item) {
        self.withdraw(&item);
        match item.lost {
            Some(_) => self
                .outcome
                .unknown
                .push(Failed { key: item.job.key, why: "the run stopped before it could be sent again".to_owned() }),
            None => self.outcome.not_attempted.push(item.job.key),
        }
    }

    /// A request whose answer is not awaited any more.
    fn abandon(&mut self, mut item: Item, now: Now) {
        let Stage::Flying(sent) = &item.stage else { return };
        self.flying -= 1;
        let why = "the run ended before the answer came".to_owned();
        match sent.ask().clone() {
            Ask::Placeholder { op } => {
                self.leak(&item.job.key, op);
                self.ledger.stage(Change::Unset { key: item.job.key.clone() });
            }
            Ask::Fill { to, .. } => {
                item.lost = Some(Unsettled { digest: to, at: now.wall });
                self.withdraw(&item);
            }
        }
        self.tell(Event::Unknown { key: item.job.key.clone(), why: why.clone() });
        self.outcome.unknown.push(Failed { key: item.job.key, why });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{begin, commit};
    use super::super::{Effect, Input};
    use crate::client::SendError;

    #[tokio::test]
    async fn after_three_lost_creates_nothing_is_sent_of_what_was_opened_ahead() {
        let folder = tempfile::tempdir().unwrap();
        let (mut engine, register, now) = begin(folder.path(), 40, 4).await;
        commit(&mut engine, &register, now, now).await;
        assert_eq!((engine.open.len(), engine.flying), (5, 4));

        let lost = |number| Input::Answered(number, Err(SendError::Unknown { why: "no answer".to_owned() }));
        let effects = engine.handle([1, 2, 3].map(lost), now);
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Send(..))), "{effects:?}");
        assert!(!engine.open.contains_key(&5));
        assert_eq!(engine.outcome.not_attempted.len(), 1);
    }
}
