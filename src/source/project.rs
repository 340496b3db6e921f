//! A project: the folder with letterpress.toml, and the walk over its templates.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use icu_normalizer::ComposingNormalizerBorrowed;
use rayon::prelude::*;
use rustix::fs::{Dir, FileType};

use super::config::{self, Config, Environment};
use super::files::{self, Refused};
use super::folder::{Folder, MANIFEST, Shared};
use super::problem::{Fault, Problem};
use super::read::closest;
use crate::desired::Key;
use crate::diagnostic::Location;
use crate::limits;

/// Deepest folder below the templates folder that is looked into.
const DEPTH: usize = 32;

/// A project that was found and whose letterpress.toml is good.
#[derive(Debug, Clone)]
pub struct Project {
    /// The folder with letterpress.toml, absolute.
    pub root: PathBuf,
    /// letterpress.toml.
    pub config: Config,
}

/// Why there is no project.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No letterpress.toml in the folder or, without `--project`, in any above it.
    #[error("no letterpress.toml in `{from}`{upward}", from = .from.display(), upward = if *.upward { " or any folder above it" } else { "" })]
    NotFound {
        /// Where the search began.
        from: PathBuf,
        /// Whether the folders above were searched as well.
        upward: bool,
    },
    /// The system failed.
    #[error("cannot read `{path}`", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// letterpress.toml is wrong; its findings say where.
    #[error("letterpress.toml is wrong")]
    Config(Vec<Problem>),
}

/// An environment that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    /// The name is not in letterpress.toml.
    #[error("there is no environment `{name}` in letterpress.toml")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What was probably meant.
        meant: Option<String>,
        /// All there are.
        known: Vec<String>,
    },
    /// None was named, and letterpress.toml has several and no default.
    #[error("letterpress.toml has several environments and no default")]
    Unnamed {
        /// All there are.
        known: Vec<String>,
    },
}

/// What the walk found: one value per template folder, in no order, and what is wrong with the tree itself.
#[derive(Debug)]
pub struct Walk<T> {
    /// Key, folder below the root, and the visitor's value.
    pub folders: Vec<(Key, String, T)>,
    /// Symlinks, folder names that cannot be keys, an empty or missing templates folder.
    pub problems: Vec<Problem>,
}

impl Project {
    /// Finds letterpress.toml in `dir`, or else in `cwd` and the folders above it, and reads it.
    ///
    /// # Errors
    ///
    /// [`OpenError`]
    pub fn open(dir: Option<&Path>, cwd: &Path) -> Result<Self, OpenError> {
        let from = dir.map_or_else(|| cwd.to_owned(), |dir| cwd.join(dir));
        let upward = dir.is_none();
        let levels = if upward { usize::MAX } else { 1 };
        let root = from.ancestors().take(levels).find(|folder| folder.join(config::FILE).symlink_metadata().is_ok());
        let root = root.ok_or_else(|| OpenError::NotFound { from: from.clone(), upward })?.to_owned();
        let path = root.join(config::FILE);
        let io = |source| OpenError::Io { path: path.clone(), source };
        let wrong = |problem| OpenError::Config(vec![problem]);
        let whole = || Location::whole(config::FILE);
        let dir = files::open_root(&root).map_err(io)?;
        let file = files::open_file(dir.as_fd(), config::FILE).map_err(|error| match error {
            Refused::Fault(_, message) => wrong(Problem::new(Fault::ConfigInvalid, whole(), message)),
            Refused::Io(source) => io(source),
        })?;
        let bytes = files::read_bounded(file, limits::MANIFEST_BYTES).map_err(io)?.ok_or_else(|| {
            let message = format!("letterpress.toml is larger than {} bytes", limits::MANIFEST_BYTES);
            wrong(Problem::new(Fault::ConfigInvalid, whole(), message))
        })?;
        let text = super::text::Text::new(config::FILE.to_owned(), bytes).map_err(|not| {
            let message = format!("not UTF-8 at byte {}; the file is probably {}", not.offset, not.likely);
            wrong(Problem::new(Fault::NotUtf8, whole(), message).help("save it as UTF-8"))
        })?;
        let config = Config::read(text).map_err(OpenError::Config)?;
        Ok(Self { root, config })
    }

    /// The named environment, else letterpress.toml's default, else the only one.
    ///
    /// # Errors
    ///
    /// [`EnvironmentError`]
    pub fn environment(&self, name: Option<&str>) -> Result<&Environment, EnvironmentError> {
        let known = || self.config.environments.keys().cloned().collect::<Vec<_>>();
        let default = self.config.environment.as_ref().map(|spot| spot.value.as_str());
        match (name.or(default), self.config.environments.values().next()) {
            (Some(name), _) => self.config.environments.get(name).ok_or_else(|| EnvironmentError::Unknown {
                name: name.to_owned(),
                meant: closest(name, self.config.environments.keys().map(String::as_str)).map(str::to_owned),
                known: known(),
            }),
            (None, Some(only)) if self.config.environments.len() == 1 => Ok(only),
            (None, _) => Err(EnvironmentError::Unnamed { known: known() }),
        }
    }

    /// What the folders of one run share.
    #[must_use]
    pub fn shared<'a>(&'a self, environment: &'a Environment) -> Shared<'a> {
        Shared {
            root: &self.root,
            config: &self.config,
            environment,
            environments: self.config.environments.keys().map(String::as_str).collect(),
        }
    }

    /// Walks the templates folder on all cores. Each template folder is read, handed to `visit` and dropped, so that memory does not
    /// grow with the tree. With `only`, other folders are passed over.
    pub fn walk<T: Send>(
        &self,
        environment: &Environment,
        only: Option<&(dyn Fn(&str) -> bool + Sync)>,
        visit: impl Fn(Folder) -> T + Sync,
    ) -> Walk<T> {
        let templates = &self.config.templates;
        let shared = self.shared(environment);
        let walker = Walker { shared: &shared, templates: &templates.value, only, visit: &visit };
        let mut walk = match self.open_templates() {
            Ok(dir) => walker.folder(&dir, String::new(), 0),
            Err(error) => {
                let location = if templates.place.bytes.is_empty() {
                    Location::whole(templates.value.clone())
                } else {
                    self.config.text.at(templates.place.bytes.clone())
                };
                let message = format!("the templates folder `{}` cannot be read: {error}", templates.value);
                let help = "make the folder, or name the right one in letterpress.toml";
                Walk {
                    folders: Vec::new(),
                    problems: vec![Problem::new(Fault::TemplatesFolder, location, message).help(help)],
                }
            }
        };
        if walk.folders.is_empty() && walk.problems.is_empty() && only.is_none() {
            let message = format!("the templates folder `{}` has no template", templates.value);
            let help = format!("`letterpress new welcome` writes one: a folder with {MANIFEST}");
            let location = Location::whole(templates.value.clone());
            walk.problems.push(Problem::new(Fault::TemplatesFolder, location, message).help(help));
        }
        walk
    }

    /// Reads one template folder again; nothing when the folder or its manifest is gone.
    ///
    /// # Errors
    ///
    /// The refusal of a path on the way.
    pub fn folder(&self, environment: &Environment, key: &Key) -> Result<Option<Folder>, Refused> {
        let mut dir = self.open_templates()?;
        let mut path = self.config.templates.value.clone();
        for part in key.as_str().split('/') {
            let Some(name) = on_disk(&dir, part)? else { return Ok(None) };
            dir = files::open_folder(dir.as_fd(), &name)?;
            path = format!("{path}/{name}");
        }
        let names = entries(dir.as_fd())?.into_iter().filter_map(|entry| (!entry.folder()).then_some(entry.name));
        let names: Vec<String> = names.collect();
        if !names.iter().any(|name| name == MANIFEST) {
            return Ok(None);
        }
        Ok(Some(Folder::read(&self.shared(environment), dir.as_fd(), key.clone(), path, names)))
    }

    fn open_templates(&self) -> Result<OwnedFd, Refused> {
        let mut dir = files::open_root(&self.root)?;
        for part in self.config.templates.value.split('/') {
            dir = files::open_folder(dir.as_fd(), part)?;
        }
        Ok(dir)
    }
}

struct Walker<'a, V> {
    shared: &'a Shared<'a>,
    templates: &'a str,
    only: Option<&'a (dyn Fn(&str) -> bool + Sync)>,
    visit: &'a V,
}

/// A name in a folder.
struct Entry {
    name: String,
    kind: FileType,
    /// Whether the name was UTF-8.
    text: bool,
}

impl Entry {
    fn folder(&self) -> bool {
        self.kind == FileType::Directory
    }
}

impl<T: Send, V: Fn(Folder) -> T + Sync> Walker<'_, V> {
    fn folder(&self, dir: &OwnedFd, below: String, depth: usize) -> Walk<T> {
        let path = if below.is_empty() { self.templates.to_owned() } else { format!("{}/{below}", self.templates) };
        let mut walk = Walk { folders: Vec::new(), problems: Vec::new() };
        let entries = match entries(dir.as_fd()) {
            Ok(entries) => entries,
            Err(error) => {
                let message = format!("`{path}` cannot be read: {error}");
                walk.problems.push(Problem::new(Fault::TemplatesFolder, Location::whole(path), message));
                return walk;
            }
        };
        let (folders, files): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(Entry::folder);
        for link in files.iter().filter(|entry| entry.kind == FileType::Symlink) {
            let message = format!("`{}` is a symlink, and templates are read without following any", link.name);
            let problem = Problem::new(Fault::PathSymlink, Location::whole(format!("{path}/{}", link.name)), message);
            walk.problems.push(problem.help("put the file itself here"));
        }
        let names: Vec<String> = files.into_iter().map(|entry| entry.name).collect();
        if names.iter().any(|name| name == MANIFEST) && self.only.is_none_or(|only| only(&path)) {
            match Key::new(normal(&below)) {
                Ok(key) => {
                    let folder = Folder::read(self.shared, dir.as_fd(), key.clone(), path.clone(), names);
                    walk.folders.push((key, path.clone(), (self.visit)(folder)));
                }
                Err(error) => {
                    let message = format!("the folder's path cannot be a key: {error}");
                    walk.problems.push(Problem::new(Fault::KeyInvalid, Location::whole(path.clone()), message));
                }
            }
        }
        let children: Vec<Walk<T>> = folders
            .into_par_iter()
            .filter(|entry| !entry.name.starts_with('.'))
            .map(|entry| self.child(dir, &path, &below, &entry, depth))
            .collect();
        for child in children {
            walk.folders.extend(child.folders);
            walk.problems.extend(child.problems);
        }
        walk
    }

    fn child(&self, dir: &OwnedFd, path: &str, below: &str, entry: &Entry, depth: usize) -> Walk<T> {
        let wrong = |fault, message: String| Walk {
            folders: Vec::new(),
            problems: vec![Problem::new(fault, Location::whole(format!("{path}/{}", entry.name)), message)],
        };
        if !entry.text {
            return wrong(Fault::KeyInvalid, "the folder's name is not UTF-8".to_owned());
        }
        if depth >= DEPTH {
            return wrong(Fault::KeyInvalid, format!("folders nest deeper than {DEPTH} levels"));
        }
        let below = if below.is_empty() { entry.name.clone() } else { format!("{below}/{}", entry.name) };
        match files::open_folder(dir.as_fd(), &entry.name) {
            Ok(child) => self.folder(&child, below, depth + 1),
            Err(Refused::Fault(Fault::FileMissing, _)) => Walk { folders: Vec::new(), problems: Vec::new() },
            Err(Refused::Fault(fault, message)) => wrong(fault, message),
            Err(Refused::Io(error)) => wrong(Fault::TemplatesFolder, format!("the folder cannot be read: {error}")),
        }
    }
}

/// The names in a folder with their kinds.
fn entries(dir: BorrowedFd<'_>) -> io::Result<Vec<Entry>> {
    let mut list = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let bytes = entry.file_name().to_bytes();
        if bytes == b"." || bytes == b".." {
            continue;
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
            kind = rustix::fs::statat(dir, entry.file_name(), flags)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode));
        }
        let text = std::str::from_utf8(bytes).is_ok();
        list.push(Entry { name: String::from_utf8_lossy(bytes).into_owned(), kind, text });
    }
    list.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(list)
}

/// Unicode normal form C: a checkout on a system that stores names decomposed has the same keys.
fn normal(text: &str) -> String {
    if text.is_ascii() { text.to_owned() } else { ComposingNormalizerBorrowed::new_nfc().normalize(text).into_owned() }
}

/// The name on disk of a part of a key.
fn on_disk(dir: &OwnedFd, part: &str) -> io::Result<Option<String>> {
    let list = entries(dir.as_fd())?;
    Ok(list.into_iter().filter(Entry::folder).map(|entry| entry.name).find(|name| normal(name) == part))
}
