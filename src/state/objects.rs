//! The contents as last applied, beside the state: `objects/<digest>.zst`, content-addressed (safety §2).
//!
//! They let a plan show what changes. They are a convenience, never a condition: one that is missing, torn or damaged reads as "not there", writing
//! one is not synced to disk, and nothing that the protocol promises rests on them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::call::{Call, Reply};
use super::error::Error;
use super::location::Location;
use super::register::Register;
use super::{Entry, State};
use crate::desired::{Content, Digest};

/// The folder or prefix of the contents, below the state's place.
const FOLDER: &str = "objects";

/// Largest content in bytes once unpacked: three bodies cannot be larger than the service's request.
const UNPACKED_BYTES: u64 = 4 * crate::limits::REQUEST_BYTES;

/// How the names of files begin that are not whole yet.
const TEMPORARY: &str = ".new-";

/// From this age on nobody writes a file any more.
const ABANDONED: Duration = Duration::from_secs(3_600);

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

    /// Keeps a content; one that is there already is left as it is.
    ///
    /// # Errors
    ///
    /// The store's words, as [`Error::Io`] or [`Error::Store`].
    pub async fn put(&self, content: Content) -> Result<(), Error> {
        match &self.0 {
            Store::Folder(folder) => {
                let folder = folder.clone();
                let write = move || write(&folder, &content, |_| Ok(())).map_err(Error::io(folder));
                tokio::task::spawn_blocking(write).await.unwrap_or_else(|error| Err(lost(&error.to_string())))
            }
            Store::Bucket(register) => {
                let packing = tokio::task::spawn_blocking(move || (content.digest(), pack(&content)));
                let (digest, packed) = packing.await.map_err(|error| lost(&error.to_string()))?;
                let bytes = packed.map_err(|error| lost(&error.to_string()))?.into();
                match register.answer(Call::Put { name: name(digest), bytes }).await {
                    Reply::Done => Ok(()),
                    Reply::Unknown(why) => Err(lost(&why)),
                    _ => Err(lost("the store gave an answer to another question")),
                }
            }
        }
    }

    /// Removes those of `candidates` that no entry of `state` refers to. What cannot be removed stays.
    pub async fn collect(&self, candidates: &BTreeSet<Digest>, state: &State) {
        let kept = referred(state);
        if let Store::Folder(folder) = &self.0 {
            sweep(folder);
        }
        for digest in candidates.difference(&kept) {
            match &self.0 {
                Store::Folder(folder) => drop(fs::remove_file(folder.join(file_name(*digest)))),
                Store::Bucket(register) => drop(register.answer(Call::Delete { name: name(*digest) }).await),
            }
        }
    }
}

/// Every content that an entry may still speak of.
fn referred(state: &State) -> BTreeSet<Digest> {
    let mut kept = BTreeSet::new();
    for record in state.records.values() {
        match &record.entry {
            Entry::Updating { from, to, .. } => kept.extend(from.iter().copied().chain([*to])),
            entry => kept.extend(entry.digest()),
        }
    }
    kept
}

fn file_name(digest: Digest) -> String {
    format!("{digest}.zst")
}

fn name(digest: Digest) -> String {
    format!("{FOLDER}/{}", file_name(digest))
}

fn lost(why: &str) -> Error {
    Error::Store { place: FOLDER.to_owned(), why: why.to_owned() }
}

/// What a disk can fail at: tests let it fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Make,
    Create,
    Write,
    Rename,
}

/// A reader sees the whole file or none; a torn one after a power cut does not have the digest of its name, and is written anew.
fn write(folder: &Path, content: &Content, mut step: impl FnMut(Step) -> io::Result<()>) -> io::Result<()> {
    let digest = content.digest();
    let target = folder.join(file_name(digest));
    if fs::read(&target).is_ok_and(|packed| unpack(&packed, digest).is_some()) {
        return Ok(());
    }
    step(Step::Make)?;
    fs::create_dir_all(folder)?;
    step(Step::Create)?;
    let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(folder)?;
    let packed = pack(content)?;
    let (first, second) = packed.split_at(packed.len() / 2);
    file.write_all(first)?;
    step(Step::Write)?;
    file.write_all(second)?;
    step(Step::Rename)?;
    file.persist(target)?;
    Ok(())
}

/// Removes what runs that died left half-written. A run that lives is done with a file long before it is so old.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(TEMPORARY)) {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        if modified.ok().and_then(|time| time.elapsed().ok()).is_some_and(|age| age > ABANDONED) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn pack(content: &Content) -> io::Result<Vec<u8>> {
    // In one piece: the compressor takes only the memory that this size needs. Its lowest level costs half and packs templates as well.
    zstd::bulk::compress(&serde_json::to_vec(content)?, 1)
}

fn unpack(packed: &[u8], digest: Digest) -> Option<Content> {
    let mut json = Vec::new();
    zstd::Decoder::new(packed).ok()?.take(UNPACKED_BYTES).read_to_end(&mut json).ok()?;
    let content: Content = serde_json::from_slice(&json).ok()?;
    (content.digest() == digest).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desired::{Id, Key};
    use crate::state::{Account, Record};

    fn content(html: &str) -> Content {
        Content { name: "Welcome".to_owned(), html: Some(html.to_owned()), ..Content::default() }
    }

    fn state(live: &[&Content]) -> State {
        let account = Account { base_url: "sandbox".to_owned(), user_id: 1, project_id: None };
        let mut state = State::empty(uuid::Uuid::nil(), account);
        for (number, content) in live.iter().enumerate() {
            let entry = Entry::Live { id: Id::new(format!("id-{number}")).unwrap(), digest: content.digest() };
            let record = Record { entry, unsettled: None, applied: None };
            state.records.insert(Key::new(format!("key-{number}")).unwrap(), record);
        }
        state
    }

    #[tokio::test]
    async fn a_content_is_found_by_its_digest_until_no_entry_refers_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&Location::Folder(folder.path().to_owned())).unwrap();
        let (old, new) = (content("<p>old</p>"), content("<p>new</p>"));
        assert_eq!(objects.get(old.digest()).await, None);
        for content in [&old, &new, &old] {
            objects.put(content.clone()).await.unwrap();
        }
        assert_eq!(objects.get(old.digest()).await, Some(old.clone()));
        let candidates = BTreeSet::from([old.digest(), new.digest()]);
        objects.collect(&candidates, &state(&[&new])).await;
        assert_eq!(objects.get(old.digest()).await, None);
        assert_eq!(objects.get(new.digest()).await, Some(new));
        assert_eq!(fs::read_dir(folder.path().join(FOLDER)).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn what_is_not_what_its_name_says_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&Location::Folder(folder.path().to_owned())).unwrap();
        let content = content("<p>old</p>");
        let path = folder.path().join(name(content.digest()));
        objects.put(content.clone()).await.unwrap();
        let whole = fs::read(&path).unwrap();
        let other = Content { name: "Other".to_owned(), ..content.clone() };
        let bomb = zstd::encode_all(io::repeat(b' ').take(200_000_000), 1).unwrap();
        for damaged in [&whole[..whole.len() / 2], b"", &pack(&other).unwrap()[..], &bomb[..]] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(objects.get(content.digest()).await, None);
        }
    }

    #[tokio::test]
    async fn no_failing_step_leaves_half_a_content() {
        let (eio, enospc) = (5, 28);
        for failing in [Step::Make, Step::Create, Step::Write, Step::Rename] {
            for code in [eio, enospc] {
                let place = tempfile::tempdir().unwrap();
                let folder = place.path().join(FOLDER);
                let objects = Objects::open(&Location::Folder(place.path().to_owned())).unwrap();
                let content = content("<p>what a disk may fail to take</p>");
                let fail = |step| {
                    if step == failing { Err(io::Error::from_raw_os_error(code)) } else { Ok(()) }
                };
                let error = write(&folder, &content, fail).unwrap_err();
                assert_eq!(error.raw_os_error(), Some(code), "{failing:?}");
                assert_eq!(objects.get(content.digest()).await, None, "{failing:?}");
                let left = fs::read_dir(&folder).map_or(0, Iterator::count);
                assert_eq!(left, 0, "{failing:?}: half a file is left");
                objects.put(content.clone()).await.unwrap();
                assert_eq!(objects.get(content.digest()).await, Some(content), "{failing:?}");
            }
        }
    }

    #[tokio::test]
    async fn what_a_power_cut_tore_is_written_anew_and_what_a_kill_left_is_swept() {
        let place = tempfile::tempdir().unwrap();
        let objects = Objects::open(&Location::Folder(place.path().to_owned())).unwrap();
        let content = content("<p>kept</p>");
        objects.put(content.clone()).await.unwrap();
        let whole = fs::read(place.path().join(name(content.digest()))).unwrap();
        for length in 0..whole.len() {
            // Neither its bytes nor its length was on the disk when the power went.
            fs::write(place.path().join(name(content.digest())), &whole[..length]).unwrap();
            assert_eq!(objects.get(content.digest()).await, None, "{length}");
            objects.put(content.clone()).await.unwrap();
            assert_eq!(objects.get(content.digest()).await, Some(content.clone()), "{length}");
        }
        let (old, fresh) = (place.path().join("objects/.new-old"), place.path().join("objects/.new-fresh"));
        fs::write(&fresh, "half").unwrap();
        let long_ago = std::time::SystemTime::now() - 2 * ABANDONED;
        fs::File::create(&old).unwrap().set_modified(long_ago).unwrap();
        objects.collect(&BTreeSet::new(), &state(&[&content])).await;
        assert!(!old.exists() && fresh.exists());
        assert_eq!(objects.get(content.digest()).await, Some(content));
    }
}
