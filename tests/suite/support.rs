//! A builder that makes a project in an empty folder and runs the real binary in a bare environment.

#![allow(dead_code, reason = "each test file uses its own part of the builder")]

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The binary under test.
pub fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_letterpress"))
}

/// The repository's root.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A project in its own empty folder, removed at the end.
pub struct Project {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl Project {
    /// A folder with nothing in it.
    pub fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    /// A folder with a letterpress.toml that uses the built-in service.
    pub fn new() -> Self {
        Self::empty().file(
            "letterpress.toml",
            "templates = \"templates\"\nenvironment = \"local\"\n\n[environments.local]\nbase_url = \"sandbox\"\n",
        )
    }

    /// A copy of a folder, without what letterpress keeps beside it.
    pub fn copy_of(folder: &Path) -> Self {
        let project = Self::empty();
        let kept = |entry: &walkdir::DirEntry| entry.file_name() != ".letterpress";
        for entry in walkdir::WalkDir::new(folder).into_iter().filter_entry(kept) {
            let entry = entry.unwrap();
            if entry.file_type().is_file() {
                let below = entry.path().strip_prefix(folder).unwrap();
                project.write(below.to_str().unwrap(), fs::read(entry.path()).unwrap());
            }
        }
        project
    }

    /// The project's root.
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    /// A path below the root.
    pub fn path(&self, below: &str) -> PathBuf {
        self.root().join(below)
    }

    /// Writes a file, with its folders.
    pub fn file(self, below: &str, content: impl AsRef<[u8]>) -> Self {
        self.write(below, content);
        self
    }

    /// Writes a file of a project that already runs.
    pub fn write(&self, below: &str, content: impl AsRef<[u8]>) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Reads a file as text.
    pub fn read(&self, below: &str) -> String {
        fs::read_to_string(self.path(below)).unwrap()
    }

    /// Writes a small good template: a manifest, an html and a plaintext body.
    pub fn template(self, key: &str) -> Self {
        self.write_template(key, "Hello");
        self
    }

    /// Writes a small good template whose bodies say `word`.
    pub fn write_template(&self, key: &str, word: &str) {
        self.write(
            &format!("templates/{key}/manifest.yaml"),
            format!("name: {key}\nsubject: About {word}\nsender_email: hello@example.com\nsender_name: Example\n"),
        );
        self.write(
            &format!("templates/{key}/body.html"),
            format!("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{word}</title></head>\n<body><h1>{word}</h1><p>A line for the reader.</p></body></html>\n"),
        );
        self.write(&format!("templates/{key}/body.txt"), format!("{word}\n\nA line for the reader.\n"));
    }

    /// Sets an environment variable for every later run.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The command, ready to run in the project's root with a bare environment.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(binary());
        command
            .args(arguments)
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.root())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    /// Runs letterpress to its end.
    #[must_use]
    pub fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Outcome {
        Outcome::of(self.command(arguments).output().unwrap())
    }
}

/// How a run ended and what it said.
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    /// Reads what a process left.
    pub fn of(output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        Self {
            code: output.status.code().unwrap_or_else(|| -output.status.signal().unwrap_or(0)),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self}");
        self
    }

    #[track_caller]
    pub fn stdout_has(self, text: &str) -> Self {
        assert!(self.stdout.contains(text), "stdout lacks {text:?}\n{self}");
        self
    }

    #[track_caller]
    pub fn stderr_has(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "stderr lacks {text:?}\n{self}");
        self
    }

    /// On either stream.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stdout.contains(text) || self.stderr.contains(text), "output lacks {text:?}\n{self}");
        self
    }

    #[track_caller]
    pub fn stderr_or_stdout_has(self, text: &str) -> Self {
        assert!(self.stdout.contains(text) || self.stderr.contains(text), "output lacks {text:?}\n{self}");
        self
    }

    #[track_caller]
    pub fn lacks(self, text: &str) -> Self {
        assert!(!self.stdout.contains(text) && !self.stderr.contains(text), "output has {text:?}\n{self}");
        self
    }

    /// Stdout as one JSON value.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit {}\n--- stdout\n{}\n--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

/// A child that is killed at the end of the test, however it ends.
pub struct Running(pub Child);

impl Running {
    /// Starts a command whose stdout is read line by line until `stop` finds what it looks for.
    pub fn until<T>(mut command: Command, mut stop: impl FnMut(&str) -> Option<T>) -> (Self, T) {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let found = loop {
            let line = lines.next().expect("the process ended before it said so").unwrap();
            if let Some(found) = stop(&line) {
                break found;
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        (Self(child), found)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The real `letterpress sandbox` with its database in an own folder, killed at the end of the test.
pub struct Service {
    /// `http://127.0.0.1:PORT`
    pub url: String,
    /// The key of the first project.
    pub key: String,
    /// The key of the first account.
    pub account_key: String,
    process: Running,
    folder: tempfile::TempDir,
    file: PathBuf,
}

impl Service {
    /// With no options but where to listen and where to keep its database.
    pub fn start() -> Self {
        Self::with::<&str>([])
    }

    /// With more arguments.
    pub fn with<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), arguments)
    }

    /// With the rules of `docs/sandbox.md`, as TOML.
    pub fn with_faults(rules: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("faults.toml");
        fs::write(&file, rules).unwrap();
        Self::in_folder(folder, [OsStr::new("--faults"), file.as_os_str()])
    }

    /// Kills it and starts it again on its database, on another port.
    pub fn again<S: AsRef<OsStr>>(self, arguments: impl IntoIterator<Item = S>) -> Self {
        drop(self.process);
        Self::on_file(self.folder, self.file, arguments)
    }

    /// On a database in a folder that others use too.
    pub fn on(folder: &Path) -> Self {
        Self::on_file::<&str>(tempfile::tempdir().unwrap(), folder.join("sandbox.sqlite"), [])
    }

    fn in_folder<S: AsRef<OsStr>>(folder: tempfile::TempDir, arguments: impl IntoIterator<Item = S>) -> Self {
        let file = folder.path().join("sandbox.sqlite");
        Self::on_file(folder, file, arguments)
    }

    fn on_file<S: AsRef<OsStr>>(
        folder: tempfile::TempDir,
        file: PathBuf,
        arguments: impl IntoIterator<Item = S>,
    ) -> Self {
        let mut command = Command::new(binary());
        command.args(["sandbox", "--listen", "127.0.0.1:0", "--db"]).arg(&file);
        command.args(arguments).env_clear().stdin(Stdio::null());
        let (mut url, mut key) = (String::new(), String::new());
        let (process, account_key) = Running::until(command, |line| {
            let word = |prefix: &str| line.strip_prefix(prefix)?.split(' ').next().map(str::to_owned);
            if let Some(found) = word("listening on ") {
                url = found;
            }
            // The first project's key comes first, its account's key last.
            if let Some(found) = word("project key: ").filter(|_| key.is_empty()) {
                key = found;
            }
            word("account key: ")
        });
        Self { url, key, account_key, process, folder, file }
    }

    /// The database, to be read as an oracle (its tables are explained in `src/sandbox/schema.sql`).
    pub fn database(&self) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(&self.file).unwrap();
        connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
        connection
    }

    /// One number out of the database.
    #[track_caller]
    pub fn count(&self, query: &str) -> i64 {
        self.database().query_row(query, [], |row| row.get(0)).unwrap()
    }

    /// The process, to be sent signals.
    pub fn process(&mut self) -> &mut Child {
        &mut self.process.0
    }
}
