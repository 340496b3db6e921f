//! The memory of the ids: entries, head, register, lease (safety §2 to §4).
//!
//! One compare-and-swap register, `head.json`, holds everything exclusive: the lease, the epoch, the log since the last snapshot. The
//! protocol ([`Acquire`], [`Ledger`]) does no I/O; it asks its owner to carry [`Call`]s to a [`Register`] and back. The real
//! driver is [`Session`]; the simulator in `apply` is another.

mod acquire;
mod base;
mod call;
mod change;
mod clock;
mod entry;
mod error;
mod gate;
mod head;
mod heal;
mod ledger;
mod location;
#[cfg(test)]
pub(crate) mod mutant;
mod objects;
mod open;
mod register;
mod restore;
mod session;
mod write;

pub use acquire::{Acquire, Step, replay};
pub use call::{Call, Reply, Token};
pub use change::{Change, Deed, HISTORY};
pub use clock::{Clock, Entropy, Now, Run};
pub use entry::{Account, Entry, Op, Record, Stamp, State, Unsettled};
pub use error::{Error, Kind};
pub use gate::Gate;
pub use head::{HEAD_BYTES, Head, Holder, Log};
pub use heal::{Healed, heal};
pub use ledger::{Ledger, Next, Terms, Ticket};
pub use location::{Cloud, Location, LocationError};
pub use objects::{Collected, Digested, Objects};
pub use open::{first_objects, holder, init, read};
pub use register::{Folder, Register};
pub use restore::{Check, Verdict, pull, restore, verify};
pub(crate) use session::drop_garbage;
pub use session::{Session, Waiting};
