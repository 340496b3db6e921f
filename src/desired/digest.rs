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
pub struct Hasher(blake3::Hasher);

impl Hasher {
    /// Adds one part.
    pub fn part(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Adds a piece of the current part, without a length: for files read in pieces.
    pub fn piece(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all parts so far.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
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
