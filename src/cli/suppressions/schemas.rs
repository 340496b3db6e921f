//! The JSON Schemas of what these commands write.

use schemars::{Schema, schema_for};

use super::{ledger, records};

/// Of `list --format json`.
pub fn list() -> Schema {
    schema_for!(records::ListJson<'_>)
}

/// Of a line of `list --format jsonl`.
pub fn record() -> Schema {
    schema_for!(records::RecordJson<'_>)
}

/// Of a line of the report of a change.
pub fn report() -> Schema {
    schema_for!(ledger::ReportJson<'_>)
}
