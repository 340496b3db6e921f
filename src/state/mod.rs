//! The memory of the ids: entries, head, register, lease.

mod change;
mod entry;

pub use change::{Change, Deed, HISTORY};
pub use entry::{Account, Entry, Op, Record, Stamp, State, Unsettled};
