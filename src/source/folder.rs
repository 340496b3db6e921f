//! One template folder as it is on disk: the merged manifest, the text parts, what is known of each file.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::FileType;

use super::assets::ReadAsset;
use super::cache::Touched;
use super::config::{Config, Environment};
use super::files::{self, Opened, Refused};
use super::manifest::{self, Manifest};
use super::node::{File, Node, Place, Spot};
use super::problem::{Fault, Problem};
use super::read::{Files, Reader};
use super::text::Text;
use super::walk::Entry;
use super::yaml;
use crate::desired::{Key, Template};
use crate::diagnostic::{Edit, Location};
use crate::limits;

/// The file that makes a folder a template.
pub const MANIFEST: &str = "manifest.yaml";
/// The names under which bodies are found.
pub const BODIES: [&str; 3] = ["body.html", "body.txt", "body.amp.html"];

/// So many problems that the rest of the files need not be opened: the template cannot be sent anyway.
pub(super) const ENOUGH: usize = 100;

/// A template folder, read.
#[derive(Debug, Clone)]
pub struct Folder {
    /// The template's key.
    pub key: Key,
    /// The folder below the project's root, parts joined by `/`.
    pub path: String,
    /// letterpress.toml, for places in it.
    pub config: Arc<Text>,
    /// The manifest's text, for places in it; empty where it cannot be read.
    pub manifest_text: Text,
    /// Whether the manifest could be read; [`Folder::manifest`] is empty otherwise.
    pub parsed: bool,
    /// The merged manifest.
    pub manifest: Manifest,
    /// The html part.
    pub html: Option<Text>,
    /// The plain-text part.
    pub plaintext: Option<Text>,
    /// The AMP part.
    pub amp: Option<Text>,
    /// `attachments`, those that could be read.
    pub attachments: Vec<ReadAsset>,
    /// `inline_attachments`, those that could be read.
    pub inline_attachments: Vec<ReadAsset>,
    /// What is in it.
    pub listed: Listed,
    /// What reading found wrong.
    pub problems: Vec<Problem>,
    /// The paths below the folder of the symlinks that are among the problems.
    pub links: Vec<String>,
    /// The files that were read.
    pub touched: Touched,
}

/// What is directly in a folder, subfolders apart.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The names.
    pub names: Vec<String>,
    /// Whether all of them are regular files.
    pub regular: bool,
}

impl Listed {
    /// The files of a folder.
    pub(super) fn of(files: impl IntoIterator<Item = Entry>) -> Self {
        let mut listed = Self { names: Vec::new(), regular: true };
        for file in files {
            listed.add(file.name, file.kind);
        }
        listed
    }

    pub(super) fn add(&mut self, name: String, kind: FileType) {
        self.regular &= kind == FileType::RegularFile;
        self.names.push(name);
    }

    /// Whether there is a file of that name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }
}

/// What all folders of a run share.
#[derive(Debug, Clone)]
pub struct Shared<'a> {
    /// The project's root.
    pub root: &'a Path,
    /// letterpress.toml.
    pub config: &'a Config,
    /// The environment to read for.
    pub environment: &'a Environment,
    /// Every environment's name.
    pub environments: Vec<&'a str>,
}

impl Folder {
    /// Reads a folder.
    #[must_use]
    pub fn read(shared: &Shared<'_>, dir: BorrowedFd<'_>, key: Key, path: String, listed: Listed) -> Self {
        let manifest_text = Text::empty(format!("{path}/{MANIFEST}"));
        let mut folder = Self {
            key,
            path,
            config: shared.config.text.clone(),
            manifest_text,
            parsed: false,
            manifest: Manifest::default(),
            html: None,
            plaintext: None,
            amp: None,
            attachments: Vec::new(),
            inline_attachments: Vec::new(),
            listed,
            problems: Vec::new(),
            links: Vec::new(),
            touched: Touched::default(),
        };
        if let Some(node) = folder.read_manifest(dir) {
            folder.interpret(shared, node);
            folder.read_bodies(dir);
            folder.read_assets(shared, dir);
        }
        folder
    }

    /// The location of a place of the manifest or of letterpress.toml.
    #[must_use]
    pub fn locate(&self, place: &Place) -> Location {
        self.files().locate(place)
    }

    /// The file that a place is in.
    #[must_use]
    pub fn text_of(&self, place: &Place) -> &Text {
        self.files().of(place)
    }

    /// An edit of the manifest that adds files to `inline_attachments`; nothing when the list is written in a way that cannot be added
    /// to without changing more.
    #[must_use]
    pub fn add_inline(&self, paths: &BTreeSet<String>) -> Option<Edit> {
        if paths.is_empty() {
            return None;
        }
        let text = &self.manifest_text.sent;
        let (at, indent, head) = match self.manifest.inline_attachments.first() {
            None => {
                let there = text.lines().any(|line| line.starts_with("inline_attachments"));
                let block = !text.trim_start().starts_with('{') && !text.contains("\n...");
                let head = if text.ends_with('\n') { "inline_attachments:\n" } else { "\ninline_attachments:\n" };
                (text.len(), "  ", (block && !there).then_some(head)?)
            }
            Some(first) if first.path.place.file == File::Manifest => {
                let before = text.get(..first.path.place.bytes.start)?;
                let line = before.rfind('\n').map_or(0, |at| at + 1);
                let lead = before.get(line..)?;
                let indent = lead.split('-').next().filter(|indent| indent.trim().is_empty())?;
                let item = lead.get(indent.len()..)?.strip_prefix('-')?.trim();
                (line, indent, (item == "path:").then_some("")?)
            }
            Some(_) => return None,
        };
        let items: String = paths.iter().map(|path| format!("{indent}- path: {path}\n")).collect();
        let raw = self.manifest_text.raw(at);
        let text = self.manifest_text.with_line_ends(format!("{head}{items}"));
        Some(Edit { path: self.manifest_path(), bytes: raw..raw, text })
    }

    /// The manifest's path below the root.
    #[must_use]
    pub fn manifest_path(&self) -> String {
        format!("{}/{MANIFEST}", self.path)
    }

    /// What an update would send. Meaningful when no finding is an error; takes the text parts, the manifest and the files out of the folder.
    #[must_use]
    pub fn take_template(&mut self) -> Template {
        let manifest = std::mem::take(&mut self.manifest);
        let text = |spot: Option<Spot<String>>| spot.map(|spot| spot.value);
        let map = |entries: Vec<(Spot<String>, Spot<String>)>| {
            entries.into_iter().map(|(key, value)| (key.value, value.value)).collect::<BTreeMap<_, _>>()
        };
        let files =
            |assets: &mut Vec<ReadAsset>| std::mem::take(assets).into_iter().map(|asset| asset.attachment).collect();
        Template {
            key: self.key.clone(),
            name: text(manifest.name).unwrap_or_default(),
            subject: text(manifest.subject),
            sender_email: text(manifest.sender_email),
            sender_name: text(manifest.sender_name),
            reply_to: text(manifest.reply_to),
            html: self.html.take().map(|text| text.sent),
            plaintext: self.plaintext.take().map(|text| text.sent),
            amp: self.amp.take().map(|text| text.sent),
            builder: manifest.template_builder.as_ref().map(|spot| spot.value).unwrap_or_default(),
            global_replacements: map(manifest.global_replacements),
            global_info: map(manifest.global_info),
            headers: map(manifest.headers),
            attachments: files(&mut self.attachments),
            inline_attachments: files(&mut self.inline_attachments),
            check_links: manifest.check_links.as_ref().is_none_or(|spot| spot.value),
            check_read: manifest.check_read.as_ref().is_none_or(|spot| spot.value),
        }
    }

    fn files(&self) -> Files<'_> {
        Files { config: &self.config, manifest: &self.manifest_text }
    }

    fn read_manifest(&mut self, dir: BorrowedFd<'_>) -> Option<Node> {
        let path = self.manifest_path();
        let bytes = self.read_file(
            dir,
            MANIFEST,
            limits::MANIFEST_BYTES,
            |_| Location::whole(path.clone()),
            |size| {
                Problem::new(
                    Fault::ManifestSyntax,
                    Location::whole(path.clone()),
                    format!("the manifest is larger than {} bytes", limits::MANIFEST_BYTES),
                )
                .limit(size, limits::MANIFEST_BYTES)
            },
        )?;
        let text = self.decode(path, bytes)?;
        let (node, flaws) = yaml::read(&text.sent);
        for flaw in flaws.into_iter().take(10) {
            let fault = if flaw.duplicate { Fault::DuplicateKey } else { Fault::ManifestSyntax };
            let mut problem = Problem::new(fault, text.at(flaw.bytes), flaw.message);
            problem.help = flaw.help.map(str::to_owned);
            self.problems.push(problem);
        }
        self.manifest_text = text;
        node
    }

    fn interpret(&mut self, shared: &Shared<'_>, node: Node) {
        let layers: Vec<&Node> =
            [&shared.config.defaults, &shared.environment.defaults].into_iter().filter_map(Option::as_ref).collect();
        let mut reader = Reader::new(self.files());
        let manifest = manifest::read(&mut reader, node, &layers, &shared.environment.name, &shared.environments);
        let problems = reader.problems;
        self.problems.extend(problems);
        self.manifest = manifest;
        self.parsed = true;
    }

    fn read_bodies(&mut self, dir: BorrowedFd<'_>) {
        let body = std::mem::take(&mut self.manifest.body);
        let [html, plaintext, amp] = BODIES;
        self.html = self.read_body(dir, body.html.as_ref(), html);
        self.plaintext = self.read_body(dir, body.plaintext.as_ref(), plaintext);
        self.amp = self.read_body(dir, body.amp.as_ref(), amp);
        self.manifest.body = body;
    }

    fn read_body(&mut self, dir: BorrowedFd<'_>, named: Option<&Spot<String>>, by_name: &str) -> Option<Text> {
        let relative = match named {
            Some(spot) => spot.value.as_str(),
            // A symlink or a pipe under a body's name is listed too: it is refused when it is opened, and must not look absent.
            None if self.listed.has(by_name) => by_name,
            None => return None,
        };
        let path = format!("{}/{relative}", self.path);
        let location = |folder: &Self| match named {
            Some(spot) => folder.locate(&spot.place),
            None => Location::whole(path.clone()),
        };
        let bytes = self.read_file(dir, relative, limits::REQUEST_BYTES, location, |size| {
            let message = format!("`{relative}` alone is larger than a whole request may be");
            Problem::new(Fault::RequestTooLarge, Location::whole(path.clone()), message)
                .limit(size, limits::REQUEST_BYTES)
        })?;
        self.decode(path, bytes)
    }

    fn read_file(
        &mut self,
        dir: BorrowedFd<'_>,
        relative: &str,
        limit: u64,
        location: impl FnOnce(&Self) -> Location,
        too_large: impl FnOnce(u64) -> Problem,
    ) -> Option<Vec<u8>> {
        let read = self.open(dir, relative).and_then(|opened| {
            self.touched.file(dir, relative, &opened.stat);
            let size = opened.size();
            Ok((files::read_bounded(opened, limit)?, size))
        });
        match read {
            Ok((Some(bytes), _)) => return Some(bytes),
            Ok((None, size)) => self.problems.push(too_large(size.max(limit + 1))),
            Err(error) => {
                let location = location(self);
                let problem = self.refused(error, location, relative);
                self.problems.push(problem);
            }
        }
        None
    }

    /// Opens a file. Names that we give need no judging, and where the listing has said what is behind them no look.
    fn open(&self, dir: BorrowedFd<'_>, relative: &str) -> Result<Opened, Refused> {
        let ours = relative == MANIFEST || BODIES.contains(&relative);
        if ours && self.listed.regular { files::open_listed(dir, relative) } else { files::open_file(dir, relative) }
    }

    fn decode(&mut self, path: String, bytes: Vec<u8>) -> Option<Text> {
        match Text::new(path, bytes) {
            Ok(text) => {
                if text.mark {
                    let whole = Location::whole(text.path.clone());
                    let location = Location { line: 1, column: 1, bytes: 0..3, ..whole };
                    let message = "the file starts with a byte order mark, which is not sent";
                    let help = "save it as UTF-8 without a byte order mark";
                    self.problems.push(Problem::new(Fault::NotUtf8, location, message).help(help).warn());
                }
                Some(text)
            }
            Err(not) => {
                let message = format!("not UTF-8 at byte {}; the file is probably {}", not.offset, not.likely);
                self.problems.push(Problem::new(Fault::NotUtf8, not.at(), message).help("save it as UTF-8"));
                None
            }
        }
    }

    /// A refusal as a problem. A file that the system will not let us read is the user's to mend, too.
    pub(super) fn refused(&mut self, error: Refused, location: Location, path: &str) -> Problem {
        self.touched.spoil();
        match error {
            Refused::Symlink(link) => {
                let message = format!("`{link}` is a symlink, and templates are read without following any");
                self.links.push(link);
                Problem::new(Fault::PathSymlink, location, message).help("put the file itself here")
            }
            Refused::Fault(fault, message) => Problem::new(fault, location, message),
            Refused::Io(error) => Problem::new(Fault::NotAFile, location, format!("`{path}` cannot be read: {error}")),
        }
    }
}
