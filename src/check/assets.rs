//! Attachments: names, sizes, types; the bodies and the request as a whole.

use std::collections::BTreeMap;

use super::findings::Findings;
use super::table;
use crate::desired::Template;
use crate::diagnostic::{Diagnostic, Location, Severity};
use crate::limits;
use crate::source::{Folder, ReadAsset};

/// Checks the attachments and that there is a body.
pub fn check(folder: &Folder, findings: &mut Findings<'_>) {
    body(folder, findings);
    for list in [&folder.attachments, &folder.inline_attachments] {
        names(folder, list, findings);
        for asset in list {
            content(folder, asset, findings);
        }
    }
}

fn body(folder: &Folder, findings: &mut Findings<'_>) {
    let blank = |text: &Option<crate::source::Text>| text.as_ref().is_none_or(|text| text.sent.trim().is_empty());
    if !blank(&folder.html) || !blank(&folder.plaintext) {
        return;
    }
    // A body that could not be read has its finding already.
    let unread = folder.manifest.body.html.is_some() && folder.html.is_none()
        || folder.manifest.body.plaintext.is_some() && folder.plaintext.is_none()
        || folder.listed.has("body.html") && folder.html.is_none()
        || folder.listed.has("body.txt") && folder.plaintext.is_none();
    if unread {
        return;
    }
    let present = folder.html.is_some() || folder.plaintext.is_some();
    let message = if present { "the bodies are empty" } else { "neither an html nor a plaintext body" };
    let help = "add body.html or body.txt beside the manifest, or name the files under `body:`";
    let location = Location::whole(folder.manifest_path());
    findings.push(Diagnostic::new(&table::BODY_MISSING, location, message).help(help));
}

fn names(folder: &Folder, list: &[ReadAsset], findings: &mut Findings<'_>) {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for asset in list {
        let name = asset.attachment.name.as_str();
        let why = if name.len() > limits::ATTACHMENT_NAME_BYTES {
            Some(format!("is {} bytes long, at most {} are allowed", name.len(), limits::ATTACHMENT_NAME_BYTES))
        } else if name.contains(['/', '\\']) {
            Some("has a slash".to_owned())
        } else if name.contains(['"', '\'', '<', '>']) {
            Some("has a quote or an angle bracket".to_owned())
        } else if name.contains(crate::untrusted::is_control) {
            Some("has a control character".to_owned())
        } else if !has_extension(name) {
            Some("has no extension; the form is `name.extension`".to_owned())
        } else {
            None
        };
        if let Some(why) = why {
            findings.at(&table::ATTACHMENT_NAME, folder, &asset.name, format!("the name `{name}` {why}"));
        } else if !name.is_ascii() {
            let message = format!("the name `{name}` is not ASCII; some mail clients show it garbled");
            findings.weighing(&table::ATTACHMENT_NAME, Severity::Warn, folder, &asset.name, message);
        }
        let lower = name.to_lowercase();
        if let Some(first) = seen.get(&lower) {
            let message = format!("`{name}` has the same name as `{first}` in this list");
            findings
                .at(&table::ATTACHMENT_DUPLICATE, folder, &asset.name, message)
                .help("give one of them another `name`");
        }
        seen.entry(lower).or_insert(name);
    }
}

fn has_extension(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, extension)| !stem.is_empty() && !extension.trim().is_empty())
}

fn content(folder: &Folder, asset: &ReadAsset, findings: &mut Findings<'_>) {
    if asset.head.starts_with(b"version https://git-lfs.github.com/spec/") {
        let message = "this is a Git LFS pointer, not the file itself";
        findings
            .at(&table::ATTACHMENT_TOO_LARGE, folder, &asset.path, message)
            .help("run `git lfs pull` first; in CI, check out with LFS");
        return;
    }
    let declared = asset.attachment.mime.to_ascii_lowercase();
    if let Some(place) = asset.mime.as_ref().filter(|_| !is_type(&declared)) {
        if declared.contains(char::is_control) {
            findings.at(&table::BAD_VALUE, folder, place, "`type` has a control character");
        } else {
            let message = format!("`{}` is no MIME type", asset.attachment.mime);
            let help = "`image/png`, for example; without `type` it is taken from the name";
            findings.at(&table::ATTACHMENT_TYPE, folder, place, message).help(help);
        }
        return;
    }
    let Some(actual) = looks_like(&asset.head) else { return };
    let declared = declared.split(';').next().unwrap_or_default().trim();
    let same = match declared {
        "application/octet-stream" => true,
        "image/jpg" | "image/pjpeg" => actual == "image/jpeg",
        // A container: documents of office suites, jars and so on are zip files.
        _ if actual == "application/zip" => !declared.starts_with("image/") && declared != "application/pdf",
        _ => declared == actual,
    };
    if !same {
        let place = asset.mime.as_ref().unwrap_or(&asset.path);
        let message = format!("declared as `{declared}`, and the bytes are `{actual}`");
        findings.at(&table::ATTACHMENT_TYPE, folder, place, message).limit(actual, declared);
    }
}

/// Whether a text has the form `type/subtype`, with or without parameters.
fn is_type(text: &str) -> bool {
    let token = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    let (kind, parameters) = text.split_once(';').unwrap_or((text, ""));
    let whole = kind.trim().split_once('/').is_some_and(|(kind, subtype)| token(kind) && token(subtype));
    whole && !parameters.contains(char::is_control)
}

/// The type that the first bytes prove.
fn looks_like(head: &[u8]) -> Option<&'static str> {
    Some(match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => "image/gif",
        [b'%', b'P', b'D', b'F', b'-', ..] => "application/pdf",
        [b'P', b'K', 3, 4, ..] => "application/zip",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        _ => return None,
    })
}

/// Checks the size of the whole request as serialized; names the largest parts.
pub fn request(path: &str, template: &Template, bytes: u64, findings: &mut Findings<'_>) {
    let severity = match bytes {
        _ if bytes > limits::REQUEST_BYTES => Severity::Error,
        _ if bytes > limits::REQUEST_BYTES_CAUTIOUS => Severity::Warn,
        _ => return,
    };
    let text = |name: &str, text: &Option<String>| (text.as_ref().map_or(0, |text| text.len() as u64), name.to_owned());
    let mut parts =
        vec![text("html", &template.html), text("plaintext", &template.plaintext), text("amp", &template.amp)];
    for file in template.attachments.iter().chain(&template.inline_attachments) {
        parts.push((file.bytes.div_ceil(3) * 4, file.name.clone()));
    }
    parts.sort_by(|a, b| b.cmp(a));
    let largest: Vec<String> =
        parts.iter().take(3).filter(|(size, _)| *size > 0).map(|(size, name)| format!("`{name}` {size}")).collect();
    let limit = if severity == Severity::Error { limits::REQUEST_BYTES } else { limits::REQUEST_BYTES_CAUTIOUS };
    let message = format!("the request is {bytes} bytes; its largest parts, as sent: {}", largest.join(", "));
    findings.push(
        Diagnostic::new(&table::REQUEST_TOO_LARGE, Location::whole(path), message)
            .limit(bytes, limit)
            .severity(severity)
            .help("link to large files instead of attaching them"),
    );
}
