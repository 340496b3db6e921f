//! `base-<serial>-<digest>.json`: the whole map at one serial, never changed, named by its content (safety §2).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::head::{BaseRef, FORMAT, HeadError};
use super::{Account, Deed, Op, Record, Stamp, State};
use crate::desired::{Digest, Key};

/// A base carries all that a head could be made of again.
#[derive(Serialize, Deserialize)]
struct Base<Records> {
    format: u64,
    lineage: Uuid,
    account: Account,
    serial: u64,
    epoch: u64,
    leaked: Vec<Op>,
    #[serde(default)]
    last_apply: Option<Stamp>,
    history: Vec<Deed>,
    records: Records,
}

/// What a state is before anything happened to it: what the first snapshot has. A head alone says all of it.
#[must_use]
pub fn first(lineage: Uuid, account: Account) -> State {
    State { serial: 1, ..State::empty(lineage, account) }
}

/// The bytes of a snapshot of `state`, and their name.
#[must_use]
pub fn encode(state: &State) -> (BaseRef, Vec<u8>) {
    let base = Base {
        format: FORMAT,
        lineage: state.lineage,
        account: state.account.clone(),
        serial: state.serial,
        epoch: state.epoch,
        leaked: state.leaked.clone(),
        last_apply: state.last_apply.clone(),
        history: state.history.clone(),
        records: &state.records,
    };
    // Serializing to memory cannot fail: all keys are text.
    let bytes = serde_json::to_vec(&base).unwrap_or_default();
    let digest = Digest::of(&bytes);
    let name = format!("base-{}-{digest}.json", state.serial);
    (BaseRef { name, digest, entries: state.records.len() }, bytes)
}

/// Reads a snapshot.
///
/// # Errors
///
/// [`HeadError`]: damaged, or written by a later version.
pub fn decode(bytes: &[u8], digest: Option<Digest>) -> Result<State, HeadError> {
    if let Some(digest) = digest
        && Digest::of(bytes) != digest
    {
        return Err(HeadError::Damaged("its digest does not match its content".to_owned()));
    }
    let base: Base<BTreeMap<Key, Record>> =
        serde_json::from_slice(bytes).map_err(|error| HeadError::Damaged(format!("it is torn or edited: {error}")))?;
    if base.format > FORMAT {
        return Err(HeadError::TooNew(base.format));
    }
    Ok(State {
        lineage: base.lineage,
        account: base.account,
        serial: base.serial,
        epoch: base.epoch,
        records: base.records,
        leaked: base.leaked,
        last_apply: base.last_apply,
        history: base.history,
    })
}

/// The serial in a snapshot's name.
#[must_use]
pub fn serial_of(name: &str) -> Option<u64> {
    name.strip_prefix("base-")?.strip_suffix(".json")?.split_once('-')?.0.parse().ok()
}

/// The digest in a snapshot's name.
#[must_use]
pub fn digest_of(name: &str) -> Option<Digest> {
    let digest = name.strip_prefix("base-")?.strip_suffix(".json")?.split_once('-')?.1;
    Digest::try_from(digest.to_owned()).ok()
}
