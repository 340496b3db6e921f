//! What a file or folder looks like from outside, cheap to ask: when it is as before, so is the content.

use rustix::fs::Stat;

/// Size, times and inode. The change time is the kernel's own and cannot be set, so that an edit that restores size and modification
/// time is seen as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    size: i64,
    modified: i64,
    changed: i64,
    inode: u64,
}

/// Nanoseconds in a second.
const SECOND: i64 = 1_000_000_000;

/// How coarse the times of a file system may be. FAT counts in steps of two seconds, and nothing in use is coarser.
const GRAIN: i64 = 2 * SECOND;

impl Stamp {
    /// Bytes of a stamp as kept.
    pub const BYTES: usize = 32;

    /// A stamp that nothing has.
    pub const NEVER: Self = Self { size: 0, modified: 0, changed: 0, inode: 0 };

    /// Reads a stamp out of what the system says.
    #[must_use]
    pub fn of(stat: &Stat) -> Self {
        Self {
            size: stat.st_size,
            modified: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            changed: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
            inode: stat.st_ino,
        }
    }

    /// Whether a later change could leave the stamp as it is, because it falls in the same tick of the file system's clock. `now` is a
    /// time of that clock from before the content was read, in nanoseconds.
    #[must_use]
    pub fn racy(&self, now: i64) -> bool {
        self.modified.max(self.changed) >= now.saturating_sub(GRAIN)
    }

    /// The time of the last change, in nanoseconds.
    #[must_use]
    pub fn changed(&self) -> i64 {
        self.changed
    }

    /// As kept.
    #[must_use]
    pub fn bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let fields = [self.size.to_le_bytes(), self.modified.to_le_bytes(), self.changed.to_le_bytes()];
        let fields = fields.into_iter().chain([self.inode.to_le_bytes()]);
        for (place, field) in bytes.chunks_exact_mut(8).zip(fields) {
            place.copy_from_slice(&field);
        }
        bytes
    }

    /// Out of what was kept.
    #[must_use]
    pub fn read(bytes: &[u8; Self::BYTES]) -> Self {
        let field = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at * 8..at * 8 + 8]);
            word
        };
        Self {
            size: i64::from_le_bytes(field(0)),
            modified: i64::from_le_bytes(field(1)),
            changed: i64::from_le_bytes(field(2)),
            inode: u64::from_le_bytes(field(3)),
        }
    }
}

fn nanoseconds(seconds: i64, nanoseconds: impl TryInto<i64>) -> i64 {
    seconds.saturating_mul(SECOND).saturating_add(nanoseconds.try_into().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_survives_being_kept() {
        let stamp = Stamp { size: 1, modified: -2, changed: i64::MAX, inode: u64::MAX };
        assert_eq!(Stamp::read(&stamp.bytes()), stamp);
    }

    #[test]
    fn a_stamp_is_racy_until_the_clock_has_moved_on_by_its_grain() {
        let now = 100 * SECOND;
        for (modified, changed, racy) in [
            (now - GRAIN - 1, now - GRAIN - 1, false),
            (now - GRAIN, 0, true),
            (0, now - GRAIN, true),
            (now + SECOND, 0, true),
        ] {
            let stamp = Stamp { size: 1, modified, changed, inode: 1 };
            assert_eq!(stamp.racy(now), racy, "{stamp:?}");
        }
    }
}
