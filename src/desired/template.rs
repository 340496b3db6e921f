//! One template, whole: what an update sends (`interface §2.5`).

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Digest, Hasher, Key};

/// A template as it should be at the service. Text parts are in memory, attachments stay on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Its folder's path below the templates folder.
    pub key: Key,
    /// `name`.
    pub name: String,
    /// `subject`.
    pub subject: Option<String>,
    /// `sender_email`.
    pub sender_email: Option<String>,
    /// `sender_name`.
    pub sender_name: Option<String>,
    /// `reply_to`.
    pub reply_to: Option<String>,
    /// `body.html`, byte for byte as in the file (a byte order mark is removed).
    pub html: Option<String>,
    /// `body.plaintext`.
    pub plaintext: Option<String>,
    /// `body.amp`.
    pub amp: Option<String>,
    /// `template_builder`.
    pub builder: Builder,
    /// `global_replacements`.
    pub global_replacements: BTreeMap<String, String>,
    /// `global_info`.
    pub global_info: BTreeMap<String, String>,
    /// `headers`.
    pub headers: BTreeMap<String, String>,
    /// `attachments`, in the manifest's order.
    pub attachments: Vec<Attachment>,
    /// `inline_attachments`, in the manifest's order.
    pub inline_attachments: Vec<Attachment>,
    /// `check_links`; the service's default is on, and we always send it.
    pub check_links: bool,
    /// `check_read`; as above.
    pub check_read: bool,
}

/// `template_builder` (`interface §2.5`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Builder {
    /// Written as HTML.
    #[default]
    Html,
    /// Made in the service's web page; can be edited, never created.
    Visual,
}

impl Builder {
    /// The word on the wire.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Visual => "visual",
        }
    }
}

/// A file that goes with a template. Its content stays on disk until it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The name that the recipient sees; also the content id.
    pub name: String,
    /// MIME type.
    pub mime: String,
    /// Where the file is; never leaves this machine.
    pub file: PathBuf,
    /// Size in bytes.
    pub bytes: u64,
    /// Digest of the content.
    pub digest: Digest,
}

impl Template {
    /// Digest over everything that is sent: two templates have the same digest exactly when their requests are the same but for the id.
    ///
    /// It does not depend on the manifest's formatting, key order or line ends (bodies count byte for byte), nor on where files are.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::default();
        hasher.part(b"letterpress template 1");
        hasher.part(self.name.as_bytes());
        let optional = [
            &self.subject,
            &self.sender_email,
            &self.sender_name,
            &self.reply_to,
            &self.html,
            &self.plaintext,
            &self.amp,
        ];
        for part in optional {
            match part {
                Some(text) => {
                    hasher.part(b"+");
                    hasher.part(text.as_bytes());
                }
                None => hasher.part(b"-"),
            }
        }
        hasher.part(self.builder.word().as_bytes());
        hasher.part(&[u8::from(self.check_links), u8::from(self.check_read)]);
        for map in [&self.global_replacements, &self.global_info, &self.headers] {
            hasher.part(&(map.len() as u64).to_le_bytes());
            for (name, value) in map {
                hasher.part(name.as_bytes());
                hasher.part(value.as_bytes());
            }
        }
        for list in [&self.attachments, &self.inline_attachments] {
            hasher.part(&(list.len() as u64).to_le_bytes());
            for file in list {
                hasher.part(file.name.as_bytes());
                hasher.part(file.mime.as_bytes());
                hasher.part(&file.bytes.to_le_bytes());
                hasher.part(file.digest.bytes());
            }
        }
        hasher.digest()
    }
}
