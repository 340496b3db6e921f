//! `head.json`: the one mutable object, at most 128 KiB (safety §2).
//!
//! The log's lines are kept as they were written, so that a commit serializes only what is new. A digest over everything before it ends the
//! text: a torn, shortened or edited head is noticed.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Account, Change};
use crate::desired::{Digest, Key};

/// The format that this version writes; older ones are read.
pub const FORMAT: u64 = 1;

/// Largest head in bytes.
pub const HEAD_BYTES: usize = 131_072;

/// A longer log is compacted into a new base: bytes.
pub const LOG_BYTES: usize = 102_400;

/// A longer log is compacted into a new base: lines.
pub const LOG_LINES: usize = 512;

/// How many earlier bases are kept for `state restore`.
pub const OLD_BASES: usize = 10;

/// A decoded head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// All but the log.
    pub meta: Meta,
    /// What happened since the base.
    pub log: Log,
}

/// All of the head but the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// [`FORMAT`].
    pub format: u64,
    /// Which state this is, from its birth on.
    pub lineage: Uuid,
    /// Whose templates these are.
    pub account: Account,
    /// Grows by one with every write.
    pub serial: u64,
    /// Grows by one with every acquire.
    pub epoch: u64,
    /// Fresh in every write: a writer knows its own by it.
    pub write_id: Uuid,
    /// The write before this one.
    pub prev_write_id: Uuid,
    /// The write that the last acquire stood on: a release that landed is known by it.
    pub acquired_on: Uuid,
    /// Who works on the state.
    pub holder: Option<Holder>,
    /// The snapshot that the log stands on.
    pub base: BaseRef,
    /// Earlier snapshots, the newest first.
    pub old_bases: Vec<BaseRef>,
}

/// Who works on a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The run.
    pub run: Uuid,
    /// `user@host`, or what CI says of itself. Untrusted.
    pub who: String,
    /// Grows with every beat, so that a beat changes the bytes.
    pub beat: u64,
    /// How long the lease lasts, in seconds; 0 where the kernel's lock carries it.
    pub ttl_s: u64,
}

/// A snapshot's name, digest and number of entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseRef {
    /// `base-<serial>-<digest>.json`.
    pub name: String,
    /// Digest of its bytes.
    pub digest: Digest,
    /// How many keys it has.
    pub entries: usize,
}

/// What happened since the base, a line each, as written.
///
/// A change of a key says all that is known of it, so that it takes the line of the one before: the log is as long as there are keys that changed. Changes
/// of different keys can be told in any order.
#[derive(Debug, Clone, Default)]
pub struct Log {
    lines: Vec<String>,
    bytes: usize,
    /// Where the lines of keys are, of those that were pushed and not read.
    places: HashMap<Key, usize>,
}

/// What was read and what was pushed are equal where they say the same.
impl PartialEq for Log {
    fn eq(&self, other: &Self) -> bool {
        self.lines == other.lines
    }
}

impl Eq for Log {}

/// Between two lines.
const AND: &str = ",\n";

impl Log {
    /// Takes in a change.
    pub fn push(&mut self, change: &Change) {
        // Serializing a change to memory cannot fail: all keys are text.
        let Ok(line) = serde_json::to_string(change) else { return };
        self.bytes += line.len();
        let place = change.key().map(|key| match self.places.get(key) {
            Some(place) => *place,
            None => {
                self.places.insert(key.clone(), self.lines.len());
                self.lines.len()
            }
        });
        match place.and_then(|place| self.lines.get_mut(place)) {
            Some(before) => self.bytes -= std::mem::replace(before, line).len(),
            None => self.lines.push(line),
        }
    }

    fn read(text: &str) -> Self {
        let lines: Vec<String> =
            if text.is_empty() { Vec::new() } else { text.split(AND).map(str::to_owned).collect() };
        Self { bytes: lines.iter().map(String::len).sum(), lines, places: HashMap::new() }
    }

    /// How many lines.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    /// How many bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes + AND.len() * self.lines.len()
    }

    fn write(&self, text: &mut String) {
        for (number, line) in self.lines.iter().enumerate() {
            if number > 0 {
                text.push_str(AND);
            }
            text.push_str(line);
        }
    }

    /// Reads the lines.
    ///
    /// # Errors
    ///
    /// When a line is no [`Change`].
    pub fn changes(&self) -> Result<Vec<Change>, serde_json::Error> {
        self.lines.iter().map(|line| serde_json::from_str(line)).collect()
    }
}

/// Why bytes are no head.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// Torn, emptied or edited.
    #[error("{0}")]
    Damaged(String),
    /// Written by a later version.
    #[error("it has format {0}, and this version reads up to {FORMAT}")]
    TooNew(u64),
}

const SEAL: &str = "\n],\"digest\":\"";
const LOG: &str = ",\"log\":[\n";

impl Head {
    /// The bytes of the head.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut text = String::with_capacity(self.log.bytes() + 4096);
        text.push_str(&serde_json::to_string(&self.meta).unwrap_or_default());
        text.truncate(text.len().saturating_sub(1));
        text.push_str(LOG);
        self.log.write(&mut text);
        let digest = Digest::of(text.as_bytes());
        text.push_str(SEAL);
        text.push_str(&digest.to_string());
        text.push_str("\"}\n");
        text.into_bytes()
    }

    /// Reads a head.
    ///
    /// # Errors
    ///
    /// [`HeadError`]: the bytes are torn, empty or edited, or a later version wrote them.
    pub fn decode(bytes: &[u8]) -> Result<Self, HeadError> {
        #[derive(Deserialize)]
        struct Probe {
            format: u64,
        }
        let damaged = |why: &str| HeadError::Damaged(why.to_owned());
        if bytes.is_empty() {
            return Err(damaged("it is empty"));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| damaged("it is not UTF-8"))?;
        let probe: Probe =
            serde_json::from_str(text).map_err(|error| HeadError::Damaged(format!("it is torn or edited: {error}")))?;
        if probe.format > FORMAT {
            return Err(HeadError::TooNew(probe.format));
        }
        let sealed = text.rsplit_once(SEAL).and_then(|(body, seal)| Some((body, seal.strip_suffix("\"}\n")?)));
        let Some((body, seal)) = sealed else {
            return Err(damaged("its digest is not where it belongs"));
        };
        if Digest::of(body.as_bytes()).to_string() != seal {
            return Err(damaged("its digest does not match its content"));
        }
        let Some((meta, log)) = body.split_once(LOG) else {
            return Err(damaged("it has no log"));
        };
        let meta = serde_json::from_str(&format!("{meta}}}")).map_err(|error| HeadError::Damaged(error.to_string()))?;
        Ok(Self { meta, log: Log::read(log) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::desired::Id;
    use crate::state::{Entry, Op, Record, State};

    fn head() -> Head {
        let base = BaseRef { name: "base-0-x.json".to_owned(), digest: Digest::of(b"x"), entries: 0 };
        let meta = Meta {
            format: FORMAT,
            lineage: Uuid::from_u128(1),
            account: Account { base_url: "sandbox".to_owned(), user_id: 1, project_id: None },
            serial: 3,
            epoch: 2,
            write_id: Uuid::from_u128(3),
            prev_write_id: Uuid::from_u128(2),
            acquired_on: Uuid::from_u128(2),
            holder: Some(Holder { run: Uuid::nil(), who: "a \"quoted\"\nname".to_owned(), beat: 1, ttl_s: 60 }),
            base,
            old_bases: Vec::new(),
        };
        let mut log = Log::default();
        for name in ["a", "b"] {
            let entry = Entry::Live { id: Id::new("1").unwrap(), digest: Digest::of(b"y") };
            let record = Record { entry, unsettled: None, applied: None };
            log.push(&Change::Set { key: Key::new(name).unwrap(), record });
        }
        Head { meta, log }
    }

    #[test]
    fn a_head_comes_back_as_it_was() {
        let head = head();
        let back = Head::decode(&head.encode()).unwrap();
        assert_eq!(back, head);
        assert_eq!(back.log.changes().unwrap().len(), 2);
        let bare = Head { log: Log::default(), ..head };
        assert_eq!(Head::decode(&bare.encode()).unwrap(), bare);
    }

    #[test]
    fn no_shortened_or_changed_head_is_taken() {
        let bytes = head().encode();
        for length in 0..bytes.len() {
            assert!(matches!(Head::decode(&bytes[..length]), Err(HeadError::Damaged(_))), "{length}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(Head::decode(&changed).is_err(), "{at}");
        }
    }

    #[test]
    fn a_newer_format_is_told_apart_from_damage() {
        let newer = br#"{"format":2,"something":"else"}"#;
        assert_eq!(Head::decode(newer), Err(HeadError::TooNew(2)));
    }

    fn change() -> impl Strategy<Value = Change> {
        let key = (0_u8..4).prop_map(|number| Key::new(format!("key-{number}")).unwrap());
        let op = (0_u128..4).prop_map(|number| Op(Uuid::from_u128(number)));
        let id = Id::new("7").unwrap();
        let entry = prop_oneof![
            op.clone().prop_map(|op| Entry::Reserving { op }),
            any::<u8>().prop_map(move |byte| Entry::Live { id: id.clone(), digest: Digest::of(&[byte]) }),
        ];
        let record = entry.prop_map(|entry| Record { entry, unsettled: None, applied: None });
        prop_oneof![
            4 => (key.clone(), record).prop_map(|(key, record)| Change::Set { key, record }),
            1 => key.prop_map(|key| Change::Unset { key }),
            1 => op.clone().prop_map(|op| Change::Leak { op }),
            1 => op.prop_map(|op| Change::Unleak { op }),
        ]
    }

    fn with(changes: &[Change]) -> State {
        let mut state = State::empty(Uuid::nil(), head().meta.account);
        changes.iter().for_each(|change| state.change(change));
        state
    }

    proptest! {
        #[test]
        fn a_log_says_what_happened_in_as_many_lines_as_keys(
            changes in prop::collection::vec(change(), 0..40),
            taken_over in 0_usize..40,
        ) {
            let mut head = Head { log: Log::default(), ..head() };
            for (number, change) in changes.iter().enumerate() {
                if number == taken_over {
                    head = Head::decode(&head.encode()).unwrap();
                }
                head.log.push(change);
            }
            prop_assert_eq!(with(&head.log.changes().unwrap()), with(&changes));
            prop_assert_eq!(Head::decode(&head.encode()).unwrap(), head.clone());
            let mut text = String::new();
            head.log.write(&mut text);
            prop_assert!((text.len()..=text.len() + AND.len()).contains(&head.log.bytes()));
            let others = changes.iter().filter(|change| change.key().is_none()).count();
            prop_assert!(head.log.lines() <= 2 * 4 + others);
        }
    }
}
