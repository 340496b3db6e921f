//! Digests: BLAKE3, 32 bytes, 64 hexadecimal digits.

use std::{fmt, io};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A BLAKE3 digest.
///
/// As digits in what people may read, as its bytes in the cache.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The digest of many bytes, made on all cores.
    #[must_use]
    pub fn of_many(bytes: &[u8]) -> Self {
        Self(*blake3::Hasher::new().update_rayon(bytes).finalize().as_bytes())
    }

    /// The 32 bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first twelve digits, for people.
    #[must_use]
    pub fn short(&self) -> String {
        self.to_string()[..12].to_owned()
    }
}

impl From<[u8; 32]> for Digest {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({})", self.short())
    }
}

impl TryFrom<String> for Digest {
    type Error = blake3::HexError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        blake3::Hash::from_hex(text).map(|hash| Self(*hash.as_bytes()))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() {
            to.serialize_str(&blake3::Hash::from_bytes(self.0).to_hex())
        } else {
            self.0.serialize(to)
        }
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        if from.is_human_readable() {
            Self::try_from(String::deserialize(from)?).map_err(serde::de::Error::custom)
        } else {
            <[u8; 32]>::deserialize(from).map(Self)
        }
    }
}

/// A digest in the making; every part is preceded by its length, so that no two lists of parts look alike.
#[derive(Debug, Default)]
pub struct Hasher {
    done: blake3::Hasher,
    /// What comes next, less than [`BLOCK`].
    waiting: Vec<u8>,
}

/// Bytes that are hashed in one go, a power of two: BLAKE3 hashes sixteen kilobytes side by side, and where a text starts in the middle of one it
/// hashes first one, then two, then four, each of which takes as long as the sixteen.
const BLOCK: usize = 64 * 1024;

impl Hasher {
    /// A digest of about so many bytes.
    #[must_use]
    pub fn of_about(bytes: usize) -> Self {
        Self { waiting: Vec::with_capacity(bytes.min(BLOCK)), ..Self::default() }
    }

    /// Adds one part.
    pub fn part(&mut self, bytes: &[u8]) {
        self.piece(&(bytes.len() as u64).to_le_bytes());
        self.piece(bytes);
    }

    /// Adds a piece of the current part, without a length: for files read in pieces.
    pub fn piece(&mut self, mut bytes: &[u8]) {
        while self.waiting.len() + bytes.len() >= BLOCK {
            let (head, rest) = bytes.split_at(BLOCK - self.waiting.len());
            if self.waiting.is_empty() {
                self.done.update(head);
            } else {
                self.waiting.extend_from_slice(head);
                self.done.update(&self.waiting);
                self.waiting.clear();
            }
            bytes = rest;
        }
        self.waiting.extend_from_slice(bytes);
    }

    /// The digest of all parts so far.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest(*self.done.clone().update(&self.waiting).finalize().as_bytes())
    }
}

/// Adds pieces.
impl io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_length_are_one_whole() {
        let bytes: Vec<u8> = (0..3 * BLOCK + 5).map(|at| (at % 251) as u8).collect();
        for length in [1, 700, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, bytes.len()] {
            let mut hasher = Hasher::default();
            for piece in bytes.chunks(length) {
                hasher.piece(piece);
            }
            assert_eq!(hasher.digest(), Digest::of(&bytes), "{length}");
        }
    }
}
