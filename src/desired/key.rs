//! The key of a template: its folder's path below the templates folder.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use crate::untrusted::{is_control, is_printable_ascii};

/// `billing/receipt`: parts joined by `/`, whatever the platform; Unicode normal form as on disk.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Key(String);

/// Why a text is no key. `Display` is a plain sentence fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Nothing there.
    #[error("it is empty")]
    Empty,
    /// `//`, a leading or a trailing `/`.
    #[error("it has an empty part")]
    EmptyPart,
    /// `.` or `..`.
    #[error("`.` and `..` are no folder names")]
    Dots,
    /// A control or invisible character.
    #[error("it has a control character")]
    Control,
    /// A backslash, which is a separator on one platform and a letter on another.
    #[error("it has a backslash")]
    Backslash,
    /// Over 512 bytes.
    #[error("it is longer than 512 bytes")]
    TooLong,
}

impl Key {
    /// Longest key in bytes.
    pub const BYTES: usize = 512;

    /// Reads a key.
    ///
    /// # Errors
    ///
    /// [`KeyError`] says what is wrong with the text.
    pub fn new(text: impl Into<String>) -> Result<Self, KeyError> {
        let text = text.into();
        if text.is_empty() {
            return Err(KeyError::Empty);
        }
        if text.len() > Self::BYTES {
            return Err(KeyError::TooLong);
        }
        if text.contains('\\') {
            return Err(KeyError::Backslash);
        }
        if !is_printable_ascii(&text) && text.contains(is_control) {
            return Err(KeyError::Control);
        }
        for part in text.split('/') {
            match part {
                "" => return Err(KeyError::EmptyPart),
                "." | ".." => return Err(KeyError::Dots),
                _ => {}
            }
        }
        Ok(Self(text))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for Key {
    type Error = KeyError;
    fn try_from(text: String) -> Result<Self, KeyError> {
        Self::new(text)
    }
}

impl std::str::FromStr for Key {
    type Err = KeyError;
    fn from_str(text: &str) -> Result<Self, KeyError> {
        Self::new(text)
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}
