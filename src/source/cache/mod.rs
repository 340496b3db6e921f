//! The stat cache: what reading and checking a folder came to, kept as long as its files look the same from outside.
//!
//! It works as git's index does. A folder's value is used again when the folder and every file that was read for it still have the size,
//! times and inode that they had then; nothing is opened. A file that changed so shortly before it was read that a later change could look
//! the same is not remembered, and read again next time. The file is replaced in one step, or what changed is added to its end in one write, so that
//! two runs at once do no harm; a missing, damaged or foreign one is no cache, and so is one that was made for other settings. It may be removed at any
//! time.

mod layout;
mod patch;
mod stamp;
mod touched;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rayon::prelude::*;
use rustix::fs::{Mode, OFlags};
use tempfile::NamedTempFile;

use crate::desired::Digest;

pub(super) use layout::{Kept, Record, touch};
pub(super) use stamp::Stamp;
pub use touched::Touched;

/// Changes with the layout.
const MAGIC: [u8; 8] = *b"lpcache3";
/// Magic, key, digest of the records, their bytes.
const HEAD: usize = 8 + 32 + LEAD;
/// What comes before the records, and before each patch behind them: their digest, their bytes.
const LEAD: usize = 32 + 8;
/// Patches come to no more than this part of the records; then the file is written anew.
const PATCHED: usize = 4;
/// Bytes of the file that one core reads at a time.
const SHARE: usize = 1 << 18;
/// Larger ones are not ours: ten times what 100,000 folders need.
const LARGEST: u64 = 1 << 30;
/// Files that stay, the newest first: one per environment and profile that is in use.
const FILES: usize = 8;
const PREFIX: &str = "check-";

/// One file below `.letterpress/cache`.
#[derive(Debug)]
pub struct Cache {
    pub(super) old: Old,
    pub(super) pen: Pen,
}

/// The file as it was.
#[derive(Debug, Default)]
pub(super) struct Old {
    /// The records and the patches, as long as they are sound; empty where there are none that can be used.
    bytes: Vec<u8>,
    /// Where the records and each patch are.
    pieces: Vec<Range<usize>>,
}

/// What the next file is written with.
#[derive(Debug)]
pub(super) struct Pen {
    folder: PathBuf,
    name: String,
    key: Digest,
    draft: OnceLock<Option<Draft>>,
    end: Option<End>,
}

/// The end of a sound file, where a patch may be added.
#[derive(Debug)]
struct End {
    inode: u64,
    bytes: usize,
    /// How many bytes of patches there is room for.
    room: usize,
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
        let loaded = if owned(&folder) { load(&folder.join(&name), key) } else { None };
        let (old, end) = loaded.unwrap_or_default();
        Self { old, pen: Pen { folder, name, key, draft: OnceLock::new(), end } }
    }
}

impl Old {
    /// What the file remembers of the topmost folder.
    pub(super) fn record(&self) -> Option<Record<'_>> {
        let (records, patches) = self.pieces.split_first()?;
        let mut record = Record::read(self.bytes.get(records.clone())?)?;
        for patch in patches {
            patch::apply(&mut record, self.bytes.get(patch.clone())?)?;
        }
        Some(record)
    }
}

impl Pen {
    /// A time of the file system's clock, before what is read after the first call; nothing where no cache can be written.
    pub(super) fn now(&self) -> Option<i64> {
        self.draft.get_or_init(|| Draft::new(&self.folder).ok()).as_ref().map(|draft| draft.now)
    }

    /// Writes what is worth it. A cache that cannot be written is none.
    pub(super) fn keep(&mut self, kept: &Kept<'_>) {
        let Some(draft) = self.draft.take().flatten().filter(|_| kept.gains()) else { return };
        if self.end.as_ref().is_none_or(|end| self.add(end, &patch::of(kept)).is_err()) {
            let _ = self.replace(draft.file, kept);
        }
    }

    /// Adds a patch to the file, if it still is as it was read.
    fn add(&self, end: &End, patch: &[u8]) -> io::Result<()> {
        if LEAD + patch.len() > end.room {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::open(self.folder.join(&self.name), flags, Mode::empty())?);
        let meta = file.metadata()?;
        if (meta.ino(), meta.len()) != (end.inode, end.bytes as u64) {
            return Err(io::ErrorKind::StaleNetworkFileHandle.into());
        }
        let mut bytes = Vec::with_capacity(LEAD + patch.len());
        lead(&mut bytes, patch);
        bytes.extend_from_slice(patch);
        file.write_all(&bytes)
    }

    fn replace(&self, mut file: NamedTempFile, kept: &Kept<'_>) -> io::Result<()> {
        let mut bytes = vec![0; HEAD];
        kept.write(&mut bytes);
        let mut head = Vec::from(MAGIC);
        head.extend_from_slice(self.key.bytes());
        lead(&mut head, &bytes[HEAD..]);
        bytes[..HEAD].copy_from_slice(&head);
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

/// Reads a cache that was made under `key`. Behind a patch that is torn nothing counts, and nothing is added.
fn load(path: &Path, key: Digest) -> Option<(Old, Option<End>)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let meta = file.metadata().ok().filter(|meta| meta.is_file() && meta.len() <= LARGEST)?;
    let bytes = read(&file, usize::try_from(meta.len()).ok()?)?;
    if bytes.get(..8)? != MAGIC || bytes.get(8..40)? != key.bytes() {
        return None;
    }
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let mut at = 40;
    while let Some(piece) = piece(&bytes, at) {
        at = piece.end;
        pieces.push(piece);
    }
    let records = pieces.first()?.len();
    let patches = at - HEAD - records;
    let end = End { inode: meta.ino(), bytes: at, room: (records / PATCHED).saturating_sub(patches) };
    let sound = at == bytes.len();
    Some((Old { bytes, pieces }, sound.then_some(end)))
}

/// Reads as many bytes, on all cores: most of it is the kernel's handing out of memory.
fn read(file: &File, size: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; size];
    bytes
        .par_chunks_mut(SHARE)
        .enumerate()
        .try_for_each(|(at, share)| file.read_exact_at(share, (at * SHARE) as u64))
        .ok()?;
    Some(bytes)
}

/// What comes before records or a patch.
fn lead(out: &mut Vec<u8>, piece: &[u8]) {
    out.extend_from_slice(Digest::of_many(piece).bytes());
    out.extend_from_slice(&(piece.len() as u64).to_le_bytes());
}

/// Where the piece is whose lead stands at `at`; nothing when it is not sound.
fn piece(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let (digest, length) = bytes.get(at..at + LEAD)?.split_at(32);
    let length = usize::try_from(u64::from_le_bytes(*length.first_chunk()?)).ok()?;
    let span = at + LEAD..(at + LEAD).checked_add(length)?;
    (Digest::of_many(bytes.get(span.clone())?).bytes() == digest).then_some(span)
}
