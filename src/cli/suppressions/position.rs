//! `--resume FILE`: where an interrupted run goes on. Written whole or not at all, after each step.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cli::{Exit, Failure};

/// A file that keeps a position.
#[derive(Debug)]
pub struct Resume {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Kept<P> {
    /// 1.
    format: u32,
    #[serde(flatten)]
    position: P,
}

impl Resume {
    /// Keeps positions in a file, and reads the one it has from an earlier run.
    ///
    /// # Errors
    ///
    /// Exit 5 when the file is there and is not one of ours.
    pub fn open<P: DeserializeOwned>(path: &Path) -> anyhow::Result<(Self, Option<P>)> {
        let resume = Self { path: path.to_owned() };
        let unusable = |what: String| {
            Failure::new(Exit::Unusable, format!("{} {what}", path.display()))
                .help("name another file; it is made by the run and removed when all is done")
        };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((resume, None)),
            Err(error) => return Err(unusable(format!("cannot be read: {error}")).into()),
        };
        let kept: Kept<P> = serde_json::from_str(&text)
            .map_err(|error| unusable(format!("is no position of this command: {error}")))?;
        if kept.format != 1 {
            return Err(unusable(format!("has the format {}, and this version reads 1", kept.format)).into());
        }
        Ok((resume, Some(kept.position)))
    }

    /// Writes a position over the one before.
    ///
    /// # Errors
    ///
    /// The folder cannot be written.
    pub fn save<P: Serialize>(&self, position: &P) -> anyhow::Result<()> {
        let write = || -> std::io::Result<()> {
            let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or_else(|| Path::new(".")))?;
            serde_json::to_writer(&mut file, &Kept { format: 1, position })?;
            file.write_all(b"\n")?;
            file.persist(&self.path)?;
            Ok(())
        };
        write().map_err(|error| anyhow::anyhow!("cannot write {}: {error}", self.path.display()))
    }

    /// Forgets the position: all is done.
    ///
    /// # Errors
    ///
    /// The file is there and cannot be removed.
    pub fn done(&self) -> anyhow::Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(anyhow::anyhow!("cannot remove {}: {error}", self.path.display()))
            }
            _ => Ok(()),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}
