//! The id that the service gave to a template.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// A template's id: a UUID by the interface (§2.5), but any short plain text is kept, since an id that we threw away would be lost for ever.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Id(String);

/// The text cannot be an id: empty, over 128 bytes, or with other than letters, digits, `-` and `_`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a template id: 1 to 128 letters, digits, `-` or `_`")]
pub struct IdError;

impl Id {
    /// Reads an id.
    ///
    /// # Errors
    ///
    /// [`IdError`] when the text cannot be one.
    pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
        let text = text.into();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if text.is_empty() || text.len() > 128 || !text.chars().all(plain) {
            return Err(IdError);
        }
        Ok(Self(text))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for Id {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        Self::new(text)
    }
}

impl std::str::FromStr for Id {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        Self::new(text)
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}
