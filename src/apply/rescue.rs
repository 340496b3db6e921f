//! The last resort: a file with what the state did not take, for `state import --rescue`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::state::{Change, Run};

/// The content of a rescue file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rescue {
    /// 1.
    pub format: u64,
    /// The state that the changes belong to.
    pub lineage: Uuid,
    /// The run that could not save them.
    pub run: Uuid,
    /// The changes, in order.
    pub changes: Vec<Change>,
}

/// Writes the file into `folder`; `None`: nothing to write, or it cannot be written either (the ids are in the outcome and in the log).
pub(super) fn write(folder: &Path, run: &Run, lineage: Uuid, changes: &[Change]) -> Option<PathBuf> {
    if changes.is_empty() {
        return None;
    }
    let rescue = Rescue { format: 1, lineage, run: run.id, changes: changes.to_vec() };
    let text = serde_json::to_vec_pretty(&rescue).ok()?;
    let path = folder.join(format!("rescue-{}.json", run.id));
    save(folder, &path, &text).ok()?;
    Some(path)
}

fn save(folder: &Path, path: &Path, text: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text)?;
    file.sync_all()
}
