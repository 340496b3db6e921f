//! The walk over the templates folder: on all cores, each folder read at most once, what is remembered not at all.

use std::borrow::Cow;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use icu_normalizer::ComposingNormalizerBorrowed;
use rayon::prelude::*;
use rustix::fs::{AtFlags, FileType, RawDir};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::cache::{Kept, Pen, Record, Stamp, touch};
use super::files::{self, Refused};
use super::folder::{BODIES, Folder, Listed, MANIFEST, Shared};
use super::problem::{Fault, Problem};
use super::read::closest;
use crate::desired::Key;
use crate::diagnostic::Location;

/// Deepest folder below the templates folder that is looked into.
const DEPTH: usize = 32;

/// What the walk found: one value per template folder, in no order, and what is wrong with the tree itself.
#[derive(Debug)]
pub struct Walk<T> {
    /// Key, folder below the root, and the visitor's value.
    pub folders: Vec<(Key, String, T)>,
    /// Symlinks, folder names that cannot be keys, an empty or missing templates folder.
    pub problems: Vec<Problem>,
}

impl<T> Default for Walk<T> {
    fn default() -> Self {
        Self { folders: Vec::new(), problems: Vec::new() }
    }
}

/// Narrows a walk. Paths are below the root.
pub struct Only<'a> {
    /// Whether a template folder is read.
    pub reads: &'a (dyn Fn(&str) -> bool + Sync),
    /// Whether a folder is looked into: it or one below it may be read.
    pub enters: &'a (dyn Fn(&str) -> bool + Sync),
}

pub(super) struct Walker<'a, V> {
    pub shared: &'a Shared<'a>,
    /// The templates folder below the root.
    pub templates: &'a str,
    /// The same, open.
    pub top: &'a OwnedFd,
    pub only: Option<&'a Only<'a>>,
    pub visit: &'a V,
    /// Where what is read is to be remembered.
    pub pen: Option<&'a Pen>,
}

/// What one folder and all below it came to.
struct Found<'a, T> {
    /// The folder itself, when it is a template.
    own: Option<(Key, String, T)>,
    /// What is below it.
    walk: Walk<T>,
    kept: Kept<'a>,
}

impl<T> Found<'_, T> {
    fn nothing() -> Self {
        Self { own: None, walk: Walk::default(), kept: Kept::Nothing }
    }
}

/// A folder on the way.
struct Place<'a> {
    /// Its path below the templates folder; empty for that itself.
    below: String,
    /// Its name.
    name: Cow<'a, str>,
    depth: usize,
    /// What is remembered of it.
    record: Option<&'a Record<'a>>,
}

/// A name in a folder.
pub(super) struct Entry {
    pub name: String,
    pub kind: FileType,
    /// Whether the name was UTF-8.
    text: bool,
}

impl Entry {
    pub fn folder(&self) -> bool {
        self.kind == FileType::Directory
    }
}

impl<T, V> Walker<'_, V>
where
    T: Send + Serialize + DeserializeOwned,
    V: Fn(Folder) -> T + Sync,
{
    /// Walks from the templates folder on, and what the cache should be afterwards.
    pub fn walk<'a>(&self, record: Option<&'a Record<'a>>) -> (Walk<T>, Kept<'a>) {
        let top = Place { below: String::new(), name: Cow::default(), depth: 0, record };
        let mut found = self.folder(None, top);
        found.walk.folders.extend(found.own);
        (found.walk, found.kept)
    }

    fn folder<'a>(&self, parent: Option<&OwnedFd>, place: Place<'a>) -> Found<'a, T> {
        if let Some(record) = place.record
            && let Some(own) = self.remembered(record, parent, &place)
        {
            if record.below.is_empty() {
                return Found { own, walk: Walk::default(), kept: record.again(Vec::new()) };
            }
            let below: Vec<&'a Record<'a>> = record.below.iter().collect();
            let children = below.into_par_iter().map(|record| (Cow::Borrowed(record.name), Some(record)));
            // From here on a name is looked up in one step, and no two cores count who uses the same open folder.
            let dir = self.opened(parent, &place).ok();
            let (walk, kept) = self.children(dir.as_ref(), &place, Walk::default(), children);
            return Found { own, walk, kept: record.again(kept) };
        }
        // From before anything of the folder is read.
        let now = self.pen.and_then(Pen::now);
        match self.opened(parent, &place) {
            Ok(dir) => self.read(&dir, place, now),
            Err(Refused::Fault(Fault::FileMissing, _)) => Found::nothing(),
            Err(link @ Refused::Symlink(_)) => self.wrong(&place.below, Fault::PathSymlink, link.to_string()),
            Err(Refused::Fault(fault, message)) => self.wrong(&place.below, fault, message),
            Err(Refused::Io(error)) => {
                self.wrong(&place.below, Fault::TemplatesFolder, format!("the folder cannot be read: {error}"))
            }
        }
    }

    fn opened(&self, parent: Option<&OwnedFd>, place: &Place<'_>) -> Result<OwnedFd, Refused> {
        match parent {
            Some(parent) if !place.below.is_empty() => files::open_folder(parent.as_fd(), &place.name),
            _ => self.open(&place.below),
        }
    }

    /// Opens a folder from the top, step by step.
    fn open(&self, below: &str) -> Result<OwnedFd, Refused> {
        let mut dir = self.top.try_clone()?;
        for part in below.split('/').filter(|part| !part.is_empty()) {
            dir = files::open_folder(dir.as_fd(), part)?;
        }
        Ok(dir)
    }

    fn read<'a>(&self, dir: &OwnedFd, place: Place<'a>, now: Option<i64>) -> Found<'a, T> {
        let path = self.path(&place.below);
        let stat = self.pen.and_then(|_| rustix::fs::fstat(dir).ok());
        let mut stamp = stat.map_or(Stamp::NEVER, |stat| Stamp::of(&stat));
        let entries = match entries(dir.as_fd()) {
            Ok(entries) => entries,
            Err(error) => {
                return self.wrong(&place.below, Fault::TemplatesFolder, format!("`{path}` cannot be read: {error}"));
            }
        };
        let mut walk = Walk::default();
        for link in entries.iter().filter(|entry| entry.kind == FileType::Symlink) {
            let message = format!("`{}` is a symlink, and templates are read without following any", link.name);
            let problem = Problem::new(Fault::PathSymlink, Location::whole(format!("{path}/{}", link.name)), message);
            walk.problems.push(problem.help("put the file itself here"));
        }
        let (folders, files): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(Entry::folder);
        let mut listed = Listed::of(files);
        walk.problems.extend(stray(&path, &listed.names));
        // A folder that has a body's name must not look as if there were no body.
        for folder in folders.iter().filter(|folder| BODIES.contains(&folder.name.as_str())) {
            listed.add(folder.name.clone(), folder.kind);
        }
        let (mut own, mut value) = (None, None);
        let mut named: Vec<String> = Vec::new();
        if listed.has(MANIFEST) && self.only.is_none_or(|only| (only.reads)(&path)) {
            match Key::new(normal(&place.below)) {
                Ok(key) => {
                    let mut folder = Folder::read(self.shared, dir.as_fd(), key.clone(), path.clone(), listed);
                    let touched = std::mem::take(&mut folder.touched).files();
                    named = folder.links.iter().map(|link| join(&path, link)).collect();
                    let seen = (self.visit)(folder);
                    value = now.and_then(|now| keep(touched?, &seen, now));
                    if value.is_none() {
                        stamp = Stamp::NEVER;
                    }
                    own = Some((key, path.clone(), seen));
                }
                Err(error) => {
                    let message = format!("the folder's path cannot be a key: {error}");
                    walk.problems.push(Problem::new(Fault::KeyInvalid, Location::whole(path.clone()), message));
                }
            }
        }
        let clean = walk.problems.is_empty();
        let folders: Vec<Entry> = folders.into_iter().filter(|entry| !entry.name.starts_with('.')).collect();
        let utf8 = folders.iter().all(|entry| entry.text);
        for entry in folders.iter().filter(|entry| !entry.text) {
            let found = self.wrong(&join(&place.below, &entry.name), Fault::KeyInvalid, NOT_UTF8.to_owned());
            let found: Found<'_, T> = found;
            walk.problems.extend(found.walk.problems);
        }
        let children = folders.into_par_iter().filter(|entry| entry.text).map(|entry| {
            let record = place.record.and_then(|record| record.child(&entry.name));
            (Cow::Owned(entry.name), record)
        });
        let (mut walk, below) = self.children(Some(dir), &place, walk, children);
        if !named.is_empty() {
            // The finding is where the manifest names the link.
            let is = |problem: &Problem| problem.fault == Fault::PathSymlink && named.contains(&problem.location.path);
            walk.problems.retain(|problem| !is(problem));
        }
        if self.pen.is_none() {
            return Found { own, walk, kept: Kept::Nothing };
        }
        let known = clean && utf8 && below.iter().all(Kept::is_known);
        if !known || now.is_none_or(|now| stamp.racy(now)) {
            (stamp, value) = (Stamp::NEVER, None);
        }
        Found { own, walk, kept: Kept::New { name: place.name.into_owned(), stamp, value, below } }
    }

    /// Visits the folders below one, and adds what they came to.
    fn children<'a>(
        &self,
        dir: Option<&OwnedFd>,
        place: &Place<'a>,
        mut walk: Walk<T>,
        children: impl ParallelIterator<Item = (Cow<'a, str>, Option<&'a Record<'a>>)>,
    ) -> (Walk<T>, Vec<Kept<'a>>) {
        let found: Vec<Found<'a, T>> = children
            .map(|(name, record)| {
                let below = join(&place.below, &name);
                if place.depth >= DEPTH {
                    let message = format!("folders nest deeper than {DEPTH} levels");
                    return self.wrong(&below, Fault::KeyInvalid, message);
                }
                if self.only.is_some_and(|only| !(only.enters)(&self.path(&below))) {
                    return Found::nothing();
                }
                self.folder(dir, Place { below, name, depth: place.depth + 1, record })
            })
            .collect();
        let mut kept = Vec::with_capacity(found.len());
        walk.folders
            .reserve(found.iter().map(|found| usize::from(found.own.is_some()) + found.walk.folders.len()).sum());
        for child in found {
            walk.folders.extend(child.own);
            walk.folders.extend(child.walk.folders);
            walk.problems.extend(child.walk.problems);
            kept.push(child.kept);
        }
        (walk, kept)
    }

    /// What is remembered of a folder, if it is as it was: nothing inside when it is no template.
    fn remembered(
        &self,
        record: &Record<'_>,
        parent: Option<&OwnedFd>,
        place: &Place<'_>,
    ) -> Option<Option<(Key, String, T)>> {
        let stamp = record.stamp();
        if stamp == Stamp::NEVER {
            return None;
        }
        let below = place.below.as_str();
        let (from, name) = match parent {
            Some(parent) => (parent, &*place.name),
            None => (self.top, below),
        };
        let stat = |path: &str| rustix::fs::statat(from, path, AtFlags::SYMLINK_NOFOLLOW).ok();
        if Stamp::of(&stat(if name.is_empty() { "." } else { name })?) != stamp {
            return None;
        }
        let Some(value) = record.value() else { return Some(None) };
        let mut path = String::with_capacity(name.len() + 64);
        for (file, stamp) in value.touched() {
            path.clear();
            path.push_str(name);
            path.push('/');
            path.push_str(file);
            if Stamp::of(&stat(path.trim_start_matches('/'))?) != stamp {
                return None;
            }
        }
        let key = Key::new(normal(below)).ok()?;
        Some(Some((key, self.path(below), postcard::from_bytes(value.bytes).ok()?)))
    }

    /// A folder that cannot be looked into.
    fn wrong<'a>(&self, below: &str, fault: Fault, message: String) -> Found<'a, T> {
        let problem = Problem::new(fault, Location::whole(self.path(below)), message);
        Found { walk: Walk { folders: Vec::new(), problems: vec![problem] }, ..Found::nothing() }
    }

    /// The path below the root.
    fn path(&self, below: &str) -> String {
        join(self.templates, below)
    }
}

/// What keeps a folder from being the template that it was probably meant to be.
fn stray(path: &str, names: &[String]) -> Option<Problem> {
    let manifest = names.iter().any(|name| name == MANIFEST);
    let ours = |name: &str| name == MANIFEST || BODIES.contains(&name);
    let meant = |name: &&String| match name.to_lowercase().as_str() {
        "manifest.yml" | MANIFEST => true,
        "manifest.yml.txt" => !manifest,
        lower => {
            let yaml = [".yaml", ".yml"].iter().any(|end| lower.ends_with(end)) || lower.starts_with(MANIFEST);
            !manifest && yaml && closest(lower, [MANIFEST]).is_some()
        }
    };
    let at = |name: &str| Location::whole(format!("{path}/{name}"));
    if let Some(name) = names.iter().filter(|name| !ours(name)).find(meant) {
        let message = format!("`{name}` is not read: the manifest of a template is `{MANIFEST}`");
        let problem = Problem::new(Fault::ManifestName, at(name), message);
        return Some(if manifest {
            problem.help("remove one of the two").warn()
        } else {
            problem.help(format!("rename it to `{MANIFEST}`"))
        });
    }
    let body = names.iter().find(|name| !manifest && BODIES.contains(&name.as_str()))?;
    let message = format!("`{body}` has no `{MANIFEST}` beside it, so this folder is no template");
    let help = "`letterpress new KEY` writes one, to copy from";
    Some(Problem::new(Fault::ManifestMissing, at(body), message).help(help))
}

const NOT_UTF8: &str = "the folder's name is not UTF-8";

/// The files and the value as they are kept; nothing when a file changed too shortly before it was read.
fn keep<T: Serialize>(touched: Vec<(String, Stamp)>, value: &T, now: i64) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut files = Vec::new();
    for (path, stamp) in touched {
        if stamp.racy(now) {
            return None;
        }
        touch(&mut files, &path, stamp);
    }
    Some((files, postcard::to_allocvec(value).ok()?))
}

fn join(above: &str, name: &str) -> String {
    match (above, name) {
        ("", name) => name.to_owned(),
        (above, "") => above.to_owned(),
        (above, name) => {
            let mut path = String::with_capacity(above.len() + 1 + name.len());
            path.push_str(above);
            path.push('/');
            path.push_str(name);
            path
        }
    }
}

/// The names in a folder with their kinds, sorted. The folder that is open is read itself, which spares opening it a second time: once, from where it is.
pub(super) fn entries(dir: BorrowedFd<'_>) -> io::Result<Vec<Entry>> {
    let mut list = Vec::new();
    let mut buffer = [MaybeUninit::uninit(); 8 * 1024];
    let mut names = RawDir::new(dir, &mut buffer);
    while let Some(entry) = names.next() {
        let entry = entry?;
        let bytes = entry.file_name().to_bytes();
        if bytes == b"." || bytes == b".." {
            continue;
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            kind = rustix::fs::statat(dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode));
        }
        let text = std::str::from_utf8(bytes).is_ok();
        list.push(Entry { name: String::from_utf8_lossy(bytes).into_owned(), kind, text });
    }
    list.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(list)
}

/// Unicode normal form C: a checkout on a system that stores names decomposed has the same keys.
pub(super) fn normal(text: &str) -> String {
    if text.is_ascii() { text.to_owned() } else { ComposingNormalizerBorrowed::new_nfc().normalize(text).into_owned() }
}

/// The name on disk of a part of a key.
pub(super) fn on_disk(dir: &OwnedFd, part: &str) -> io::Result<Option<String>> {
    let list = entries(dir.as_fd())?;
    Ok(list.into_iter().filter(Entry::folder).map(|entry| entry.name).find(|name| normal(name) == part))
}
