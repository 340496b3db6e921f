//! What changes in a template, in three layers: fields, the words that a reader sees, the source; and its files.

mod source;
mod visible;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;

use crate::desired::{Content, ContentFile};

pub use source::{Hunk, Line, Sign};
pub use words::{Segment, Sentence};

/// A part over this size in bytes is not compared line by line.
const PART_BYTES: usize = 2_000_000;

/// Longest field value that is kept, in characters.
const VALUE_CHARS: usize = 2_000;

/// What differs between the content that the service has and the one that it will have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Changes {
    /// Fields, maps key by key.
    pub fields: Vec<FieldChange>,
    /// Bodies.
    pub parts: Vec<PartChange>,
    /// Attachments and inline attachments.
    pub files: Vec<FileChange>,
}

/// A changed field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FieldChange {
    /// `subject`, `headers.X-Team`, …
    pub field: String,
    /// Before; absent where it had none.
    pub old: Option<String>,
    /// Now; absent where it has none.
    pub new: Option<String>,
}

/// A changed body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PartChange {
    /// Which one.
    pub part: Part,
    /// Size before in bytes; absent where there was none.
    pub old_bytes: Option<usize>,
    /// Size now in bytes; absent where there is none.
    pub new_bytes: Option<usize>,
    /// Changed lines of the text that a reader sees.
    pub words: Vec<Sentence>,
    /// The source as a unified diff.
    pub source: Vec<Hunk>,
    /// Over 2 MB: words and source are left out.
    pub not_compared: bool,
}

/// Which body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// `body.html`
    Html,
    /// `body.plaintext`
    Plaintext,
    /// `body.amp`
    Amp,
}

impl Part {
    /// The word of the interface.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Plaintext => "plaintext",
            Self::Amp => "amp",
        }
    }
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileChange {
    /// Whether it is an inline attachment.
    pub inline: bool,
    /// Its name.
    pub name: String,
    /// Before; absent where it is new.
    pub old: Option<FileFacts>,
    /// Now; absent where it went.
    pub new: Option<FileFacts>,
}

/// What is known of a file without its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileFacts {
    /// MIME type.
    pub mime: String,
    /// Size in bytes.
    pub bytes: u64,
    /// BLAKE3 of the bytes.
    pub digest: String,
}

/// What can be said about the content of a step that sends one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detail {
    /// There was none before.
    New(Changes),
    /// What differs from the one as last applied.
    Changed(Changes),
    /// The earlier content is not known: not kept, adopted, or cut off.
    Unknown,
}

impl Detail {
    /// The changes, where they are known.
    #[must_use]
    pub fn changes(&self) -> Option<&Changes> {
        match self {
            Self::New(changes) | Self::Changed(changes) => Some(changes),
            Self::Unknown => None,
        }
    }

    /// The same, taken out.
    #[must_use]
    pub fn into_changes(self) -> Option<Changes> {
        match self {
            Self::New(changes) | Self::Changed(changes) => Some(changes),
            Self::Unknown => None,
        }
    }
}

impl PartChange {
    /// Lines of the source that were removed and added.
    #[must_use]
    pub fn lines(&self) -> (usize, usize) {
        let count = |sign| self.source.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.sign == sign).count();
        (count(Sign::Old), count(Sign::New))
    }
}

impl Changes {
    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.parts.is_empty() && self.files.is_empty()
    }
}

/// Compares two contents; with no `old` everything is new. Past the deadline the result is still right, only coarser.
#[must_use]
pub fn changes(old: Option<&Content>, new: &Content, deadline: Instant) -> Changes {
    let empty = Content::default();
    // A new template has no field before, also none with a default.
    let (old, known) = (old.unwrap_or(&empty), old.is_some());
    let mut fields = Vec::new();
    let mut field = |field: &str, old: Option<&str>, new: Option<&str>| {
        if old != new {
            fields.push(FieldChange { field: field.to_owned(), old: old.map(short), new: new.map(short) });
        }
    };
    field("name", known.then_some(&old.name), Some(&new.name));
    field("subject", old.subject.as_deref(), new.subject.as_deref());
    field("sender_email", old.sender_email.as_deref(), new.sender_email.as_deref());
    field("sender_name", old.sender_name.as_deref(), new.sender_name.as_deref());
    field("reply_to", old.reply_to.as_deref(), new.reply_to.as_deref());
    if known || new.builder != old.builder {
        field("template_builder", known.then(|| old.builder.word()), Some(new.builder.word()));
    }
    for (name, old, new) in
        [("check_links", old.check_links, new.check_links), ("check_read", old.check_read, new.check_read)]
    {
        // On is the service's default: only a new template that turns it off is worth a line.
        let word = |on: bool| if on { "on" } else { "off" };
        if known || !new {
            field(name, known.then(|| word(old)), Some(word(new)));
        }
    }
    let maps = [
        ("global_replacements", &old.global_replacements, &new.global_replacements),
        ("global_info", &old.global_info, &new.global_info),
        ("headers", &old.headers, &new.headers),
    ];
    for (map, old, new) in maps {
        for name in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
            field(&format!("{map}.{name}"), old.get(name).map(String::as_str), new.get(name).map(String::as_str));
        }
    }
    let parts = [
        (Part::Html, &old.html, &new.html),
        (Part::Plaintext, &old.plaintext, &new.plaintext),
        (Part::Amp, &old.amp, &new.amp),
    ];
    let parts = parts.into_iter().filter(|(_, old, new)| old != new);
    let parts = parts.map(|(part, old, new)| compare(part, old.as_deref(), new.as_deref(), deadline)).collect();
    let mut files = file_changes(false, &old.attachments, &new.attachments);
    files.extend(file_changes(true, &old.inline_attachments, &new.inline_attachments));
    Changes { fields, parts, files }
}

fn compare(part: Part, old: Option<&str>, new: Option<&str>, deadline: Instant) -> PartChange {
    let (old_bytes, new_bytes) = (old.map(str::len), new.map(str::len));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let not_compared = old.len().max(new.len()) > PART_BYTES;
    let (words, source) = if not_compared {
        (Vec::new(), Vec::new())
    } else {
        (words::words(&lines(part, old), &lines(part, new), deadline), source::hunks(old, new, deadline))
    };
    PartChange { part, old_bytes, new_bytes, words, source, not_compared }
}

fn lines(part: Part, text: &str) -> Vec<String> {
    match part {
        Part::Html | Part::Amp => visible::visible_lines(text),
        Part::Plaintext => text.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect(),
    }
}

fn file_changes(inline: bool, old: &[ContentFile], new: &[ContentFile]) -> Vec<FileChange> {
    let by_name =
        |list: &[ContentFile]| list.iter().map(|file| (file.name.clone(), facts(file))).collect::<BTreeMap<_, _>>();
    let (old, new) = (by_name(old), by_name(new));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let changed = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
    changed
        .map(|name| FileChange { inline, name: name.clone(), old: old.get(name).cloned(), new: new.get(name).cloned() })
        .collect()
}

fn facts(file: &ContentFile) -> FileFacts {
    FileFacts { mime: file.mime.clone(), bytes: file.bytes, digest: file.digest.to_string() }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(VALUE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
