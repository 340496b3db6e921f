//! What the protocol asks of a store, and what the store may answer (safety §3).
//!
//! The protocol itself does no I/O: the real driver and the simulator both carry these values to a store and back.

use std::sync::Arc;

/// One version of the head, as its store names it: an ETag, a generation, a digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token(pub String);

/// A question to the store. One is open at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// Read the head.
    Load,
    /// Write the head if it still is the version that is expected; `None`: if there is none.
    Swap {
        /// The version that must be there.
        expected: Option<Token>,
        /// The new head.
        bytes: Arc<[u8]>,
    },
    /// Read another object.
    Get {
        /// Its name below the state's place.
        name: String,
    },
    /// Write an object that never changes.
    Put {
        /// Its name below the state's place.
        name: String,
        /// Its content.
        bytes: Arc<[u8]>,
    },
    /// Remove an object; one that is not there is no failure.
    Delete {
        /// Its name below the state's place.
        name: String,
    },
    /// A planted bug: write the head whatever is there.
    #[cfg(test)]
    Overwrite {
        /// The new head.
        bytes: Arc<[u8]>,
    },
}

/// The store's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// To `Load`: the bytes and their version; `None`: there is no head.
    Loaded(Option<(Vec<u8>, Token)>),
    /// To `Get`: the bytes; `None`: there is no such object.
    Got(Option<Vec<u8>>),
    /// To `Swap`: it was written, as this version.
    Swapped(Token),
    /// To `Swap`: another version was there. Not believed before it is read back.
    Conflict,
    /// To `Put` and `Delete`: done.
    Done,
    /// To any: the store will not do it, and would say so again: no permission, no such bucket.
    Refused(String),
    /// To any: a time-out, a lost connection, an I/O error. A write may have happened.
    Unknown(String),
}
