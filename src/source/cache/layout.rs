//! The cache as bytes: one record per folder, its own part first, then the folders below it.
//!
//! ```text
//! record  name, stamp, number of folders below, value or nothing, then one record for each folder below, by name
//! value   the files that it was made of, each with its stamp; the value itself, as the visitor made it
//! ```
//!
//! Lengths are little-endian. A folder and all below it are one run of bytes, so that what has not changed is copied in one go.

use super::Stamp;

/// Bytes of a length.
const LENGTH: usize = 4;

/// Folders deeper than the walk goes are no cache of ours.
const DEPTH: usize = 64;

/// What is remembered of a folder.
#[derive(Debug)]
pub struct Record<'a> {
    /// Its name in the folder above.
    pub name: &'a str,
    /// The folders below, by name.
    pub below: Vec<Record<'a>>,
    /// The bytes without the folders below; none of a folder of which nothing is remembered.
    pub(super) own: &'a [u8],
    /// The bytes with the folders below, where these are one run.
    pub(super) whole: Option<&'a [u8]>,
}

/// A value and what it was made of.
#[derive(Debug)]
pub struct Value<'a> {
    touched: &'a [u8],
    /// As the visitor's value was kept.
    pub bytes: &'a [u8],
}

/// The next state of a folder's record.
#[derive(Debug)]
pub enum Kept<'a> {
    /// Nothing can be said about it; the folder above must be read again.
    Nothing,
    /// As it was, all below included.
    Same(&'a [u8]),
    /// As it was itself, with changes below.
    Below(&'a [u8], Vec<Kept<'a>>),
    /// Read again.
    New {
        /// The folder's name.
        name: String,
        /// How it was before it was read.
        stamp: Stamp,
        /// The files, as [`touch`] writes them, and the value.
        value: Option<(Vec<u8>, Vec<u8>)>,
        /// The folders below, by name.
        below: Vec<Kept<'a>>,
    },
}

impl<'a> Record<'a> {
    /// Reads the record of the topmost folder; nothing when the bytes are anything else.
    #[must_use]
    pub fn read(mut bytes: &'a [u8]) -> Option<Self> {
        let record = Self::next(&mut bytes, 0)?;
        bytes.is_empty().then_some(record)
    }

    fn next(bytes: &mut &'a [u8], depth: usize) -> Option<Self> {
        if depth > DEPTH {
            return None;
        }
        let start = *bytes;
        let (mut record, folders) = Self::own(bytes)?;
        // A number that is none of ours must not ask for memory.
        record.below.reserve_exact(folders.min(1024));
        for _ in 0..folders {
            record.below.push(Self::next(bytes, depth + 1)?);
        }
        record.whole = Some(&start[..start.len() - bytes.len()]);
        Some(record)
    }

    /// Reads a folder's own part, and how many folders are below.
    pub(super) fn own(bytes: &mut &'a [u8]) -> Option<(Self, usize)> {
        let start = *bytes;
        let name = std::str::from_utf8(sized(bytes)?).ok()?;
        let _ = bytes.split_off(..Stamp::BYTES)?;
        let folders = length(bytes)?;
        let _ = Value::next(bytes)?;
        let own = &start[..start.len() - bytes.len()];
        Some((Self { name, below: Vec::new(), own, whole: None }, folders))
    }

    /// A folder of which nothing is remembered.
    pub(super) fn unknown(name: &'a str) -> Self {
        Self { name, below: Vec::new(), own: &[], whole: None }
    }

    /// How the folder was; [`Stamp::NEVER`] when it must be looked at again.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        let bytes = self.own.get(LENGTH + self.name.len()..).and_then(|bytes| bytes.first_chunk());
        bytes.map_or(Stamp::NEVER, Stamp::read)
    }

    /// What its template came to, when it is a template.
    #[must_use]
    pub fn value(&self) -> Option<Value<'a>> {
        let mut bytes = self.own.get(LENGTH + self.name.len() + Stamp::BYTES + LENGTH..)?;
        Value::next(&mut bytes)?
    }

    /// The record of a folder directly below.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<&Self> {
        let at = self.below.binary_search_by(|record| record.name.cmp(name)).ok()?;
        self.below.get(at)
    }

    /// The record again, after the folders below were looked at.
    #[must_use]
    pub fn again(&self, below: Vec<Kept<'a>>) -> Kept<'a> {
        // A folder that is gone, or cannot be looked into, under one that looks as it did.
        if below.len() != self.below.len() || !below.iter().all(Kept::is_known) {
            return Kept::Nothing;
        }
        match self.whole {
            Some(whole) if below.iter().all(|kept| matches!(kept, Kept::Same(_))) => Kept::Same(whole),
            _ => Kept::Below(self.own, below),
        }
    }
}

impl<'a> Value<'a> {
    /// Reads the value of a record, or that it has none.
    #[expect(clippy::option_option, reason = "no value is as good as one, and bytes that are neither are no record")]
    fn next(bytes: &mut &'a [u8]) -> Option<Option<Self>> {
        match bytes.split_off_first()? {
            0 => Some(None),
            1 => Some(Some(Self { touched: sized(bytes)?, bytes: sized(bytes)? })),
            _ => None,
        }
    }

    /// The files that the value was made of.
    pub fn touched(&self) -> impl Iterator<Item = (&'a str, Stamp)> {
        let mut bytes = self.touched;
        std::iter::from_fn(move || {
            let name = std::str::from_utf8(sized(&mut bytes)?).ok()?;
            Some((name, Stamp::read(bytes.split_off(..Stamp::BYTES)?.first_chunk()?)))
        })
    }
}

/// Adds a file to the list of those that a value was made of.
pub fn touch(list: &mut Vec<u8>, path: &str, stamp: Stamp) {
    put(list, path.as_bytes());
    list.extend_from_slice(&stamp.bytes());
}

impl Kept<'_> {
    /// Whether it is worth writing: something was read that need not be read next time.
    #[must_use]
    pub fn gains(&self) -> bool {
        match self {
            Self::Nothing | Self::Same(_) => false,
            Self::Below(_, below) => below.iter().any(Self::gains),
            Self::New { stamp, below, .. } => *stamp != Stamp::NEVER || below.iter().any(Self::gains),
        }
    }

    /// Whether there is a record.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !matches!(self, Self::Nothing)
    }

    /// Writes the record.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Nothing => {}
            Self::Same(bytes) => out.extend_from_slice(bytes),
            Self::Below(own, below) => {
                out.extend_from_slice(own);
                below.iter().for_each(|kept| kept.write(out));
            }
            Self::New { below, .. } => {
                self.write_own(out);
                below.iter().for_each(|kept| kept.write(out));
            }
        }
    }

    /// Writes the own part of a folder that was read again.
    pub(super) fn write_own(&self, out: &mut Vec<u8>) {
        let Self::New { name, stamp, value, below } = self else { return };
        put(out, name.as_bytes());
        out.extend_from_slice(&stamp.bytes());
        let known = below.iter().filter(|kept| kept.is_known()).count();
        out.extend_from_slice(&u32::try_from(known).unwrap_or(u32::MAX).to_le_bytes());
        match value {
            None => out.push(0),
            Some((touched, value)) => {
                out.push(1);
                put(out, touched);
                put(out, value);
            }
        }
    }

    /// The folder's name; nothing where there is no record.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Nothing => None,
            Self::Same(bytes) | Self::Below(bytes, _) => std::str::from_utf8(sized(&mut &**bytes)?).ok(),
            Self::New { name, .. } => Some(name),
        }
    }
}

pub(super) fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn length(bytes: &mut &[u8]) -> Option<usize> {
    let length = u32::from_le_bytes(*bytes.split_off(..LENGTH)?.first_chunk()?);
    usize::try_from(length).ok()
}

pub(super) fn sized<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = length(bytes)?;
    bytes.split_off(..length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(name: &str, value: Option<&[u8]>, below: Vec<Kept<'static>>) -> Kept<'static> {
        let mut touched = Vec::new();
        touch(&mut touched, "manifest.yaml", Stamp::NEVER);
        let value = value.map(|value| (touched, value.to_vec()));
        Kept::New { name: name.to_owned(), stamp: Stamp::read(&[7; 32]), value, below }
    }

    fn bytes(kept: &Kept<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        kept.write(&mut out);
        out
    }

    fn tree() -> Vec<u8> {
        bytes(&new(
            "",
            None,
            vec![new("a", Some(b"one"), vec![]), new("b", None, vec![new("c", Some(b"two"), vec![])])],
        ))
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = tree();
        let top = Record::read(&bytes).unwrap();
        assert_eq!(top.child("a").unwrap().value().unwrap().bytes, b"one");
        let c = top.child("b").and_then(|b| b.child("c")).unwrap();
        let value = c.value().unwrap();
        assert_eq!((value.bytes, value.touched().next().unwrap().0), (&b"two"[..], "manifest.yaml"));
        assert!(top.child("c").is_none());
    }

    #[test]
    fn an_unchanged_tree_is_copied_and_a_change_stays_in_its_place() {
        let old = tree();
        let top = Record::read(&old).unwrap();
        let leaf = |name: &str| top.child(name).unwrap();
        let c = leaf("b").child("c").unwrap().again(vec![]);
        let same = top.again(vec![leaf("a").again(vec![]), leaf("b").again(vec![c])]);
        assert!(!same.gains());
        assert_eq!(bytes(&same), old);
        let changed = top.again(vec![leaf("a").again(vec![]), leaf("b").again(vec![new("c", Some(b"new"), vec![])])]);
        assert!(changed.gains());
        let new = bytes(&changed);
        let top = Record::read(&new).unwrap();
        assert_eq!(top.child("b").unwrap().child("c").unwrap().value().unwrap().bytes, b"new");
        assert_eq!(top.child("a").unwrap().value().unwrap().bytes, b"one");
    }

    #[test]
    fn anything_else_is_no_cache() {
        let good = tree();
        for end in 0..good.len() {
            assert!(Record::read(&good[..end]).is_none(), "{end}");
        }
        let more = [good.as_slice(), b"x"].concat();
        assert!(Record::read(&more).is_none());
        let huge = [&[0; 36], &[0xff; 4][..], &[0]].concat();
        assert!(Record::read(&huge).is_none());
    }
}
