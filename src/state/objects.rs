//! The contents as last applied, beside the state: `objects/<digest>.zst`, content-addressed (safety §2).
//!
//! They let a plan show what changes. They are a convenience, never a condition: one that is missing, torn or damaged reads as "not there", writing
//! one is not synced to disk, and nothing that the protocol promises rests on them.
//!
//! Each state has its own. Environments whose states are apart share none, so that whoever holds a state may remove what its entries do not speak of,
//! and needs to know of nobody else. A plan that reads meanwhile may miss a content: the entry that it had read is history by then, and the plan says that it
//! does not know what was there.

mod packed;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;

use super::call::{Call, Reply};
use super::error::Error;
use super::location::Location;
use super::register::{Register, private};
use crate::desired::{Content, Digest};
use packed::{Packer, unpack};

/// The folder or prefix of the contents, below the state's place.
const FOLDER: &str = "objects";

/// What the name of a content ends with, after its digest.
const SUFFIX: &str = ".zst";

/// Contents that are removed together: what one request of S3 takes.
const TOGETHER: usize = 1_000;

/// Writes to a bucket that are open at once: enough for one that answers in 50 ms to keep up with the service.
const OPEN: usize = 32;

/// The store of the contents of one state.
#[derive(Debug, Clone)]
pub struct Objects(Store);

#[derive(Debug, Clone)]
enum Store {
    /// Written without the register: no lock is needed for what never changes, and no fsync for what may be lost.
    Folder(PathBuf),
    Bucket(Register),
}

impl Objects {
    /// Opens the contents of a state; nothing is read yet.
    ///
    /// # Errors
    ///
    /// [`Error::Unfit`] when this build cannot reach the place.
    pub fn open(location: &Location) -> Result<Self, Error> {
        Ok(Self(match location {
            Location::Folder(path) => Store::Folder(path.join(FOLDER)),
            Location::Bucket { .. } => Store::Bucket(Register::open(location)?),
        }))
    }

    /// A content by its digest; `None` when it is not there, cannot be read, or is not what its name says.
    pub async fn get(&self, digest: Digest) -> Option<Content> {
        let packed = match &self.0 {
            Store::Folder(folder) => {
                let path = folder.join(file_name(digest));
                return tokio::task::spawn_blocking(move || unpack(&fs::read(path).ok()?, digest)).await.ok()?;
            }
            Store::Bucket(register) => match register.answer(Call::Get { name: name(digest) }).await {
                Reply::Got(bytes) => bytes?,
                _ => return None,
            },
        };
        tokio::task::spawn_blocking(move || unpack(&packed, digest)).await.ok()?
    }

    /// Keeps what is handed over until a `None` or the end of the queue; gives how many could not be kept. One that is there
    /// already is left as it is in a folder.
    pub async fn put_all(&self, mut waiting: mpsc::Receiver<Option<Digested>>) -> usize {
        match &self.0 {
            // One thread for all: waking one for each content costs more than writing it.
            Store::Folder(folder) => {
                let folder = folder.clone();
                let work = move || {
                    let (mut packer, mut failed) = (Packer::new().ok(), 0);
                    while let Some(Some(content)) = waiting.blocking_recv() {
                        let put =
                            packer.as_mut().is_some_and(|packer| write(&folder, content, packer, |_| Ok(())).is_ok());
                        failed += usize::from(!put);
                    }
                    failed
                };
                tokio::task::spawn_blocking(work).await.unwrap_or_default()
            }
            Store::Bucket(register) => {
                let next = async |mut waiting: mpsc::Receiver<_>| Some((waiting.recv().await??, waiting));
                let puts = stream::unfold(waiting, next).map(|content| put(register, content));
                puts.buffer_unordered(OPEN).fold(0, async |failed, put| failed + usize::from(!put)).await
            }
        }
    }

    /// Removes every content that is not among `kept`. Only whoever holds the state may: its own writes
    /// have to be done, and another run must not begin to count on what is about to go. Ends early once `held` says so.
    pub async fn collect(&self, kept: &BTreeSet<Digest>, held: impl Fn() -> bool) -> Collected {
        let mut collected = Collected::default();
        let names = match self.names().await {
            Ok(names) => names,
            Err(error) => return Collected { why: Some(error.to_string()), ..collected },
        };
        let garbage: Vec<String> = names.into_iter().filter(|name| is_garbage(name, kept)).collect();
        for some in garbage.chunks(TOGETHER) {
            if !held() {
                collected.left += some.len();
                continue;
            }
            let failed = self.remove(some).await;
            collected.removed += some.len() - failed.len();
            collected.left += failed.len();
            collected.why = collected.why.or_else(|| failed.into_iter().next());
        }
        collected
    }

    async fn names(&self) -> Result<Vec<String>, Error> {
        match &self.0 {
            Store::Folder(folder) => {
                let entries = match fs::read_dir(folder) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                    other => other.map_err(Error::io(folder.clone()))?,
                };
                Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
            }
            Store::Bucket(register) => register.names_below(FOLDER).await,
        }
    }

    /// Gives the store's words for each that could not be removed.
    async fn remove(&self, files: &[String]) -> Vec<String> {
        match &self.0 {
            Store::Folder(folder) => {
                let remove = |file: &String| match fs::remove_file(folder.join(file)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => Some(error.to_string()),
                    _ => None,
                };
                files.iter().filter_map(remove).collect()
            }
            Store::Bucket(register) => {
                register.remove(files.iter().map(|file| format!("{FOLDER}/{file}")).collect()).await
            }
        }
    }
}

/// A content with its digest.
#[derive(Debug)]
pub struct Digested {
    /// What [`Content::digest`] gives; one that it does not have is not found again.
    pub digest: Digest,
    /// The content.
    pub content: Content,
}

/// What [`Objects::collect`] did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Contents removed.
    pub removed: usize,
    /// Contents that nothing speaks of and that are still there.
    pub left: usize,
    /// The store's words, where it failed.
    pub why: Option<String>,
}

/// Whether it is ours, and nothing speaks of it. Other people's files are left alone.
fn is_garbage(file: &str, kept: &BTreeSet<Digest>) -> bool {
    let digest = file.strip_suffix(SUFFIX).and_then(|name| Digest::try_from(name.to_owned()).ok());
    digest.is_some_and(|digest| !kept.contains(&digest))
}

fn file_name(digest: Digest) -> String {
    format!("{digest}{SUFFIX}")
}

fn name(digest: Digest) -> String {
    format!("{FOLDER}/{}", file_name(digest))
}

/// Keeps a content in a bucket, and says whether it is there.
async fn put(register: &Register, Digested { digest, content }: Digested) -> bool {
    let packing = move || Packer::new()?.pack(content).map(Arc::from);
    let Ok(Ok(bytes)) = tokio::task::spawn_blocking(packing).await else { return false };
    matches!(register.answer(Call::Put { name: name(digest), bytes }).await, Reply::Done)
}

/// What a disk can fail at: tests let it fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Make,
    Create,
    Write,
}

/// What a kill or a power cut left half written does not have the digest of its name: it is not there for a reader, and is written anew. Whatever else
/// stands under the name is removed first: through a link this would write elsewhere.
fn write(
    folder: &Path,
    Digested { digest, content }: Digested,
    packer: &mut Packer,
    mut step: impl FnMut(Step) -> io::Result<()>,
) -> io::Result<()> {
    let target = folder.join(file_name(digest));
    step(Step::Create)?;
    let mut file = match create(&target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            step(Step::Make)?;
            fs::create_dir_all(folder)?;
            create(&target)?
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if fs::read(&target).is_ok_and(|packed| unpack(&packed, digest).is_some()) {
                return Ok(());
            }
            fs::remove_file(&target)?;
            create(&target)?
        }
        other => other?,
    };
    let fill = || {
        let packed = packer.pack(content)?;
        if let Err(error) = step(Step::Write) {
            // What a full disk takes of a write that fails.
            let _ = file.write_all(&packed[..packed.len() / 2]);
            return Err(error);
        }
        file.write_all(packed)
    };
    let filled = fill();
    if filled.is_err() {
        let _ = fs::remove_file(&target);
    }
    filled
}

/// A new file that only its owner reads, like the rest of the state.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    private(&mut options);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn content(html: &str) -> Content {
        Content { name: "Welcome".to_owned(), html: Some(html.to_owned()), ..Content::default() }
    }

    fn digested(content: &Content) -> Digested {
        Digested { digest: content.digest(), content: content.clone() }
    }

    async fn keep(objects: &Objects, content: &Content) {
        let (queue, waiting) = mpsc::channel(1);
        queue.send(Some(digested(content))).await.unwrap();
        drop(queue);
        assert_eq!(objects.put_all(waiting).await, 0);
    }

    #[tokio::test]
    async fn a_content_is_found_by_its_digest_until_no_entry_refers_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&Location::Folder(folder.path().to_owned())).unwrap();
        let (old, new) = (content("<p>old</p>"), content("<p>new</p>"));
        assert_eq!(objects.get(old.digest()).await, None);
        for content in [&old, &new, &old] {
            keep(&objects, content).await;
        }
        assert_eq!(objects.get(old.digest()).await, Some(old.clone()));
        let kept = BTreeSet::from([new.digest()]);
        // Somebody else's.
        for file in ["notes.txt", "notes.zst"] {
            fs::write(folder.path().join(FOLDER).join(file), "").unwrap();
        }
        assert_eq!(objects.collect(&kept, || false).await, Collected { left: 1, ..Collected::default() });
        assert_eq!(objects.get(old.digest()).await, Some(old.clone()));
        assert_eq!(objects.collect(&kept, || true).await, Collected { removed: 1, ..Collected::default() });
        assert_eq!(objects.get(old.digest()).await, None);
        assert_eq!(objects.get(new.digest()).await, Some(new));
        assert_eq!(fs::read_dir(folder.path().join(FOLDER)).unwrap().count(), 3);
        assert_eq!(objects.collect(&kept, || true).await, Collected::default());
    }

    #[tokio::test]
    async fn what_is_not_what_its_name_says_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&Location::Folder(folder.path().to_owned())).unwrap();
        let content = content("<p>old</p>");
        let path = folder.path().join(name(content.digest()));
        keep(&objects, &content).await;
        let whole = fs::read(&path).unwrap();
        let other = Content { name: "Other".to_owned(), ..content.clone() };
        let bomb = zstd::encode_all(io::repeat(b' ').take(200_000_000), 1).unwrap();
        for damaged in [&whole[..whole.len() / 2], b"", Packer::new().unwrap().pack(other).unwrap(), &bomb[..]] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(objects.get(content.digest()).await, None);
        }
    }

    #[tokio::test]
    async fn a_content_is_its_owners_and_is_written_through_no_link() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        let place = tempfile::tempdir().unwrap();
        let objects = Objects::open(&Location::Folder(place.path().to_owned())).unwrap();
        let content = content("<p>kept</p>");
        let (path, elsewhere) = (place.path().join(name(content.digest())), place.path().join("elsewhere"));
        fs::write(&elsewhere, "somebody else's").unwrap();
        fs::create_dir(place.path().join(FOLDER)).unwrap();
        symlink(&elsewhere, &path).unwrap();
        keep(&objects, &content).await;
        assert_eq!(fs::read(&elsewhere).unwrap(), b"somebody else's");
        let meta = path.symlink_metadata().unwrap();
        assert!(meta.is_file() && meta.permissions().mode() & 0o777 == 0o600, "{meta:?}");
        assert_eq!(objects.get(content.digest()).await, Some(content));
    }

    #[tokio::test]
    async fn no_failing_step_leaves_half_a_content() {
        let (eio, enospc) = (5, 28);
        for failing in [Step::Make, Step::Create, Step::Write] {
            for code in [eio, enospc] {
                let place = tempfile::tempdir().unwrap();
                let folder = place.path().join(FOLDER);
                let objects = Objects::open(&Location::Folder(place.path().to_owned())).unwrap();
                let content = content("<p>what a disk may fail to take</p>");
                let fail = |step| {
                    if step == failing { Err(io::Error::from_raw_os_error(code)) } else { Ok(()) }
                };
                let error = write(&folder, digested(&content), &mut Packer::new().unwrap(), fail).unwrap_err();
                assert_eq!(error.raw_os_error(), Some(code), "{failing:?}");
                assert_eq!(objects.get(content.digest()).await, None, "{failing:?}");
                let left = fs::read_dir(&folder).map_or(0, Iterator::count);
                assert_eq!(left, 0, "{failing:?}: half a file is left");
                keep(&objects, &content).await;
                assert_eq!(objects.get(content.digest()).await, Some(content), "{failing:?}");
            }
        }
    }

    #[tokio::test]
    async fn what_a_kill_or_a_power_cut_tore_is_written_anew() {
        let place = tempfile::tempdir().unwrap();
        let objects = Objects::open(&Location::Folder(place.path().to_owned())).unwrap();
        let content = content("<p>kept</p>");
        keep(&objects, &content).await;
        let whole = fs::read(place.path().join(name(content.digest()))).unwrap();
        for length in 0..whole.len() {
            // Neither its bytes nor its length was on the disk when the power went.
            fs::write(place.path().join(name(content.digest())), &whole[..length]).unwrap();
            assert_eq!(objects.get(content.digest()).await, None, "{length}");
            keep(&objects, &content).await;
            assert_eq!(objects.get(content.digest()).await, Some(content.clone()), "{length}");
        }
    }
}
