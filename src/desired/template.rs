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
    /// Bytes of its bodies, which are nearly all of what it takes in memory: the manifest behind all other fields has 256 KiB at most.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        [&self.html, &self.plaintext, &self.amp].into_iter().flatten().map(String::len).sum()
    }

    /// Digest over everything that is sent: two templates have the same digest exactly when their requests are the same but for the id.
    ///
    /// It does not depend on the manifest's formatting, key order or line ends (bodies count byte for byte), nor on where files are.
    #[must_use]
    pub fn digest(&self) -> Digest {
        digest(&Parts {
            name: &self.name,
            texts: [
                &self.subject,
                &self.sender_email,
                &self.sender_name,
                &self.reply_to,
                &self.html,
                &self.plaintext,
                &self.amp,
            ],
            builder: self.builder,
            switches: [self.check_links, self.check_read],
            maps: [&self.global_replacements, &self.global_info, &self.headers],
            files: [&self.attachments, &self.inline_attachments]
                .map(|list| list.iter().map(Attachment::parts).collect()),
        })
    }
}

#[cfg(test)]
impl Template {
    /// A template of this key and name with nothing in it.
    pub(crate) fn bare(key: &str) -> Self {
        Self {
            key: Key::new(key).unwrap(),
            name: key.to_owned(),
            subject: None,
            sender_email: None,
            sender_name: None,
            reply_to: None,
            html: None,
            plaintext: None,
            amp: None,
            builder: Builder::Html,
            global_replacements: BTreeMap::new(),
            global_info: BTreeMap::new(),
            headers: BTreeMap::new(),
            attachments: Vec::new(),
            inline_attachments: Vec::new(),
            check_links: true,
            check_read: true,
        }
    }
}

impl Attachment {
    fn parts(&self) -> FileParts<'_> {
        FileParts { name: &self.name, mime: &self.mime, bytes: self.bytes, digest: &self.digest }
    }
}

/// All that a template's digest is made of, wherever it is kept.
pub(super) struct Parts<'a> {
    pub(super) name: &'a str,
    /// Subject, sender address, sender name, reply-to; html, plaintext, amp.
    pub(super) texts: [&'a Option<String>; 7],
    pub(super) builder: Builder,
    /// Click tracking, read tracking.
    pub(super) switches: [bool; 2],
    /// Replacements, info, headers.
    pub(super) maps: [&'a BTreeMap<String, String>; 3],
    /// Attachments, inline attachments.
    pub(super) files: [Vec<FileParts<'a>>; 2],
}

/// What a digest knows of a file.
pub(super) struct FileParts<'a> {
    pub(super) name: &'a str,
    pub(super) mime: &'a str,
    pub(super) bytes: u64,
    pub(super) digest: &'a Digest,
}

/// The digest of a template's parts.
pub(super) fn digest(parts: &Parts<'_>) -> Digest {
    let texts: usize = parts.texts.iter().filter_map(|text| text.as_ref()).map(String::len).sum();
    let mut hasher = Hasher::of_about(texts + 2048);
    hasher.part(b"letterpress template 1");
    hasher.part(parts.name.as_bytes());
    for part in parts.texts {
        match part {
            Some(text) => {
                hasher.part(b"+");
                hasher.part(text.as_bytes());
            }
            None => hasher.part(b"-"),
        }
    }
    hasher.part(parts.builder.word().as_bytes());
    hasher.part(&parts.switches.map(u8::from));
    for map in parts.maps {
        hasher.part(&(map.len() as u64).to_le_bytes());
        for (name, value) in map {
            hasher.part(name.as_bytes());
            hasher.part(value.as_bytes());
        }
    }
    for list in &parts.files {
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
