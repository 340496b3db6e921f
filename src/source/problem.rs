//! What reading found wrong: facts with a place. The checks turn each into a finding of the rule that it belongs to.

use crate::diagnostic::{Location, Severity};

/// What kind of thing is wrong. One kind per rule that reading can find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Not readable as strict YAML.
    ManifestSyntax,
    /// letterpress.toml is not readable, or has a value that cannot be.
    ConfigInvalid,
    /// The templates folder is missing, no folder, or empty.
    TemplatesFolder,
    /// A file that was probably meant to be the manifest.
    ManifestName,
    /// Bodies and no manifest.
    ManifestMissing,
    /// A key that does not exist.
    UnknownKey,
    /// The same key twice.
    DuplicateKey,
    /// Text where a map belongs, and so on.
    WrongType,
    /// A field that only answers have.
    ResponseOnlyField,
    /// The right type, a value that cannot be.
    BadValue,
    /// A path that leaves its folder.
    PathOutside,
    /// A symlink on the way.
    PathSymlink,
    /// A path that means something else, or nothing, on another platform.
    PathUnportable,
    /// Something of git's own.
    PathGit,
    /// A folder, device, pipe or socket.
    NotAFile,
    /// Not there.
    FileMissing,
    /// Not UTF-8, or with bytes that no mail text has.
    NotUtf8,
    /// A folder name that cannot be a key.
    KeyInvalid,
    /// An attachment over the limit, or empty.
    AttachmentTooLarge,
    /// A part over what any request may have.
    RequestTooLarge,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The kind.
    pub fault: Fault,
    /// Where.
    pub location: Location,
    /// One plain sentence; foreign text in it is raw.
    pub message: String,
    /// What is there, and what may be.
    pub limit: Option<(String, String)>,
    /// The way out.
    pub help: Option<String>,
    /// Where it weighs other than its rule.
    pub severity: Option<Severity>,
}

impl Problem {
    /// A fact with a place.
    #[must_use]
    pub fn new(fault: Fault, location: Location, message: impl Into<String>) -> Self {
        Self { fault, location, message: message.into(), limit: None, help: None, severity: None }
    }

    /// With the way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With what is there and what may be.
    #[must_use]
    pub fn limit(mut self, actual: impl ToString, allowed: impl ToString) -> Self {
        self.limit = Some((actual.to_string(), allowed.to_string()));
        self
    }

    /// As a warning.
    #[must_use]
    pub fn warn(mut self) -> Self {
        self.severity = Some(Severity::Warn);
        self
    }
}
