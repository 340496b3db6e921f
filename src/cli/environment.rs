//! The one place that asks for environment variables whose names clap cannot know: the API key's, which letterpress.toml chooses, and the
//! proxies', which the HTTP library reads and `doctor` names. All others enter through clap, so that help shows them.

use std::io::Read as _;
use std::path::Path;

use secrecy::SecretString;

use super::{Exit, Failure};
use crate::source::Environment;

/// Longest file that can be a key, in bytes.
const KEY_FILE_BYTES: u64 = 4_096;

/// The API key of an environment: from its file, or else from its variable.
///
/// # Errors
///
/// Exit 7 with the name of the variable or file; the key itself is never shown.
pub fn api_key(root: &Path, environment: &Environment) -> Result<SecretString, Failure> {
    let name = &environment.name;
    if let Some(file) = &environment.api_key_file {
        let path = root.join(file);
        let key = read_key(&path)
            .map_err(|error| {
                Failure::new(Exit::Key, format!("cannot read the API key from {}: {error}", path.display()))
            })
            .map_err(|failure| {
                failure.help(format!("`environments.{name}.api_key_file` in letterpress.toml names it"))
            })?;
        return match key.trim() {
            "" => Err(Failure::new(Exit::Key, format!("{} holds no API key", path.display()))),
            key => Ok(key.into()),
        };
    }
    let variable_name = &environment.api_key_env;
    match variable(variable_name) {
        Some(key) if !key.trim().is_empty() => Ok(key.trim().into()),
        _ => Err(Failure::new(
            Exit::Key,
            format!("no API key for the environment `{name}`: `{variable_name}` is not set"),
        )
        .help(format!("set `{variable_name}`, or name a file in `environments.{name}.api_key_file`"))),
    }
}

/// Where a key comes from, for people.
#[must_use]
pub fn api_key_source(environment: &Environment) -> String {
    match &environment.api_key_file {
        Some(file) => format!("the file `{}`", file.display()),
        None => format!("the variable `{}`", environment.api_key_env),
    }
}

/// The proxy variables that are set, with the user names and passwords in them left out.
#[must_use]
pub fn proxies() -> Vec<(&'static str, String)> {
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"]
        .into_iter()
        .filter_map(|name| Some((name, variable(name)?)))
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name, without_credentials(&value)))
        .collect()
}

fn without_credentials(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").map_or(("", address), |(scheme, rest)| (scheme, rest));
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    if scheme.is_empty() { host.to_owned() } else { format!("{scheme}://{host}") }
}

fn read_key(path: &Path) -> std::io::Result<String> {
    let mut key = String::new();
    std::fs::File::open(path)?.take(KEY_FILE_BYTES).read_to_string(&mut key)?;
    Ok(key)
}

#[expect(clippy::disallowed_methods, reason = "the name is the user's choice, so clap cannot declare it")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_shown_without_its_password() {
        assert_eq!(without_credentials("http://me:secret@proxy:3128"), "http://proxy:3128");
        assert_eq!(without_credentials("proxy:3128"), "proxy:3128");
        assert_eq!(without_credentials("localhost,.example.com"), "localhost,.example.com");
    }
}
