//! The life of one request as types: `Prepared → Committed → Sent → Settled` (safety §1.3, §8).
//!
//! Only a [`Committed`] can be sent, and only a landed write makes one: sending without a certain intent does not compile.

use crate::client::SendError;
use crate::desired::{Digest, Id, Key};
use crate::state::{Change, Entry, Ledger, Op, Record, Ticket};

/// What is asked of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// An empty template that is named after the operation.
    Placeholder {
        /// The operation.
        op: Op,
    },
    /// The whole content of a template.
    Fill {
        /// The template's id.
        id: Id,
        /// The content.
        to: Digest,
        /// The operation.
        op: Op,
    },
}

/// What the service says to an [`Ask`] that it carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The placeholder's id.
    Reserved(Id),
    /// The content is there.
    Filled,
}

/// An intent that is on its way into the log.
#[derive(Debug)]
pub(super) struct Prepared {
    ask: Ask,
    ticket: Ticket,
}

impl Prepared {
    /// Stages the intent of `ask` for `key`; `before` is what was known of the key.
    pub(super) fn stage(ledger: &mut Ledger, key: &Key, before: Option<&Record>, ask: Ask) -> Self {
        let entry = match &ask {
            Ask::Placeholder { op } => Entry::Reserving { op: *op },
            Ask::Fill { id, to, op } => {
                let from = before.and_then(|record| record.entry.digest());
                Entry::Updating { id: id.clone(), from, to: *to, op: *op }
            }
        };
        let (unsettled, applied) = before.map_or((None, None), |record| (record.unsettled, record.applied));
        let record = Record { entry, unsettled, applied };
        let ticket = ledger.stage(Change::Set { key: key.clone(), record });
        Self { ask, ticket }
    }

    /// Goes on once the write with the intent has landed.
    pub(super) fn committed(self, ledger: &Ledger) -> Result<Committed, Self> {
        if ledger.is_certain(self.ticket) { Ok(Committed { ask: self.ask }) } else { Err(self) }
    }
}

/// A request whose intent is certain.
#[derive(Debug)]
pub(super) struct Committed {
    ask: Ask,
}

impl Committed {
    /// Lets the request go; the copy of what it asks is for the driver.
    pub(super) fn send(self) -> (Ask, Sent) {
        (self.ask.clone(), Sent { ask: self.ask })
    }
}

/// A request that was let go and has no answer yet.
#[derive(Debug)]
pub(super) struct Sent {
    ask: Ask,
}

impl Sent {
    /// What was asked.
    pub(super) fn ask(&self) -> &Ask {
        &self.ask
    }

    /// Sorts an answer by what is certain after it.
    pub(super) fn settle(self, answer: Result<Answer, SendError>) -> Settled {
        match (self.ask, answer) {
            (Ask::Placeholder { op }, Ok(Answer::Reserved(id))) => Settled::Reserved { op, id },
            (Ask::Fill { id, to, .. }, Ok(Answer::Filled)) => Settled::Filled { id, to },
            (ask, Err(SendError::Unknown { why })) => Settled::lost(ask, why),
            (Ask::Fill { id, to, .. }, Err(error @ SendError::WrongId { .. })) => {
                Settled::Confused { id, to, why: error.to_string() }
            }
            // An answer to another question says nothing certain about this one.
            (ask, Ok(answer)) => Settled::lost(ask, format!("the answer fits another request: {answer:?}")),
            (ask, Err(error @ SendError::WrongId { .. })) => Settled::lost(ask, error.to_string()),
            (ask, Err(error)) => Settled::NotDone { request: Committed { ask }, error },
        }
    }
}

/// A request whose answer was sorted.
#[derive(Debug)]
pub(super) enum Settled {
    /// The placeholder exists.
    Reserved {
        /// The operation.
        op: Op,
        /// Its id.
        id: Id,
    },
    /// The content is there.
    Filled {
        /// The template.
        id: Id,
        /// The content.
        to: Digest,
    },
    /// Nothing happened, for certain. The same request may go again, where the error lets it.
    NotDone {
        /// The request.
        request: Committed,
        /// Why.
        error: SendError,
    },
    /// A placeholder may exist that nobody knows the id of. It is never asked for again under this operation.
    LostPlaceholder {
        /// The operation.
        op: Op,
        /// Why.
        why: String,
    },
    /// The content may have arrived, or may still arrive. The same bytes may go again.
    LostFill {
        /// The request.
        request: Committed,
        /// The template.
        id: Id,
        /// The content.
        to: Digest,
        /// Why.
        why: String,
    },
    /// The service answered for another template.
    Confused {
        /// The template that was meant.
        id: Id,
        /// The content.
        to: Digest,
        /// What was wrong.
        why: String,
    },
}

impl Settled {
    fn lost(ask: Ask, why: String) -> Self {
        match ask {
            Ask::Placeholder { op } => Self::LostPlaceholder { op, why },
            Ask::Fill { ref id, to, .. } => Self::LostFill { id: id.clone(), to, request: Committed { ask }, why },
        }
    }

    /// A planted bug: a create whose answer was lost goes again under its old operation.
    #[cfg(test)]
    pub(super) fn forget_loss(self) -> Self {
        match self {
            Self::LostPlaceholder { op, why } => {
                Self::NotDone { request: Committed { ask: Ask::Placeholder { op } }, error: SendError::NotSent { why } }
            }
            other => other,
        }
    }
}
