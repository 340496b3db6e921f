//! The memory of the ids: entries, head, register, lease.

mod entry;

pub use entry::{Account, Entry, Op, Record, Stamp, State, Unsettled};
