//! `~/.aws/config` and `~/.aws/credentials`. Their form is INI with rules of its own: sections named `profile NAME`, settings below settings by indentation,
//! and values in which quotes and backslashes mean themselves; readers of ordinary INI get those wrong.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Variables;

type Settings = BTreeMap<String, String>;

/// A profile: what both files say of it.
#[derive(Debug, Default)]
pub(super) struct Profile {
    pub(super) name: String,
    /// The files that have it.
    pub(super) files: Vec<PathBuf>,
    settings: Settings,
    /// What `services = NAME` refers to.
    services: Settings,
}

impl Profile {
    /// Reads the profile that the variables choose.
    ///
    /// # Errors
    ///
    /// When a variable names a profile or a file that is not there, or a file cannot be read.
    pub(super) fn read(variables: &Variables) -> Result<Self, String> {
        let chosen = variables.first(&["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]);
        let mut profile = Self { name: chosen.unwrap_or("default").to_owned(), ..Self::default() };
        let mut looked = Vec::new();
        // What the credentials file says counts more.
        for (variable, file, prefix) in
            [("AWS_CONFIG_FILE", "config", "profile "), ("AWS_SHARED_CREDENTIALS_FILE", "credentials", "")]
        {
            let named = variables.get(variable).map(|path| home_for_tilde(path, variables));
            let Some(path) = named.or_else(|| Some(variables.home()?.join(".aws").join(file))) else { continue };
            let text = match std::fs::read_to_string(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    looked.push(path.display().to_string());
                    continue;
                }
                Err(error) => return Err(format!("{} cannot be read: {error}", path.display())),
            };
            looked.push(path.display().to_string());
            let sections = sections(&text);
            let plain = (prefix.is_empty() || profile.name == "default").then_some(profile.name.as_str());
            let prefixed = format!("{prefix}{}", profile.name);
            let found = sections.get(&prefixed).or_else(|| sections.get(plain?));
            if let Some(found) = found {
                profile.settings.extend(found.clone());
                profile.files.push(path);
            }
            if let Some(services) =
                profile.settings.get("services").and_then(|name| sections.get(&format!("services {name}")))
            {
                profile.services = services.clone();
            }
        }
        match chosen {
            Some(name) if profile.files.is_empty() => {
                Err(format!("the AWS profile `{name}` is not in {}", looked.join(" or ")))
            }
            _ => Ok(profile),
        }
    }

    /// A setting of the profile.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The address of S3, where the profile names one.
    pub(super) fn endpoint(&self) -> Option<&str> {
        let of_service = self.services.get("s3.endpoint_url").map(String::as_str);
        of_service.or_else(|| self.get("endpoint_url"))
    }

    /// For messages.
    pub(super) fn named(&self) -> String {
        let files: Vec<String> = self.files.iter().map(|path| path.display().to_string()).collect();
        format!("the AWS profile `{}` in {}", self.name, files.join(" and "))
    }
}

fn home_for_tilde(path: &str, variables: &Variables) -> PathBuf {
    match (path.strip_prefix("~/"), variables.home()) {
        (Some(below), Some(home)) => home.join(below),
        _ => Path::new(path).to_owned(),
    }
}

/// The sections of a file. A setting below another one is named `outer.inner`.
fn sections(text: &str) -> BTreeMap<String, Settings> {
    let mut sections: BTreeMap<String, Settings> = BTreeMap::new();
    let mut section = None;
    let mut outer = String::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let words: Vec<&str> = name.split_whitespace().collect();
            let name = words.join(" ");
            sections.entry(name.clone()).or_default();
            (section, outer) = (Some(name), String::new());
            continue;
        }
        let (Some(settings), Some((name, value))) =
            (section.as_ref().and_then(|name| sections.get_mut(name)), trimmed.split_once('='))
        else {
            continue;
        };
        // A comment may follow a value after a blank.
        let value =
            [" #", " ;", "\t#", "\t;"].iter().fold(value, |value, mark| value.split(mark).next().unwrap_or(value));
        let (name, value) = (name.trim().to_lowercase(), value.trim().to_owned());
        if line.starts_with([' ', '\t']) && !outer.is_empty() {
            settings.insert(format!("{outer}.{name}"), value);
        } else {
            outer.clone_from(&name);
            settings.insert(name, value);
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        Variables(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    const CONFIG: &str = "\
# a comment\n[default]\nregion = eu-west-1\ns3 =\n  addressing_style = path\n  endpoint_url = http://not-of-s3\n\n\
[profile work]   ; with a comment\nREGION=eu-north-1 # far away\nendpoint_url = http://localhost:9\nservices = local\n\
credential_process = \"/opt/my tool\" --path C:\\x\n[work]\nregion = not-this-one\n\n[services local]\ns3 =\n  endpoint_url = http://localhost:10\n";

    #[test]
    fn both_files_make_a_profile_and_the_credentials_file_counts_more() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".aws")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(home.path().join(".aws").join(name), text).unwrap();
        let path = home.path().to_str().unwrap();
        assert!(Profile::read(&variables(&[("HOME", path)])).unwrap().files.is_empty());
        write("config", CONFIG);
        write("credentials", "[work]\naws_access_key_id = A\naws_secret_access_key = a/b=c+d\nregion = eu-central-1\n");

        let default = Profile::read(&variables(&[("HOME", path)])).unwrap();
        assert_eq!((default.get("region"), default.endpoint()), (Some("eu-west-1"), None));
        let work = Profile::read(&variables(&[("HOME", path), ("AWS_PROFILE", "work")])).unwrap();
        assert_eq!(work.get("region"), Some("eu-central-1"));
        assert_eq!(work.get("aws_secret_access_key"), Some("a/b=c+d"));
        assert_eq!(work.get("credential_process"), Some("\"/opt/my tool\" --path C:\\x"));
        assert_eq!(work.endpoint(), Some("http://localhost:10"));
        assert_eq!(work.files.len(), 2);

        let moved = [("HOME", path), ("AWS_PROFILE", "work"), ("AWS_SHARED_CREDENTIALS_FILE", "~/nowhere")];
        assert_eq!(Profile::read(&variables(&moved)).unwrap().get("region"), Some("eu-north-1"));
        let missing = Profile::read(&variables(&[("HOME", path), ("AWS_PROFILE", "play")])).unwrap_err();
        assert!(missing.contains("`play` is not in") && missing.contains("credentials"), "{missing}");
    }
}
