//! Which files were read for a template folder, and how they looked before.

use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, Stat};

use super::Stamp;

/// The files of one folder, in the order in which they were read.
#[derive(Debug, Clone, Default)]
pub struct Touched {
    list: Vec<(String, Stamp)>,
    spoiled: bool,
}

impl Touched {
    /// A file below `dir`, as it was when it was opened. The folders on the way count too: one that is replaced by a link leads elsewhere.
    pub fn file(&mut self, dir: BorrowedFd<'_>, path: &str, stat: &Stat) {
        for (at, _) in path.match_indices('/') {
            match rustix::fs::statat(dir, &path[..at], AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => self.list.push((path[..at].to_owned(), Stamp::of(&stat))),
                Err(_) => self.spoil(),
            }
        }
        self.list.push((path.to_owned(), Stamp::of(stat)));
    }

    /// A file could not be read, so that its stamp says nothing: the folder is read again next time.
    pub fn spoil(&mut self) {
        self.spoiled = true;
    }

    /// The files; nothing when one could not be read.
    #[must_use]
    pub fn files(self) -> Option<Vec<(String, Stamp)>> {
        (!self.spoiled).then_some(self.list)
    }
}
