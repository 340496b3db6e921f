//! `validate --fix`: minimal edits, shown as a diff first.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use similar::TextDiff;

use crate::diagnostic::{Diagnostic, Edit};
use crate::source::{Project, Refused};
use crate::untrusted::Untrusted;

/// One file that would change.
#[derive(Debug)]
pub struct Change {
    path: String,
    /// Nothing for a new file.
    before: Option<String>,
    after: String,
}

/// What the edits of some findings make of their files. Edits that overlap an earlier one wait for the next run.
///
/// # Errors
///
/// A file that cannot be read again.
pub fn changes(project: &Project, findings: &[Diagnostic]) -> anyhow::Result<Vec<Change>> {
    let mut by_file: BTreeMap<&str, Vec<&Edit>> = BTreeMap::new();
    for edit in findings.iter().flat_map(|finding| &finding.edits) {
        by_file.entry(&edit.path).or_default().push(edit);
    }
    let mut changes = Vec::new();
    for (path, mut edits) in by_file {
        edits.sort_by_key(|edit| (edit.bytes.start, edit.bytes.end));
        edits.dedup();
        let before = match project.read(path) {
            Ok(text) => Some(text),
            Err(Refused::Fault(crate::source::Fault::FileMissing, _)) => None,
            Err(error) => return Err(error).with_context(|| format!("`{path}` cannot be mended")),
        };
        let after = apply(before.as_deref().unwrap_or_default(), &edits);
        if before.as_deref() != Some(after.as_str()) {
            changes.push(Change { path: path.to_owned(), before, after });
        }
    }
    Ok(changes)
}

/// The text with the edits in it.
fn apply(text: &str, edits: &[&Edit]) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for edit in edits {
        if edit.bytes.start < at {
            continue;
        }
        if let Some(kept) = text.get(at..edit.bytes.start)
            && text.is_char_boundary(edit.bytes.end)
        {
            out.push_str(kept);
            out.push_str(&edit.text);
            at = edit.bytes.end;
        }
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// The changes as a unified diff.
#[must_use]
pub fn diff(changes: &[Change]) -> String {
    let mut text = String::new();
    for change in changes {
        let before = change.before.as_deref().unwrap_or_default();
        let old = if change.before.is_some() { format!("a/{}", change.path) } else { "/dev/null".to_owned() };
        let new = format!("b/{}", change.path);
        let diff = TextDiff::from_lines(before, change.after.as_str());
        text.push_str(&diff.unified_diff().context_radius(1).header(&old, &new).to_string());
    }
    Untrusted(&text).lines().to_string()
}

/// Writes the changes: each file is replaced whole, or not at all.
///
/// # Errors
///
/// What the system fails with.
pub fn write(root: &Path, changes: &[Change]) -> anyhow::Result<()> {
    for change in changes {
        let path = root.join(&change.path);
        let folder = path.parent().unwrap_or(root);
        let save = || -> std::io::Result<()> {
            let mut file = tempfile::Builder::new().prefix(".letterpress-").tempfile_in(folder)?;
            file.write_all(change.after.as_bytes())?;
            match &change.before {
                Some(_) => {
                    file.as_file().set_permissions(path.symlink_metadata()?.permissions())?;
                    file.persist(&path)?;
                }
                None => {
                    use std::os::unix::fs::PermissionsExt as _;
                    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
                    file.persist_noclobber(&path)?;
                }
            }
            Ok(())
        };
        save().with_context(|| format!("`{}` cannot be written", change.path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_applied_from_left_to_right_and_overlaps_wait() {
        let edit = |bytes, text: &str| Edit { path: "a".to_owned(), bytes, text: text.to_owned() };
        let edits = [edit(0..1, "X"), edit(1..1, "Y"), edit(2..4, ""), edit(3..5, "never"), edit(6..6, "!")];
        assert_eq!(apply("abcdef", &edits.iter().collect::<Vec<_>>()), "XYbef!");
    }
}
