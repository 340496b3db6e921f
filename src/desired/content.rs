//! A template's content as a value that is kept beside the state: all that is sent, files only as size and digest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::template::{FileParts, Parts, digest};
use super::{Attachment, Builder, Digest, Template};

/// What a template says, wherever its folder is and whatever its key: two keys with the same content share one value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Content {
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
    /// `body.html`.
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
    /// `attachments`, in order.
    pub attachments: Vec<ContentFile>,
    /// `inline_attachments`, in order.
    pub inline_attachments: Vec<ContentFile>,
    /// `check_links`.
    pub check_links: bool,
    /// `check_read`.
    pub check_read: bool,
}

/// A file that goes with a template, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentFile {
    /// The name that the recipient sees; also the content id.
    pub name: String,
    /// MIME type.
    pub mime: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Digest of the bytes.
    pub digest: Digest,
}

impl Content {
    /// The digest that [`Template::digest`] gives to a template with this content: whoever reads a stored content can prove that it is the one
    /// that was asked for.
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
                .map(|list| list.iter().map(ContentFile::parts).collect()),
        })
    }
}

impl ContentFile {
    fn parts(&self) -> FileParts<'_> {
        FileParts { name: &self.name, mime: &self.mime, bytes: self.bytes, digest: &self.digest }
    }
}

impl From<&Attachment> for ContentFile {
    fn from(file: &Attachment) -> Self {
        Self { name: file.name.clone(), mime: file.mime.clone(), bytes: file.bytes, digest: file.digest }
    }
}

impl From<Template> for Content {
    fn from(template: Template) -> Self {
        let files = |list: &[Attachment]| list.iter().map(ContentFile::from).collect();
        Self {
            attachments: files(&template.attachments),
            inline_attachments: files(&template.inline_attachments),
            name: template.name,
            subject: template.subject,
            sender_email: template.sender_email,
            sender_name: template.sender_name,
            reply_to: template.reply_to,
            html: template.html,
            plaintext: template.plaintext,
            amp: template.amp,
            builder: template.builder,
            global_replacements: template.global_replacements,
            global_info: template.global_info,
            headers: template.headers,
            check_links: template.check_links,
            check_read: template.check_read,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_has_the_digest_of_its_template() {
        let file = Attachment {
            name: "terms.pdf".to_owned(),
            mime: "application/pdf".to_owned(),
            file: "/elsewhere/terms.pdf".into(),
            bytes: 3,
            digest: Digest::of(b"pdf"),
        };
        let template = Template {
            subject: Some("Hello".to_owned()),
            html: Some("<p>x</p>".to_owned()),
            plaintext: Some("x".to_owned()),
            global_replacements: [("a".to_owned(), "b".to_owned())].into(),
            attachments: vec![file],
            check_read: false,
            ..Template::bare("welcome")
        };
        let content = Content::from(template.clone());
        assert_eq!(content.digest(), template.digest());
        let json = serde_json::to_string(&content).unwrap();
        assert_eq!(serde_json::from_str::<Content>(&json).unwrap(), content);
        assert_ne!(Content { check_read: true, ..content }.digest(), template.digest());
    }
}
