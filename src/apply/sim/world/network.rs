//! What is under way to the register and to the service, and what they make of it when it arrives.

use std::time::Duration;

use super::{Held, Message, Violation, World, violation};
use crate::apply::request::{Answer, Ask};
use crate::client::SendError;
use crate::desired::Id;
use crate::state::{Call, Head, Reply, Token};

impl World {
    /// A call leaves for the store.
    pub(super) fn call(&mut self, actor: usize, call: Call) {
        let run = self.actors[actor].run;
        let there = self.chance.millis(1, 200);
        let back = self.chance.millis(1, 200);
        let unknown = Message::FromStore { actor, run, reply: Reply::Unknown("a fault".to_owned()) };
        if self.last || !self.chance.happens(self.weather.store) {
            self.after(there, Message::ToStore { actor, run, call, answer: Some((back, false)) });
            return;
        }
        let timeout = if self.leased { self.chance.millis(500, 35_000) } else { self.chance.millis(0, 10) };
        match self.chance.below(if self.leased { 5 } else { 2 }) {
            // It does not arrive.
            0 => self.after(timeout, unknown),
            // It arrives, and its answer does not.
            1 => {
                self.after(there.min(timeout), Message::ToStore { actor, run, call, answer: None });
                self.after(timeout, unknown);
            }
            // It arrives long after it was given up.
            2 => {
                self.after(timeout, unknown);
                let late = self.chance.millis(0, 60_000);
                self.after(timeout + late, Message::ToStore { actor, run, call, answer: None });
            }
            // It arrives twice.
            3 => {
                let again = self.chance.millis(1, 30_000);
                let copy = Message::ToStore { actor, run, call: call.clone(), answer: None };
                self.after(there + again, copy);
                self.after(there, Message::ToStore { actor, run, call, answer: Some((back, false)) });
            }
            // The library between us and the store sends it again by itself, and reports the second answer.
            _ => self.after(there, Message::ToStore { actor, run, call, answer: Some((back, true)) }),
        }
    }

    /// A call arrives at the store.
    pub(super) fn store(
        &mut self,
        actor: usize,
        run: u64,
        call: Call,
        answer: Option<(Duration, bool)>,
    ) -> Result<(), Violation> {
        let token = |version: u64| Token(version.to_string());
        let mut reply = match call {
            Call::Load => Reply::Loaded(Some((self.head.clone(), token(self.version)))),
            Call::Get { name } => Reply::Got(self.objects.get(&name).cloned()),
            Call::Put { name, bytes } => {
                self.objects.insert(name, bytes.to_vec());
                Reply::Done
            }
            Call::Delete { name } => {
                self.objects.remove(&name);
                Reply::Done
            }
            Call::Swap { expected, bytes } if expected == Some(token(self.version)) => {
                self.write(&bytes)?;
                Reply::Swapped(token(self.version))
            }
            Call::Swap { .. } => Reply::Conflict,
            Call::Overwrite { bytes } => {
                self.write(&bytes)?;
                Reply::Swapped(token(self.version))
            }
        };
        let Some((back, twice)) = answer else { return Ok(()) };
        if twice && matches!(reply, Reply::Swapped(_)) {
            reply = Reply::Conflict;
        }
        self.after(back, Message::FromStore { actor, run, reply });
        Ok(())
    }

    /// The register takes a new head: it must stand on the one before.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Violation> {
        let new = Head::decode(bytes).map_err(|error| violation(error.to_string()))?;
        if new.meta.write_id != self.write_id {
            if new.meta.prev_write_id != self.write_id {
                return Err(violation("a write does not stand on the one before"));
            }
            if bytes.len() > crate::state::HEAD_BYTES {
                return Err(violation("a head is too large"));
            }
        }
        self.epoch = new.meta.epoch;
        self.write_id = new.meta.write_id;
        self.head = bytes.to_vec();
        self.version += 1;
        Ok(())
    }

    /// A request leaves for the service.
    pub(super) fn send(&mut self, actor: usize, number: usize, ask: Ask) {
        let run = self.actors[actor].run;
        let there = self.chance.millis(1, 2_000);
        let back = self.chance.millis(1, 2_000);
        if self.last || !self.chance.happens(self.weather.service) {
            self.after(there, Message::ToService { actor, run, number, ask, answer: Some(back) });
            return;
        }
        let unknown = SendError::Unknown { why: "a fault".to_owned() };
        let timeout = self.chance.millis(2_000, 60_000);
        let error = match self.chance.below(7) {
            0 => SendError::NotSent { why: "a fault".to_owned() },
            1 => SendError::Throttled { retry_after: Some(self.chance.millis(1_000, 20_000)) },
            2 => SendError::Refused { http: 400, code: "1".to_owned(), message: String::new() },
            // It does not arrive.
            3 => unknown,
            // It arrives, and its answer does not.
            4 => {
                self.after(there, Message::ToService { actor, run, number, ask, answer: None });
                unknown
            }
            // It arrives after it was given up: an update that overtakes.
            _ => {
                let late = self.chance.millis(0, 100_000);
                self.after(late, Message::ToService { actor, run, number, ask, answer: None });
                unknown
            }
        };
        let after = if matches!(error, SendError::Unknown { .. }) { timeout } else { there };
        self.after(after, Message::FromService { actor, run, number, result: Err(error) });
    }

    /// A request arrives at the service.
    pub(super) fn service(&mut self, actor: usize, run: u64, number: usize, ask: &Ask, answer: Option<Duration>) {
        let result = match ask {
            Ask::Placeholder { op } => {
                let id = Id::new(format!("id-{}", self.templates.len())).unwrap();
                self.templates.insert(id.clone(), Held { name: op.placeholder_name(), content: None });
                Answer::Reserved(id)
            }
            Ask::Fill { id, to, .. } => {
                self.templates.entry(id.clone()).or_default().content = Some(*to);
                Answer::Filled
            }
        };
        if let Some(back) = answer {
            self.after(back, Message::FromService { actor, run, number, result: Ok(result) });
        }
    }
}
