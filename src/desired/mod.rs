//! What should exist: keys, templates, digests, merge tags.
//!
//! [`Desired`] exists only when no finding is an error, so whoever holds one may send it. It is light: a row per template, no
//! bodies (a project of 10,000 templates fits in a few megabytes). The full [`Template`] is read again, and its digest compared, for
//! the few that an apply sends.

mod content;
mod digest;
mod id;
mod key;
pub mod tags;
mod template;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use content::{Content, ContentFile};
pub use digest::{Digest, Hasher};
pub use id::{Id, IdError};
pub use key::{Key, KeyError};
pub use template::{Attachment, Builder, Template};

/// All that the user's files ask for in one environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Desired {
    /// One row per template folder.
    pub templates: BTreeMap<Key, Row>,
}

/// What a plan needs to know of one template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The template's name, for people.
    pub name: String,
    /// Digest over all that would be sent (see [`Template::digest`]).
    pub digest: Digest,
    /// `ids.<environment>`: adopt a template that exists there already.
    pub adopt: Option<Id>,
    /// `moved_from`: the key that this folder used to have.
    pub moved_from: Option<Key>,
}
