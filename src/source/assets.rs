//! The files that go with a template: each looked at once, none kept in memory.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::fd::BorrowedFd;

use super::files;
use super::folder::{ENOUGH, Folder, Shared};
use super::manifest::Asset;
use super::node::Place;
use super::problem::{Fault, Problem};
use crate::desired::{Attachment, Digest, Hasher};
use crate::limits;

/// Bytes of the start of an asset that are kept, to see what it is.
const HEAD: usize = 192;

/// A file of `attachments` or `inline_attachments` whose bytes were read once.
#[derive(Debug, Clone)]
pub struct ReadAsset {
    /// What would be sent.
    pub attachment: Attachment,
    /// Where the name stands, or the path that it comes from.
    pub name: Place,
    /// Where the type stands; nowhere when it was guessed.
    pub mime: Option<Place>,
    /// Where the path stands.
    pub path: Place,
    /// The first bytes.
    pub head: Vec<u8>,
}

impl Folder {
    /// Looks at every file that the manifest names.
    pub(super) fn read_assets(&mut self, shared: &Shared<'_>, dir: BorrowedFd<'_>) {
        // A file that is named twice is read once; after the first request's worth no more is read, since it cannot be sent anyway.
        let mut budget = limits::REQUEST_BYTES;
        let mut known = BTreeMap::new();
        let mut read = |folder: &mut Self, assets: &[Asset]| {
            let mut list = Vec::new();
            for asset in assets {
                let path = asset.path.value.clone();
                if folder.problems.len() >= ENOUGH {
                    folder.touched.spoil();
                    break;
                }
                if !known.contains_key(&path) {
                    let looked = folder.look(dir, asset, &mut budget);
                    known.insert(path.clone(), looked);
                }
                if let Some(Some((bytes, digest, head))) = known.get(&path) {
                    list.push(asset_of(shared, folder, asset, *bytes, *digest, head.clone()));
                }
            }
            list
        };
        let manifest = &mut self.manifest;
        let named = [&mut manifest.attachments, &mut manifest.inline_attachments].map(std::mem::take);
        [self.attachments, self.inline_attachments] = named.each_ref().map(|assets| read(self, assets));
        [self.manifest.attachments, self.manifest.inline_attachments] = named;
    }

    /// Size, digest and first bytes of an asset, or a problem.
    fn look(&mut self, dir: BorrowedFd<'_>, asset: &Asset, budget: &mut u64) -> Option<(u64, Digest, Vec<u8>)> {
        let looked = files::open_file(dir, &asset.path.value).and_then(|opened| {
            self.touched.file(dir, &asset.path.value, &opened.stat);
            let (size, mut file) = (opened.size(), opened.file);
            if size > limits::ATTACHMENT_BYTES || *budget == 0 {
                return Ok((size, None));
            }
            let mut hasher = Hasher::default();
            let mut head = Vec::new();
            let mut total = 0_u64;
            let mut buffer = vec![0; 64 * 1024];
            loop {
                let count = file.read(&mut buffer)?;
                if count == 0 {
                    return Ok((total, Some((hasher.digest(), head))));
                }
                let piece = &buffer[..count];
                head.extend_from_slice(&piece[..count.min(HEAD.saturating_sub(head.len()))]);
                hasher.piece(piece);
                total += count as u64;
                *budget = budget.saturating_sub(count as u64);
                if total > limits::ATTACHMENT_BYTES {
                    return Ok((total, None));
                }
            }
        });
        let looked = match looked {
            Ok((size, Some((digest, head)))) if size > 0 => return Some((size, digest, head)),
            Ok((size, _)) => Ok(size),
            Err(error) => Err(error),
        };
        // Looked up only for a problem: a hostile list is long.
        let location = self.locate(&asset.path.place);
        let problem = match looked {
            Err(error) => self.refused(error, location, &asset.path.value),
            Ok(0) => Problem::new(Fault::AttachmentTooLarge, location, format!("`{}` is empty", asset.path.value))
                .limit("0 bytes", "at least 1 byte"),
            Ok(size) if size > limits::ATTACHMENT_BYTES => Problem::new(
                Fault::AttachmentTooLarge,
                location,
                format!(
                    "`{}` is {size} bytes, and an attachment has at most {}",
                    asset.path.value,
                    limits::ATTACHMENT_BYTES
                ),
            )
            .limit(size, limits::ATTACHMENT_BYTES),
            Ok(_) => {
                let message = "the attachments together are larger than a whole request may be";
                Problem::new(Fault::RequestTooLarge, location, message)
                    .help("link to large files instead of attaching them")
            }
        };
        self.problems.push(problem);
        None
    }
}

fn asset_of(
    shared: &Shared<'_>,
    folder: &Folder,
    asset: &Asset,
    bytes: u64,
    digest: Digest,
    head: Vec<u8>,
) -> ReadAsset {
    let path = &asset.path.value;
    let name = asset.content_id().to_owned();
    let mime = asset.mime.as_ref().map_or_else(|| guess(&name, path), |mime| mime.value.clone());
    let file = shared.root.join(&folder.path).join(path);
    ReadAsset {
        attachment: Attachment { name, mime, file, bytes, digest },
        name: asset.name.as_ref().map_or_else(|| asset.path.place.clone(), |name| name.place.clone()),
        mime: asset.mime.as_ref().map(|mime| mime.place.clone()),
        path: asset.path.place.clone(),
        head,
    }
}

/// The type that a name suggests, else that of the file it comes from, else bytes.
fn guess(name: &str, path: &str) -> String {
    mime_guess::from_path(name)
        .first()
        .or_else(|| mime_guess::from_path(path).first())
        .map_or_else(|| "application/octet-stream".to_owned(), |mime| mime.essence_str().to_owned())
}
