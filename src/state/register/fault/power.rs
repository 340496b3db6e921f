//! Every disk that a power cut may leave: what was not synced is there, half there, or not there, whatever came after it.
//!
//! The model is weaker than any file system in use: names that were not synced are kept or lost one by one, and content that was not synced is whole, half
//! or empty.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Fault, Kind, key, live, run, work};
use crate::state::open::init_in;
use crate::state::register::folder::{Folder, Step};
use crate::state::{Account, Error, Location, Register, Session, init, read};

/// A step that was done.
#[derive(Debug, Clone)]
pub(super) enum Done {
    Create(PathBuf),
    Write(PathBuf, Vec<u8>),
    Sync(PathBuf),
    Rename(PathBuf, PathBuf),
    SyncFolder(PathBuf),
    Remove(PathBuf),
    /// This many commits were reported as certain.
    Reported(usize),
}

impl Done {
    pub(super) fn of(step: Step<'_>) -> Option<Self> {
        Some(match step {
            Step::Read(_) => return None,
            Step::Create(path) => Self::Create(path.into()),
            Step::Write(path, bytes) => Self::Write(path.into(), bytes.into()),
            Step::Sync(path) => Self::Sync(path.into()),
            Step::Rename(from, to) => Self::Rename(from.into(), to.into()),
            Step::SyncFolder(path) => Self::SyncFolder(path.into()),
            Step::Remove(path) => Self::Remove(path.into()),
        })
    }
}

/// How much is there of content that was not synced.
#[derive(Debug, Clone, Copy)]
enum Kept {
    Whole,
    Half,
    Nothing,
}

/// A file, whatever its name is at the moment.
#[derive(Debug, Clone, Default)]
struct Content {
    bytes: Vec<u8>,
    synced: bool,
}

/// What happened to names since the folder was synced.
#[derive(Debug, Clone)]
enum Naming {
    Named(PathBuf, usize),
    Renamed(PathBuf, PathBuf, usize),
    Removed(PathBuf),
}

/// What the machine believes, and what of it the disk certainly has.
#[derive(Debug, Default)]
struct Disk {
    files: Vec<Content>,
    /// Names as the machine sees them.
    seen: BTreeMap<PathBuf, usize>,
    /// Names that survive a power cut.
    safe: BTreeMap<PathBuf, usize>,
    unsafe_since: Vec<Naming>,
}

/// The files of a disk after a power cut.
type Image = BTreeMap<PathBuf, Vec<u8>>;

impl Disk {
    /// A disk that has all of a folder for certain.
    fn of(folder: &Path) -> Self {
        let mut disk = Self::default();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            disk.files.push(Content { bytes: fs::read(&path).unwrap(), synced: true });
            disk.seen.insert(path, disk.files.len() - 1);
        }
        disk.safe.clone_from(&disk.seen);
        disk
    }

    fn apply(&mut self, done: &Done) {
        match done {
            Done::Create(path) => {
                self.files.push(Content::default());
                let file = self.files.len() - 1;
                self.seen.insert(path.clone(), file);
                self.unsafe_since.push(Naming::Named(path.clone(), file));
            }
            Done::Write(path, bytes) => self.files[self.seen[path]] = Content { bytes: bytes.clone(), synced: false },
            Done::Sync(path) => self.files[self.seen[path]].synced = true,
            Done::Rename(from, to) => {
                let file = self.seen.remove(from).unwrap();
                self.seen.insert(to.clone(), file);
                self.unsafe_since.push(Naming::Renamed(from.clone(), to.clone(), file));
            }
            Done::Remove(path) => {
                self.seen.remove(path);
                self.unsafe_since.push(Naming::Removed(path.clone()));
            }
            Done::SyncFolder(_) => {
                self.safe.clone_from(&self.seen);
                self.unsafe_since.clear();
            }
            Done::Reported(_) => {}
        }
    }

    /// Every disk that a power cut at this moment may leave.
    fn images(&self) -> BTreeSet<Image> {
        let count = self.unsafe_since.len();
        assert!(count < 12, "a folder that is never synced: {:?}", self.unsafe_since);
        let mut images = BTreeSet::new();
        for survivors in 0..1_u32 << count {
            let mut names = self.safe.clone();
            for (_, naming) in self.unsafe_since.iter().enumerate().filter(|(at, _)| survivors & (1 << at) != 0) {
                match naming {
                    Naming::Named(path, file) => drop(names.insert(path.clone(), *file)),
                    Naming::Renamed(from, to, file) => {
                        names.remove(from);
                        names.insert(to.clone(), *file);
                    }
                    Naming::Removed(path) => drop(names.remove(path)),
                }
            }
            for kept in [Kept::Whole, Kept::Half, Kept::Nothing] {
                let bytes = |file: &usize| {
                    let Content { bytes, synced } = &self.files[*file];
                    match kept {
                        _ if *synced => bytes.clone(),
                        Kept::Whole => bytes.clone(),
                        Kept::Half => bytes[..bytes.len() / 2].to_vec(),
                        Kept::Nothing => Vec::new(),
                    }
                };
                images.insert(names.iter().map(|(path, file)| (path.clone(), bytes(file))).collect());
            }
        }
        images
    }
}

/// Puts an image into a folder of its own.
fn lay_out(image: &Image) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in image {
        fs::write(folder.path().join(path.file_name().unwrap()), bytes).unwrap();
    }
    folder
}

fn account() -> Account {
    Account { base_url: "sandbox".to_owned(), user_id: 1, project_id: None }
}

/// Commits of each run of [`record`].
const COMMITS: usize = 2;
/// More runs than snapshots are kept, so that old ones are removed too.
const RUNS: usize = 12;

/// Writes down everything that a few runs do to a folder that was just made, and when each commit was reported as certain.
async fn record(path: &Path) -> Vec<Done> {
    let mut all = Vec::new();
    let mut reported = 0;
    for _ in 0..RUNS {
        let disk = Arc::new(Mutex::new(Folder::at(path)));
        disk.lock().unwrap().fault = Some(Fault::new(Kind::Never, 0));
        let report = |reported: usize| {
            let mut disk = disk.lock().unwrap();
            disk.fault.as_mut().unwrap().done.push(Done::Reported(reported));
        };
        let register = Register::Folder(Arc::clone(&disk));
        let session = Session::take_in(register, "here".to_owned(), run(), Duration::ZERO, false, |_| {});
        let mut session = session.await.unwrap();
        for _ in 0..COMMITS {
            session.commit(vec![live(&format!("key-{reported}"))], "test").await.unwrap();
            reported += 1;
            report(reported);
        }
        session.release().await.unwrap();
        all.append(&mut disk.lock().unwrap().fault.as_mut().unwrap().done);
    }
    all
}

#[tokio::test]
async fn no_power_cut_tears_the_state_or_loses_what_was_certain() {
    let folder = tempfile::tempdir().unwrap();
    let first = init(&Location::Folder(folder.path().to_owned()), account(), &mut run()).await.unwrap();
    let mut disk = Disk::of(folder.path());

    let (mut certain, mut cuts, mut looked_at) = (0, 0, BTreeSet::new());
    for done in record(folder.path()).await {
        if let Done::Reported(commits) = done {
            certain = commits;
        }
        disk.apply(&done);
        for image in disk.images() {
            cuts += 1;
            if !looked_at.insert((certain, image.clone())) {
                continue;
            }
            let left = lay_out(&image);
            let location = Location::Folder(left.path().to_owned());
            let state = read(&location).await.unwrap_or_else(|error| panic!("after {done:?}: {error}"));
            assert_eq!(state.lineage, first.lineage);
            for number in 0..certain {
                assert!(state.records.contains_key(&key(&format!("key-{number}"))), "{number} is lost after {done:?}");
            }
            assert!(state.records.len() <= certain + 1, "after {done:?}: {:?}", state.records.keys());
        }
    }
    assert_eq!(certain, RUNS * COMMITS);
    assert!(cuts > 500 && looked_at.len() > 200, "{cuts} cuts, {} different disks", looked_at.len());
}

#[tokio::test]
async fn the_next_run_goes_on_after_a_power_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let location = Location::Folder(path.clone());
    init(&location, account(), &mut run()).await.unwrap();
    let mut disk = Disk::of(&path);
    let mut looked_at = BTreeSet::new();
    for done in record(&path).await.into_iter().take(40) {
        disk.apply(&done);
        for image in disk.images() {
            if looked_at.insert(image.clone()) {
                let left = lay_out(&image);
                let register = Register::open(&Location::Folder(left.path().to_owned())).unwrap();
                let mut reported = Vec::new();
                work(register, &mut reported).await.unwrap_or_else(|error| panic!("after {done:?}: {error}"));
                assert_eq!(reported, ["a", "b"]);
            }
        }
    }
    assert!(looked_at.len() > 20, "{} different disks", looked_at.len());
}

#[tokio::test]
async fn a_head_that_the_disk_did_not_confirm_is_not_taken_for_certain() {
    // The folder's sync fails from a certain moment on: the new head can be read, and still nobody may rely on it.
    let folder = tempfile::tempdir().unwrap();
    init(&Location::Folder(folder.path().to_owned()), account(), &mut run()).await.unwrap();
    let disk = Arc::new(Mutex::new(Folder::at(folder.path())));
    let register = Register::Folder(Arc::clone(&disk));
    let session = Session::take_in(register, "here".to_owned(), run(), Duration::ZERO, false, |_| {});
    let mut session = session.await.unwrap();
    disk.lock().unwrap().fault = Some(Fault::new(Kind::NoFolderSync, 0));
    let result = session.commit(vec![live("a")], "test").await;
    assert!(matches!(result, Err(Error::Store { .. })), "{result:?}");
}

#[tokio::test]
async fn a_state_whose_making_was_cut_off_is_there_or_can_be_made() {
    let folder = tempfile::tempdir().unwrap();
    let mut folder_of_a_run = Folder::at(folder.path());
    folder_of_a_run.fault = Some(Fault::new(Kind::Never, 0));
    let disk = Arc::new(Mutex::new(folder_of_a_run));
    let register = Register::Folder(Arc::clone(&disk));
    init_in(&register, "here".to_owned(), account(), &mut run()).await.unwrap();
    let all = std::mem::take(&mut disk.lock().unwrap().fault.as_mut().unwrap().done);
    let mut disk = Disk::default();
    let (mut born, mut unborn) = (0, 0);
    for done in all {
        disk.apply(&done);
        for image in disk.images() {
            let left = lay_out(&image);
            let location = Location::Folder(left.path().to_owned());
            match read(&location).await {
                Ok(_) => born += 1,
                Err(Error::Missing { .. }) => {
                    unborn += 1;
                    init(&location, account(), &mut run()).await.unwrap();
                }
                Err(error) => panic!("after {done:?}: {error}"),
            }
            work(Register::open(&location).unwrap(), &mut Vec::new()).await.unwrap();
            assert_eq!(read(&location).await.unwrap().history[0].what, "state init");
        }
    }
    assert!(born > 3 && unborn > 3, "{born} were there, {unborn} were not");
}

#[test]
fn a_new_folder_is_known_to_every_folder_above_it() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = Folder::at(root.path().join("a/b/c"));
    folder.fault = Some(Fault::new(Kind::Never, 0));
    assert!(folder.lock().unwrap());
    let synced = folder.fault.unwrap().done.into_iter().map(|done| match done {
        Done::SyncFolder(path) => path.strip_prefix(root.path()).unwrap().to_str().unwrap().to_owned(),
        other => panic!("{other:?}"),
    });
    assert_eq!(synced.collect::<Vec<_>>(), ["a/b", "a", ""]);
}
