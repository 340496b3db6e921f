//! The stat cache: what reading and checking a folder came to, kept as long as its files look the same from outside.
//!
//! It works as git's index does. A folder's value is used again when the folder and every file that was read for it still have the size,
//! times and inode that they had then; nothing is opened. A file that changed so shortly before it was read that a later change could look
//! the same is not remembered, and read again next time. The file is replaced in one step, so that two runs at once do no harm; a missing,
//! damaged or foreign one is no cache, and so is one that was made for other settings. It may be removed at any time.

mod layout;
mod stamp;
mod touched;

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};
use tempfile::NamedTempFile;

use crate::desired::Digest;

pub(super) use layout::{Kept, Record, touch};
pub(super) use stamp::Stamp;
pub use touched::Touched;

/// Changes with the layout.
const MAGIC: [u8; 8] = *b"lpcache2";
/// Magic, key, digest of the rest.
const HEAD: usize = 8 + 32 + 32;
/// Larger ones are not ours: ten times what 100,000 folders need.
const LARGEST: u64 = 1 << 30;
/// Files that stay, the newest first: one per environment and profile that is in use.
const FILES: usize = 8;
const PREFIX: &str = "check-";

/// One file below `.letterpress/cache`.
#[derive(Debug)]
pub struct Cache {
    /// The file as it was; empty where there is none that can be used.
    pub(super) old: Vec<u8>,
    pub(super) pen: Pen,
}

/// What the next file is written with.
#[derive(Debug)]
pub(super) struct Pen {
    folder: PathBuf,
    name: String,
    key: Digest,
    draft: OnceLock<Option<Draft>>,
}

/// The next file in the making, and the time of the file system when it was made.
#[derive(Debug)]
struct Draft {
    file: NamedTempFile,
    now: i64,
}

impl Cache {
    /// Opens the cache of a project. `purpose` chooses the file; `key` stands for all that the values depend on besides the templates: a
    /// cache that was made under another key is not used.
    #[must_use]
    pub fn open(root: &Path, purpose: &str, key: Digest) -> Self {
        let folder = root.join(".letterpress").join("cache");
        let name = format!("{PREFIX}{}.bin", Digest::of(purpose.as_bytes()).short());
        let old = if owned(&folder) { load(&folder.join(&name), key) } else { None };
        Self { old: old.unwrap_or_default(), pen: Pen { folder, name, key, draft: OnceLock::new() } }
    }
}

/// What a file remembers of the topmost folder.
pub(super) fn record(file: &[u8]) -> Option<Record<'_>> {
    Record::read(file.get(HEAD..)?)
}

impl Pen {
    /// A time of the file system's clock, before what is read after the first call; nothing where no cache can be written.
    pub(super) fn now(&self) -> Option<i64> {
        self.draft.get_or_init(|| Draft::new(&self.folder).ok()).as_ref().map(|draft| draft.now)
    }

    /// Replaces the file where that is worth it. A cache that cannot be written is none.
    pub(super) fn keep(&mut self, kept: &Kept<'_>) {
        if let Some(draft) = self.draft.take().flatten().filter(|_| kept.gains()) {
            let _ = self.replace(draft.file, kept);
        }
    }

    fn replace(&self, mut file: NamedTempFile, kept: &Kept<'_>) -> io::Result<()> {
        let mut bytes = Vec::from(MAGIC);
        bytes.extend_from_slice(self.key.bytes());
        bytes.extend_from_slice(&[0; 32]);
        kept.write(&mut bytes);
        let sum = sum(&bytes).ok_or(io::ErrorKind::InvalidData)?;
        bytes[HEAD - 32..HEAD].copy_from_slice(sum.bytes());
        file.write_all(&bytes)?;
        file.persist(self.folder.join(&self.name))?;
        self.tidy()
    }

    /// Removes the files that were not written for the longest time.
    fn tidy(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)) {
                files.push((entry.metadata()?.modified()?, entry.path()));
            }
        }
        files.sort();
        let spare = files.len().saturating_sub(FILES);
        files.into_iter().take(spare).try_for_each(|(_, path)| fs::remove_file(path))
    }
}

impl Draft {
    fn new(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        // A link could lead anywhere, and files are replaced and removed there.
        if !owned(folder) {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let ignore = folder.join(".gitignore");
        if ignore.symlink_metadata().is_err() {
            fs::write(ignore, "*\n")?;
        }
        let file = tempfile::Builder::new().prefix("draft-").tempfile_in(folder)?;
        let now = Stamp::of(&rustix::fs::fstat(file.as_file())?).changed();
        Ok(Self { file, now })
    }
}

/// Whether the cache's folder and the one above it are folders and no links.
fn owned(folder: &Path) -> bool {
    let folder_itself = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    folder.parent().is_some_and(folder_itself) && folder_itself(folder)
}

/// Reads a cache that was made under `key`.
fn load(path: &Path, key: Digest) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let meta = file.metadata().ok().filter(|meta| meta.is_file() && meta.len() <= LARGEST)?;
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).ok()? + 1);
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    let head = bytes.get(..HEAD)?;
    let sound = head[..8] == MAGIC && head[8..40] == *key.bytes() && head[40..] == *sum(&bytes)?.bytes();
    sound.then_some(bytes)
}

/// The digest of all that follows the head.
fn sum(bytes: &[u8]) -> Option<Digest> {
    bytes.get(HEAD..).map(Digest::of)
}
