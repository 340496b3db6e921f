//! A project: the folder with letterpress.toml, and the walk over its templates.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::cache::Cache;
use super::config::{self, Config, Environment};
use super::files::{self, Refused};
use super::folder::{Folder, Listed, MANIFEST, Shared};
use super::problem::{Fault, Problem};
use super::read::closest;
use super::walk::{Only, Walk, Walker, entries, on_disk};
use crate::desired::{Digest, Key};
use crate::diagnostic::Location;
use crate::limits;

/// A project that was found and whose letterpress.toml is good.
#[derive(Debug, Clone)]
pub struct Project {
    /// The folder with letterpress.toml, absolute.
    pub root: PathBuf,
    /// letterpress.toml.
    pub config: Config,
    /// The digest of letterpress.toml, byte for byte.
    pub digest: Digest,
    /// The root, open: every path below it is looked up from here.
    dir: Arc<OwnedFd>,
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
        let root = root.ok_or_else(|| OpenError::NotFound { from: from.clone(), upward })?;
        let root = root.canonicalize().map_err(|source| OpenError::Io { path: root.to_owned(), source })?;
        let path = root.join(config::FILE);
        let io = |source| OpenError::Io { path: path.clone(), source };
        let wrong = |problem| OpenError::Config(vec![problem]);
        let whole = || Location::whole(config::FILE);
        let dir = files::open_root(&root).map_err(io)?;
        let file = files::open_file(dir.as_fd(), config::FILE).map_err(|error| match error {
            Refused::Io(source) => io(source),
            refused => wrong(Problem::new(Fault::ConfigInvalid, whole(), refused.to_string())),
        })?;
        let bytes = files::read_bounded(file, limits::MANIFEST_BYTES).map_err(io)?.ok_or_else(|| {
            let message = format!("letterpress.toml is larger than {} bytes", limits::MANIFEST_BYTES);
            wrong(Problem::new(Fault::ConfigInvalid, whole(), message))
        })?;
        let digest = Digest::of(&bytes);
        let text = super::text::Text::new(config::FILE.to_owned(), bytes).map_err(|not| {
            let message = format!("not UTF-8 at byte {}; the file is probably {}", not.offset, not.likely);
            wrong(Problem::new(Fault::NotUtf8, not.at(), message).help("save it as UTF-8"))
        })?;
        let config = Config::read(text).map_err(OpenError::Config)?;
        Ok(Self { root, config, digest, dir: Arc::new(dir) })
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
    ///
    /// With a cache, `visit` is not called for folders that are as they were: the value that it made then is used again. So `visit` must
    /// depend on nothing but the folder and what the cache's key stands for.
    pub fn walk<T: Send + Serialize + DeserializeOwned>(
        &self,
        environment: &Environment,
        only: Option<&Only<'_>>,
        cache: Option<Cache>,
        visit: impl Fn(Folder) -> T + Sync,
    ) -> Walk<T> {
        let templates = &self.config.templates;
        let shared = self.shared(environment);
        let mut walk = match self.open_templates() {
            Ok(top) => {
                let (old, mut pen) = cache.map_or_else(Default::default, |cache| (cache.old, Some(cache.pen)));
                let record = old.record();
                let walker = Walker {
                    shared: &shared,
                    templates: &templates.value,
                    top: &top,
                    only,
                    visit: &visit,
                    pen: pen.as_ref(),
                };
                let (walk, kept) = walker.walk(record.as_ref());
                if let Some(pen) = &mut pen {
                    pen.keep(&kept);
                }
                walk
            }
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
            // Nearly always the folder has the very name; looking through its neighbours costs more the more of them there are.
            let (name, next) = match files::open_folder(dir.as_fd(), part) {
                Err(Refused::Fault(Fault::FileMissing, _)) => {
                    let Some(name) = on_disk(&dir, part)? else { return Ok(None) };
                    let next = files::open_folder(dir.as_fd(), &name)?;
                    (name, next)
                }
                next => (part.to_owned(), next?),
            };
            dir = next;
            path = format!("{path}/{name}");
        }
        let listed = Listed::of(entries(dir.as_fd())?.into_iter().filter(|entry| !entry.folder()));
        if !listed.has(MANIFEST) {
            return Ok(None);
        }
        Ok(Some(Folder::read(&self.shared(environment), dir.as_fd(), key.clone(), path, listed)))
    }

    /// Reads a text file below the root as it is on disk, with the care of every other reading.
    ///
    /// # Errors
    ///
    /// The refusal of the path.
    pub fn read(&self, path: &str) -> Result<String, Refused> {
        let file = files::open_file(self.dir.as_fd(), path)?;
        let bytes = files::read_bounded(file, limits::REQUEST_BYTES)?.unwrap_or_default();
        String::from_utf8(bytes).map_err(|_| Refused::Fault(Fault::NotUtf8, format!("`{path}` is not UTF-8")))
    }

    fn open_templates(&self) -> Result<OwnedFd, Refused> {
        let mut parts = self.config.templates.value.split('/');
        let mut dir = files::open_folder(self.dir.as_fd(), parts.next().unwrap_or_default())?;
        for part in parts {
            dir = files::open_folder(dir.as_fd(), part)?;
        }
        Ok(dir)
    }
}
