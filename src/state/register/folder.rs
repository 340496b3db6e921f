//! The register in a folder: the kernel's file lock, and files that are replaced whole (safety §3).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::desired::Digest;
use crate::state::call::{Call, Reply, Token};
use crate::state::error::Error;

const HEAD: &str = "head.json";
const LOCK: &str = "lock";

/// A state's folder. Reading needs no lock; [`Folder::lock`] comes before the first write.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Held for as long as this value lives; the kernel frees it with the process.
    lock: Option<File>,
    /// Writes that are under way in other folders' temp names; only to keep names apart.
    written: u64,
    /// A file got its name, and whether the disk knows that is not certain yet.
    unsynced: bool,
    /// The head that was written last, and its version: to compare costs less than to hash.
    last: Option<(Arc<[u8]>, Token)>,
    #[cfg(test)]
    pub(crate) fault: Option<super::fault::Fault>,
}

impl Folder {
    /// A folder, there or not.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            lock: None,
            written: 0,
            unsynced: false,
            last: None,
            #[cfg(test)]
            fault: None,
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the kernel's lock without waiting; `false`: another process has it. Makes the folder where it is missing.
    ///
    /// # Errors
    ///
    /// [`Error::Unfit`] on a file system whose locks cannot be trusted, [`Error::Io`] where the folder cannot be written.
    pub fn lock(&mut self) -> Result<bool, Error> {
        self.make().map_err(Error::io(&self.path))?;
        refuse_network(&self.path)?;
        let path = self.path.join(LOCK);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        private(&mut options);
        let file = options.open(&path).map_err(Error::io(&path))?;
        match file.try_lock() {
            Ok(()) => {
                self.lock = Some(file);
                self.sweep();
                Ok(true)
            }
            Err(fs::TryLockError::WouldBlock) => Ok(false),
            Err(fs::TryLockError::Error(source)) => Err(Error::Io { path, source }),
        }
    }

    /// Makes the folder where it is missing, so that a power cut does not take it away again with all ids in it.
    fn make(&mut self) -> io::Result<()> {
        let path = self.path.clone();
        let missing = path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let parents: Vec<&Path> = missing.filter_map(Path::parent).collect();
        fs::create_dir_all(&path)?;
        parents.into_iter().try_for_each(|parent| self.sync_folder(parent))
    }

    /// Removes what a process that died left half-written. Only under the lock.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.path) else { return };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(".new-") {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// The names of the files that are there, in no order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.path) else { return Vec::new() };
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// Carries out one call.
    pub fn answer(&mut self, call: &Call) -> Reply {
        let result = match call {
            Call::Load => self.load().map(Reply::Loaded),
            Call::Get { name } => self.read(name).map(Reply::Got),
            Call::Swap { expected, bytes } => self.swap(expected.as_ref(), bytes),
            Call::Put { name, bytes } => self.replace(name, bytes).map(|()| Reply::Done),
            Call::Delete { name } => match self.remove(&self.path.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(Reply::Done),
            },
            #[cfg(test)]
            Call::Overwrite { bytes } => self.replace(HEAD, bytes).map(|()| Reply::Swapped(token(bytes))),
        };
        result.unwrap_or_else(|error| {
            let why = format!("{}: {error}", self.path.display());
            if is_final(&error) { Reply::Refused(why) } else { Reply::Unknown(why) }
        })
    }

    /// The head, once it is certain that the disk has it too: a run must not send on the word of a file that a power cut takes away.
    fn load(&mut self) -> io::Result<Option<(Vec<u8>, Token)>> {
        if self.unsynced {
            self.sync_folder(&self.path.clone())?;
            self.unsynced = false;
        }
        Ok(self.read(HEAD)?.map(|bytes| {
            let token = match &self.last {
                Some((last, token)) if **last == *bytes => token.clone(),
                _ => token(&bytes),
            };
            (bytes, token)
        }))
    }

    fn read(&mut self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let path = self.path.join(name);
        match self.step(Step::Read(&path)).and_then(|()| fs::read(&path)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The lock makes this a compare-and-swap; the comparison notices who edits the folder without asking the lock.
    fn swap(&mut self, expected: Option<&Token>, bytes: &Arc<[u8]>) -> io::Result<Reply> {
        if self.lock.is_none() {
            return Err(io::Error::other("the folder's lock is not held"));
        }
        let found = self.load()?.map(|(_, token)| token);
        if found.as_ref() != expected {
            return Ok(Reply::Conflict);
        }
        self.replace(HEAD, bytes)?;
        let token = token(bytes);
        self.last = Some((Arc::clone(bytes), token.clone()));
        Ok(Reply::Swapped(token))
    }

    /// Replaces a file whole: after a crash at any moment the old or the new content is there.
    fn replace(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let target = self.path.join(name);
        self.written += 1;
        let temporary = self.path.join(format!(".new-{}-{}", std::process::id(), self.written));
        if let Some(folder) = target.parent().filter(|folder| *folder != self.path) {
            fs::create_dir_all(folder)?;
        }
        if let Err(error) = self.write_new(&temporary, bytes).and_then(|()| self.rename(&temporary, &target)) {
            let _ = self.remove(&temporary);
            return Err(error);
        }
        self.unsynced = true;
        self.sync_folder(target.parent().unwrap_or(&self.path.clone()))?;
        self.unsynced = false;
        Ok(())
    }

    fn write_new(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        private(&mut options);
        self.step(Step::Create(path))?;
        let mut file = options.open(path)?;
        if let Err(error) = self.step(Step::Write(path, bytes)) {
            // What a full disk takes of a write that fails.
            let _ = file.write_all(&bytes[..bytes.len() / 2]);
            return Err(error);
        }
        file.write_all(bytes)?;
        self.step(Step::Sync(path))?;
        file.sync_all()
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(Step::Rename(from, to))?;
        fs::rename(from, to)
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.step(Step::Remove(path))?;
        fs::remove_file(path)
    }

    fn sync_folder(&mut self, path: &Path) -> io::Result<()> {
        self.step(Step::SyncFolder(path))?;
        sync_folder(path)
    }

    /// Before each thing that a disk can fail at: tests let it fail.
    #[cfg_attr(not(test), expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "tests let it fail"))]
    fn step(&mut self, step: Step<'_>) -> io::Result<()> {
        #[cfg(test)]
        if let Some(fault) = &mut self.fault {
            return fault.step(step);
        }
        let _ = step;
        Ok(())
    }
}

/// What a disk can fail at, with the files and what is written to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step<'a> {
    Read(&'a Path),
    Create(&'a Path),
    Write(&'a Path, &'a [u8]),
    Sync(&'a Path),
    Rename(&'a Path, &'a Path),
    SyncFolder(&'a Path),
    Remove(&'a Path),
}

/// Whether the system would say the same again.
fn is_final(error: &io::Error) -> bool {
    use io::ErrorKind::{IsADirectory, NotADirectory, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | NotADirectory | IsADirectory)
}

fn token(bytes: &[u8]) -> Token {
    Token(Digest::of(bytes).to_string())
}

/// Makes a new file its owner's alone.
#[cfg(unix)]
pub(in crate::state) fn private(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600);
}

#[cfg(not(unix))]
pub(in crate::state) fn private(_options: &mut OpenOptions) {}

#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    let here = Path::new(".");
    File::open(if path.as_os_str().is_empty() { here } else { path })?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// NFS, SMB and FUSE cannot be trusted to keep two machines apart.
#[cfg(target_os = "linux")]
fn refuse_network(path: &Path) -> Result<(), Error> {
    let stat = rustix::fs::statfs(path).map_err(|error| Error::Io { path: path.into(), source: error.into() })?;
    match network(u64::try_from(stat.f_type).unwrap_or_default()) {
        Some(name) => Err(Error::Unfit {
            place: path.display().to_string(),
            why: format!("it is on {name}, whose file locks cannot be trusted"),
        }),
        None => Ok(()),
    }
}

/// The kinds of file system that are refused, by the number that the kernel gives them (`linux/magic.h`).
#[cfg(target_os = "linux")]
fn network(kind: u64) -> Option<&'static str> {
    // Some kernels give it with its sign extended.
    match kind & 0xffff_ffff {
        0x6969 => Some("NFS"),
        0x517b | 0xfe53_4d42 | 0xff53_4d42 => Some("SMB"),
        0x6573_5546 => Some("FUSE"),
        _ => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn refuse_network(_path: &Path) -> Result<(), Error> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn file_systems_whose_locks_cannot_be_trusted_are_refused() {
        // What `stat -f -c %t` shows on NFS, cifs, smb2, the old smbfs, FUSE; then on ext4, xfs, btrfs, tmpfs, overlayfs, zfs.
        for (kind, name) in [(0x6969, "NFS"), (0xff53_4d42, "SMB"), (0xfe53_4d42, "SMB"), (0x517b, "SMB")] {
            assert_eq!(network(kind), Some(name));
        }
        assert_eq!(network(0xffff_ffff_ff53_4d42), Some("SMB"));
        assert_eq!(network(0x6573_5546), Some("FUSE"));
        for local in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1] {
            assert_eq!(network(local), None);
        }
    }
}
