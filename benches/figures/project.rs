//! Projects to measure on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::bucket::Bucket;
use super::corpus;
use super::process::Task;
use super::service::Service;

/// Where the states of earlier runs wait to be removed.
const OLD: &str = "old";

/// Removes what earlier runs left.
pub fn clear(work: &Path) {
    let _ = fs::remove_dir_all(work.join(OLD));
}

/// A project in a folder, with the program that works on it.
pub struct Project {
    pub folder: PathBuf,
    letterpress: PathBuf,
    key: String,
    /// Where the state is, and the variables that lead there; empty: in the folder.
    state: String,
    variables: Vec<(&'static str, String)>,
}

impl Project {
    /// A project of so many templates.
    pub fn new(work: &Path, letterpress: &Path, count: usize) -> Self {
        let folder = work.join(format!("corpus-{count}"));
        corpus::write(&folder.join("templates"), count);
        let project = Self {
            folder,
            letterpress: letterpress.to_owned(),
            key: String::new(),
            state: String::new(),
            variables: Vec::new(),
        };
        project.configure("sandbox");
        project
    }

    /// A project of so many templates with one attachment of so many bytes each.
    pub fn heavy(work: &Path, letterpress: &Path, count: usize, bytes: usize) -> Self {
        let folder = work.join(format!("heavy-{count}"));
        for index in 0..count {
            let template = folder.join(format!("templates/heavy-{index:03}"));
            fs::create_dir_all(&template).unwrap();
            let manifest = format!(
                "name: Heavy {index}\nsubject: Files\nsender_email: a@example.com\nattachments: [{{ path: file.bin }}]\n"
            );
            fs::write(template.join("manifest.yaml"), manifest).unwrap();
            fs::write(template.join("body.txt"), "A file for you.\n").unwrap();
            fs::write(template.join("file.bin"), vec![u8::try_from(index % 256).unwrap(); bytes]).unwrap();
        }
        let project = Self {
            folder,
            letterpress: letterpress.to_owned(),
            key: String::new(),
            state: String::new(),
            variables: Vec::new(),
        };
        project.configure("sandbox");
        project
    }

    fn configure(&self, url: &str) {
        let mut config =
            format!("environment = \"bench\"\n\n[environments.bench]\nbase_url = \"{url}\"\nconcurrency = 16\n");
        if !self.state.is_empty() {
            config.push_str(&format!("state = \"{}\"\n", self.state));
        }
        fs::write(self.folder.join("letterpress.toml"), config).unwrap();
    }

    /// Has so many environments, the first of them the default.
    pub fn environments(&self, count: usize) {
        let mut config = String::from("environment = \"bench\"\n\n[environments.bench]\nbase_url = \"sandbox\"\n");
        for number in 1..count {
            let environment = format!(
                "\n[environments.customer-{number}]\nbase_url = \"https://customer-{number}.example.com\"\n\
                 defaults = {{ sender_email = \"mail@customer-{number}.example.com\" }}\n"
            );
            config.push_str(&environment);
        }
        fs::write(self.folder.join("letterpress.toml"), config).unwrap();
    }

    /// Keeps its state in a bucket from the next [`Project::connect`] on.
    pub fn keep_in(&mut self, bucket: &Bucket) {
        self.state = bucket.place("bench");
        self.variables = bucket.variables();
    }

    /// Points it at a service that has nothing yet.
    pub fn connect(&mut self, service: &Service) {
        // Removed when nothing is measured: a file system looks past inodes that were freed a moment ago, which makes new files slow.
        let old = self.folder.with_file_name(OLD).join(service.key.as_str());
        fs::create_dir_all(old.parent().unwrap()).unwrap();
        let _ = fs::rename(self.folder.join(".letterpress"), old);
        self.configure(&service.url);
        self.key.clone_from(&service.key);
        self.task(&["state", "init"]).run();
    }

    /// letterpress on this project.
    pub fn task(&self, arguments: &[&str]) -> Task {
        let task = Task::new(&self.folder, self.letterpress.as_os_str(), arguments);
        let task = task.with("LETTERPRESS_API_KEY", &self.key);
        self.variables.iter().fold(task, |task, (name, value)| task.with(name, value))
    }

    /// Writes one body again, another one each time, also in another run of the harness.
    pub fn change(&self) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
        let body = self.folder.join("templates/team-000/template-00001/body.txt");
        let text = fs::read_to_string(&body).unwrap();
        let first = text.split("\nChange ").next().unwrap().trim_end();
        fs::write(&body, format!("{first}\n\nChange {now}\n")).unwrap();
    }

    /// Adds a sentence to both bodies of every template, or takes it out again.
    pub fn word(&self, is_there: bool) {
        const WORD: &str = "This is new. ";
        let bodies = [("body.html", "<p style=\"margin:0 0 12px 0\">"), ("body.txt", "Hello {{first_name}},\n\n")];
        for team in fs::read_dir(self.folder.join("templates")).unwrap() {
            for template in fs::read_dir(team.unwrap().path()).unwrap() {
                let template = template.unwrap().path();
                for (name, before) in bodies {
                    let body = template.join(name);
                    let mut text = fs::read_to_string(&body).unwrap().replace(WORD, "");
                    if is_there {
                        text = text.replacen(before, &format!("{before}{WORD}"), 1);
                    }
                    fs::write(body, text).unwrap();
                }
            }
        }
    }

    /// Runs until the stat cache takes every file for unchanged: those that changed in the last two seconds are read again.
    pub fn settle(&self) {
        std::thread::sleep(Duration::from_millis(2100));
        self.task(&["validate", "-q"]).run();
    }

    /// Puts the templates into a git repository, for `git status` to look at.
    pub fn commit(&self) {
        if self.folder.join(".git").exists() {
            return;
        }
        fs::write(self.folder.join(".gitignore"), ".letterpress/\nletterpress.toml\n*.done\n").unwrap();
        for arguments in [
            &["init", "-q"][..],
            &["add", "-A"],
            &[
                "-c",
                "user.name=bench",
                "-c",
                "user.email=bench@example.com",
                "-c",
                "gc.auto=0",
                "commit",
                "-q",
                "-m",
                "corpus",
            ],
        ] {
            assert!(Command::new("git").args(arguments).current_dir(&self.folder).status().unwrap().success());
        }
    }
}
