//! Opening files so that a hostile pull request reads nothing outside its template folder (safety P6).
//!
//! Every step of a path is opened relative to the one before it and never through a symlink, so that a check and a use cannot differ.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::problem::Fault;

/// Why a path cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The user's files are wrong.
    #[error("{1}")]
    Fault(Fault, String),
    /// The path or what leads there is a symlink.
    #[error("`{0}` is a symlink")]
    Symlink(String),
    /// The system failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Refused {
    fn fault(fault: Fault, message: impl Into<String>) -> Self {
        Self::Fault(fault, message.into())
    }
}

/// Says what is wrong with a path as written, before anything is opened.
///
/// # Errors
///
/// [`Refused::Fault`] with the rule that it breaks.
pub fn lexical(path: &str) -> Result<(), Refused> {
    if path.is_empty() {
        return Err(Refused::fault(Fault::FileMissing, "the path is empty"));
    }
    if path.starts_with('/') || path.as_bytes().get(1) == Some(&b':') {
        return Err(Refused::fault(Fault::PathOutside, format!("`{path}` is an absolute path")));
    }
    if path.contains('\\') {
        return Err(Refused::fault(
            Fault::PathUnportable,
            format!("`{path}` has a backslash; use `/` on every system"),
        ));
    }
    for part in path.split('/') {
        match part {
            ".." => {
                return Err(Refused::fault(Fault::PathOutside, format!("`{path}` leaves the template's folder")));
            }
            "" | "." => {
                return Err(Refused::fault(Fault::PathUnportable, format!("`{path}` has an empty part or a `.`")));
            }
            _ => {}
        }
        if is_git(part) {
            return Err(Refused::fault(Fault::PathGit, format!("`{path}` is one of git's own files")));
        }
        if let Some(why) = unportable(part) {
            return Err(Refused::fault(Fault::PathUnportable, format!("`{path}` {why}")));
        }
    }
    Ok(())
}

/// Whether some file system takes the name for git's own folder.
fn is_git(part: &str) -> bool {
    let lower = part.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    let lower = lower.split(':').next().unwrap_or_default();
    let visible: String = lower.chars().filter(|c| !crate::untrusted::is_control(*c)).collect();
    matches!(visible.as_str(), ".git" | "git~1" | ".gitmodules")
}

fn unportable(part: &str) -> Option<&'static str> {
    if part.contains(crate::untrusted::is_control) {
        return Some("has a control character");
    }
    if part.contains(['<', '>', ':', '"', '|', '?', '*']) {
        return Some("has a character that Windows does not allow");
    }
    if part.ends_with(['.', ' ']) {
        return Some("has a part that ends with a dot or a blank");
    }
    let stem = part.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let device = matches!(stem.as_str(), "con" | "prn" | "aux" | "nul")
        || (stem.len() == 4
            && (stem.starts_with("com") || stem.starts_with("lpt"))
            && stem.ends_with(|c: char| c.is_ascii_digit()));
    if device { Some("has the name of a Windows device") } else { None }
}

/// Opens a folder by its path from the outside, as the user named it: symlinks on the way are the user's own.
///
/// # Errors
///
/// The system's.
pub fn open_root(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Opens a folder below another, one name deep.
///
/// # Errors
///
/// [`Refused::Fault`] for a symlink, for what is no folder, and for what is not there.
pub fn open_folder(parent: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Refused> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty()).map_err(|errno| explain(parent, name, errno, true))
}

/// A regular file, open, and how it looked then.
#[derive(Debug)]
pub struct Opened {
    /// To be read.
    pub file: File,
    /// From before anything was read.
    pub stat: Stat,
}

impl Opened {
    /// Its size in bytes; it may grow.
    #[must_use]
    pub fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }
}

/// Opens a regular file below a folder by a path that [`lexical`] accepts.
///
/// # Errors
///
/// [`Refused::Fault`] for a symlink on the way, for what is no regular file, and for what is not there.
pub fn open_file(folder: BorrowedFd<'_>, path: &str) -> Result<Opened, Refused> {
    lexical(path)?;
    let mut parts = path.split('/').peekable();
    let mut held: Option<OwnedFd> = None;
    let mut end = 0;
    while let Some(part) = parts.next() {
        let at = held.as_ref().map_or(folder, AsFd::as_fd);
        end += part.len();
        let whole = |refused| match refused {
            Refused::Symlink(_) => Refused::Symlink(path[..end].to_owned()),
            refused => refused,
        };
        if parts.peek().is_some() {
            held = Some(open_folder(at, part).map_err(whole)?);
        } else {
            return open_name(at, part).map_err(whole);
        }
        end += 1;
    }
    Err(Refused::fault(Fault::FileMissing, "the path is empty"))
}

/// Opens a regular file in a folder. A pipe or a device is refused without waiting for it, and without opening it.
fn open_name(folder: BorrowedFd<'_>, name: &str) -> Result<Opened, Refused> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|errno| explain(folder, name, errno, false))?;
    regular(FileType::from_raw_mode(stat.st_mode), name)?;
    open_listed(folder, name)
}

/// Opens what was a regular file when its folder was listed, or looked at, a moment before.
///
/// # Errors
///
/// [`Refused::Fault`] for what is none any more: hence no following, no waiting, and a second look.
pub fn open_listed(folder: BorrowedFd<'_>, name: &str) -> Result<Opened, Refused> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file =
        rustix::fs::openat(folder, name, flags, Mode::empty()).map_err(|errno| explain(folder, name, errno, false))?;
    let stat = rustix::fs::fstat(&file).map_err(io::Error::from)?;
    regular(FileType::from_raw_mode(stat.st_mode), name)?;
    Ok(Opened { file: File::from(file), stat })
}

fn regular(kind: FileType, name: &str) -> Result<(), Refused> {
    match kind {
        FileType::RegularFile => Ok(()),
        FileType::Symlink => Err(Refused::Symlink(name.to_owned())),
        other => Err(Refused::fault(Fault::NotAFile, format!("`{name}` is {}, not a file", kind_name(other)))),
    }
}

/// What a directory entry is, in a sentence.
#[must_use]
pub fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "a folder",
        FileType::Symlink => "a symlink",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    }
}

fn explain(parent: BorrowedFd<'_>, name: &str, errno: Errno, folder: bool) -> Refused {
    let is_link = || {
        rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    };
    match errno {
        Errno::LOOP => Refused::Symlink(name.to_owned()),
        Errno::NOTDIR if is_link() => Refused::Symlink(name.to_owned()),
        Errno::NOENT => Refused::fault(Fault::FileMissing, format!("`{name}` does not exist")),
        Errno::NOTDIR if folder => Refused::fault(Fault::NotAFile, format!("`{name}` is not a folder")),
        Errno::NXIO => Refused::fault(Fault::NotAFile, format!("`{name}` is not a file")),
        Errno::NAMETOOLONG => Refused::fault(Fault::PathUnportable, "a part of the path is too long".to_owned()),
        errno => Refused::Io(errno.into()),
    }
}

/// Reads a file whole, at most `limit` bytes; the outer `None` says that it is longer (it may grow while it is read).
///
/// # Errors
///
/// The system's.
pub fn read_bounded(opened: Opened, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let size = opened.size();
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(limit)).unwrap_or(0) + 1);
    let read = rustix::io::retry_on_intr(|| rustix::io::read(&opened.file, spare_capacity(&mut bytes)))?;
    // There was room for one byte more: a file that has as many as it said has ended, and need not be asked again.
    if read as u64 != size {
        opened.file.take((limit + 1).saturating_sub(read as u64)).read_to_end(&mut bytes)?;
    }
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(path: &str) -> Option<Fault> {
        match lexical(path) {
            Err(Refused::Fault(fault, _)) => Some(fault),
            _ => None,
        }
    }

    #[test]
    fn a_path_is_judged_before_it_is_opened() {
        for good in ["a.png", "img/a b.png", "ünïcode.png", "a..b", ".hidden", "console.png"] {
            assert_eq!(fault(good), None, "{good}");
        }
        for (bad, expected) in [
            ("/etc/passwd", Fault::PathOutside),
            ("C:/x", Fault::PathOutside),
            ("../x", Fault::PathOutside),
            ("a/../../x", Fault::PathOutside),
            ("a\\b", Fault::PathUnportable),
            ("a//b", Fault::PathUnportable),
            ("./a", Fault::PathUnportable),
            ("con.png", Fault::PathUnportable),
            ("a/LPT1", Fault::PathUnportable),
            ("a.", Fault::PathUnportable),
            ("a\u{0}b", Fault::PathUnportable),
            ("name:stream", Fault::PathUnportable),
            (".git/config", Fault::PathGit),
            ("x/.GIT/config", Fault::PathGit),
            (".g\u{200c}it/config", Fault::PathGit),
            ("", Fault::FileMissing),
        ] {
            assert_eq!(fault(bad), Some(expected), "{bad}");
        }
    }

    #[test]
    fn a_pipe_does_not_block_and_a_symlink_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("plain"), "text").unwrap();
        std::os::unix::fs::symlink("plain", folder.path().join("link")).unwrap();
        std::fs::create_dir(folder.path().join("dir")).unwrap();
        std::os::unix::fs::symlink("dir", folder.path().join("linkdir")).unwrap();
        let root = open_root(folder.path()).unwrap();
        rustix::fs::mknodat(&root, "pipe", FileType::Fifo, Mode::RUSR, 0).unwrap();
        let fault = |path: &str| match open_file(root.as_fd(), path) {
            Err(Refused::Fault(fault, _)) => fault,
            Err(Refused::Symlink(link)) => {
                assert!(path.starts_with(&link) && !link.contains('/'), "{link}");
                Fault::PathSymlink
            }
            other => panic!("{path}: {other:?}"),
        };
        assert_eq!(fault("pipe"), Fault::NotAFile);
        assert_eq!(fault("dir"), Fault::NotAFile);
        assert_eq!(fault("link"), Fault::PathSymlink);
        assert_eq!(fault("linkdir/x"), Fault::PathSymlink);
        assert_eq!(fault("plain/x"), Fault::NotAFile);
        assert_eq!(fault("none"), Fault::FileMissing);
        // What has become something else since it was listed.
        assert!(matches!(open_listed(root.as_fd(), "pipe"), Err(Refused::Fault(Fault::NotAFile, _))));
        assert!(matches!(open_listed(root.as_fd(), "dir"), Err(Refused::Fault(Fault::NotAFile, _))));
        assert!(matches!(open_listed(root.as_fd(), "link"), Err(Refused::Symlink(_))));
        assert_eq!(read_bounded(open_file(root.as_fd(), "plain").unwrap(), 4).unwrap().unwrap(), b"text");
        assert_eq!(read_bounded(open_file(root.as_fd(), "plain").unwrap(), 3).unwrap(), None);
    }
}
