//! letterpress.toml as typed values with places (product.md).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use super::manifest;
use super::node::{File, Node, Place, Spot, Value};
use super::problem::{Fault, Problem};
use super::read::{Files, Reader, closest};
use super::text::Text;
use crate::diagnostic::Severity;
use crate::limits;

/// The name of the file that makes a folder a project.
pub const FILE: &str = "letterpress.toml";

/// letterpress.toml.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file, for places in it.
    pub text: Arc<Text>,
    /// `templates`: the folder below the root; default `templates`.
    pub templates: Spot<String>,
    /// `environment`: the default one.
    pub environment: Option<Spot<String>>,
    /// `[defaults]`
    pub defaults: Option<Node>,
    /// `[environments.…]`; without any there is `local`, the built-in service.
    pub environments: BTreeMap<String, Environment>,
    /// `[lint]`: rule → severity. Names are checked against the table of rules by the checks.
    pub lint: Vec<(Spot<String>, Severity)>,
}

/// `[environments.<name>]`
#[derive(Debug, Clone)]
pub struct Environment {
    /// Its name.
    pub name: String,
    /// `base_url`
    pub base_url: BaseUrl,
    /// `api_key_env`; default `LETTERPRESS_API_KEY`.
    pub api_key_env: String,
    /// `api_key_file`, below the project's root unless absolute.
    pub api_key_file: Option<PathBuf>,
    /// `project_id`: refuse any key that belongs elsewhere.
    pub project_id: Option<String>,
    /// `state` as written: `file:…`, `s3://…`, `gs://…`, `az://…`.
    pub state: Option<String>,
    /// `concurrency`, 1 to 256; default 16.
    pub concurrency: u32,
    /// `requests_per_second`: an optional ceiling, at least 1.
    pub requests_per_second: Option<u32>,
    /// `[environments.<name>.defaults]`
    pub defaults: Option<Node>,
}

/// Where the service is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaseUrl {
    /// `sandbox`: the built-in service, in this process.
    Sandbox,
    /// An address, without a slash at its end.
    Url(String),
}

/// Most templates that are open at once by default.
const CONCURRENCY: u32 = 16;
/// The variable that holds the API key by default.
const API_KEY_ENV: &str = "LETTERPRESS_API_KEY";

pub(super) const KEYS: [&str; 5] = ["templates", "environment", "defaults", "environments", "lint"];
pub(super) const ENVIRONMENT_KEYS: [&str; 8] = [
    "base_url",
    "api_key_env",
    "api_key_file",
    "project_id",
    "state",
    "concurrency",
    "requests_per_second",
    "defaults",
];

impl Environment {
    /// The built-in service under a name, with every default.
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            base_url: BaseUrl::Sandbox,
            api_key_env: API_KEY_ENV.to_owned(),
            api_key_file: None,
            project_id: None,
            state: None,
            concurrency: CONCURRENCY,
            requests_per_second: None,
            defaults: None,
        }
    }
}

impl Config {
    /// Reads the text of a letterpress.toml.
    ///
    /// # Errors
    ///
    /// Every problem that it has, located.
    pub fn read(text: Text) -> Result<Self, Vec<Problem>> {
        let text = Arc::new(text);
        let table = match DeTable::parse(&text.sent) {
            Ok(table) => table,
            Err(error) => {
                let location = text.at(error.span().unwrap_or(0..0));
                return Err(vec![Problem::new(Fault::ConfigInvalid, location, error.message().trim().to_owned())]);
            }
        };
        let span = table.span();
        let root = node(DeValue::Table(table.into_inner()), span);
        let mut reader = Reader::new(Files { config: &text, manifest: &text });
        let none = Place { file: File::Config, bytes: 0..0 };
        let mut config = Self {
            text: text.clone(),
            templates: Spot { value: "templates".to_owned(), place: none },
            environment: None,
            defaults: None,
            environments: BTreeMap::new(),
            lint: Vec::new(),
        };
        reader.map(root, "", &KEYS, |reader, key, node| config.field(reader, &key, node));
        if config.environments.is_empty() && reader.problems.is_empty() {
            config.environments.insert("local".to_owned(), Environment::new("local"));
        }
        if let Some(chosen) = &config.environment
            && !config.environments.contains_key(&chosen.value)
        {
            let meant = closest(&chosen.value, config.environments.keys().map(String::as_str));
            let help = meant.map(|word| format!("did you mean `{word}`?"));
            let message = || format!("there is no environment `{}`", chosen.value);
            reader.report(Fault::ConfigInvalid, &chosen.place, message, help);
        }
        let problems = reader.problems;
        if problems.is_empty() { Ok(config) } else { Err(problems) }
    }

    fn field(&mut self, reader: &mut Reader<'_>, key: &Spot<String>, node: Node) {
        match key.value.as_str() {
            "templates" => {
                if let Some(path) = reader.text(node, "templates") {
                    match super::files::lexical(path.value.trim_end_matches('/')) {
                        Ok(()) => self.templates = path.with(path.value.trim_end_matches('/').to_owned()),
                        Err(error) => {
                            let help = Some("name a folder below letterpress.toml".to_owned());
                            reader.report(Fault::ConfigInvalid, &path.place, || error.to_string(), help);
                        }
                    }
                }
            }
            "environment" => self.environment = reader.text(node, "environment"),
            "defaults" => {
                manifest::read_defaults(reader, node.clone(), "defaults");
                self.defaults = Some(node);
            }
            "environments" => self.environments(reader, node),
            "lint" => {
                for (rule, severity) in reader.texts(node, "lint") {
                    match severity.value.as_str() {
                        "off" => self.lint.push((rule, Severity::Off)),
                        "info" => self.lint.push((rule, Severity::Info)),
                        "warn" => self.lint.push((rule, Severity::Warn)),
                        "error" => self.lint.push((rule, Severity::Error)),
                        other => {
                            let message = || format!("`{other}` is no severity: `off`, `info`, `warn` or `error`");
                            reader.report(Fault::ConfigInvalid, &severity.place, message, None);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn environments(&mut self, reader: &mut Reader<'_>, node: Node) {
        let kind = node.kind();
        let Value::Map(entries) = node.value else {
            let message = || format!("`environments` must be tables, and this is {kind}");
            reader.report(Fault::WrongType, &node.place, message, None);
            return;
        };
        for (name, node) in entries {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if name.value.is_empty() || name.value.len() > 64 || !name.value.chars().all(plain) {
                let message = || "an environment's name is 1 to 64 letters, digits, `-` or `_`".to_owned();
                reader.report(Fault::ConfigInvalid, &name.place, message, None);
                continue;
            }
            let environment = environment(reader, &name, node);
            self.environments.insert(name.value, environment);
        }
    }
}

fn environment(reader: &mut Reader<'_>, name: &Spot<String>, node: Node) -> Environment {
    let mut built = Environment::new(&name.value);
    let table = format!("environments.{}", name.value);
    let mut addressed = false;
    let mut key_env = None;
    let read = reader.map(node, &table, &ENVIRONMENT_KEYS, |reader, key, node| match key.value.as_str() {
        "base_url" => {
            addressed = true;
            let text = reader.text(node, "base_url");
            match text.as_ref().map(|text| base_url(&text.value)) {
                Some(Ok(url)) => built.base_url = url,
                Some(Err(why)) => {
                    let place = text.map_or_else(|| key.place.clone(), |text| text.place);
                    reader.report(Fault::ConfigInvalid, &place, || format!("`base_url` {why}"), None);
                }
                None => {}
            }
        }
        "api_key_env" => {
            if let Some(text) = reader.text(node, "api_key_env") {
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
                if text.value.is_empty() || !text.value.chars().all(plain) {
                    let message = || "`api_key_env` must be the name of an environment variable".to_owned();
                    let help = Some("the key itself does not belong in this file".to_owned());
                    reader.report(Fault::ConfigInvalid, &text.place, message, help);
                }
                built.api_key_env.clone_from(&text.value);
                key_env = Some(text);
            }
        }
        "api_key_file" => built.api_key_file = reader.text(node, "api_key_file").map(|text| text.value.into()),
        "project_id" => {
            if let Some(text) = reader.text(node, "project_id") {
                if text.value.is_empty() || !text.value.is_ascii() || text.value.len() > limits::PROJECT_ID_CHARS {
                    let message = || format!("`project_id` is 1 to {} ASCII characters", limits::PROJECT_ID_CHARS);
                    reader.report(Fault::ConfigInvalid, &text.place, message, None);
                }
                built.project_id = Some(text.value);
            }
        }
        "state" => {
            if let Some(text) = reader.text(node, "state") {
                if !["file:", "s3://", "gs://", "az://"].iter().any(|scheme| text.value.starts_with(scheme)) {
                    let message = || "`state` starts with `file:`, `s3://`, `gs://` or `az://`".to_owned();
                    reader.report(Fault::ConfigInvalid, &text.place, message, None);
                }
                built.state = Some(text.value);
            }
        }
        "concurrency" => built.concurrency = number(reader, &node, "concurrency", 1..=256).unwrap_or(CONCURRENCY),
        "requests_per_second" => {
            built.requests_per_second = number(reader, &node, "requests_per_second", 1..=1_000_000);
        }
        _ => {
            manifest::read_defaults(reader, node.clone(), &format!("{table}.defaults"));
            built.defaults = Some(node);
        }
    });
    if read && !addressed {
        let help = Some("`base_url = \"sandbox\"` is the built-in service".to_owned());
        reader.report(Fault::ConfigInvalid, &name.place, || format!("`{table}` needs `base_url`"), help);
    }
    if let (Some(variable), Some(_)) = (key_env, &built.api_key_file) {
        let message = || format!("`{table}` has both `api_key_env` and `api_key_file`");
        reader.report(Fault::ConfigInvalid, &variable.place, message, Some("keep one of the two".to_owned()));
    }
    built
}

fn base_url(text: &str) -> Result<BaseUrl, &'static str> {
    if text == "sandbox" {
        return Ok(BaseUrl::Sandbox);
    }
    let (rest, secure) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
        (Some(rest), _) => (rest, true),
        (_, Some(rest)) => (rest, false),
        _ => return Err("is `sandbox` or an address that starts with `https://`"),
    };
    let authority = rest.split('/').next().unwrap_or_default();
    if authority.is_empty() || text.contains(|c: char| c.is_whitespace() || crate::untrusted::is_control(c)) {
        return Err("has no host");
    }
    if authority.contains('@') {
        return Err("has a user name or password; the key comes from `api_key_env`");
    }
    if text.contains(['?', '#']) {
        return Err("has a query or a fragment");
    }
    let host = authority.rsplit_once(':').map_or(authority, |(host, port)| {
        if port.bytes().all(|byte| byte.is_ascii_digit()) { host } else { authority }
    });
    if !secure && !matches!(host, "127.0.0.1" | "[::1]" | "localhost") {
        return Err("starts with `http://`, which is only for this machine; use `https://`");
    }
    Ok(BaseUrl::Url(text.trim_end_matches('/').to_owned()))
}

fn number(reader: &mut Reader<'_>, node: &Node, name: &str, range: std::ops::RangeInclusive<u32>) -> Option<u32> {
    let value = match &node.value {
        Value::Scalar { text, plain: true } => text.replace('_', "").parse().ok(),
        _ => None,
    };
    let good = value.filter(|value| range.contains(value));
    if good.is_none() {
        let message = || format!("`{name}` must be a whole number from {} to {}", range.start(), range.end());
        reader.report(Fault::ConfigInvalid, &node.place, message, None);
    }
    good
}

fn node(value: DeValue<'_>, span: std::ops::Range<usize>) -> Node {
    let place = |bytes| Place { file: File::Config, bytes };
    let value = match value {
        DeValue::String(text) => Value::Scalar { text: text.into_owned(), plain: false },
        DeValue::Integer(number) => Value::Scalar { text: number.to_string(), plain: true },
        DeValue::Float(number) => Value::Scalar { text: number.to_string(), plain: true },
        DeValue::Boolean(truth) => Value::Scalar { text: truth.to_string(), plain: true },
        DeValue::Datetime(time) => Value::Scalar { text: time.to_string(), plain: false },
        DeValue::Array(array) => Value::List(
            array
                .into_iter()
                .map(|item| {
                    let span = item.span();
                    node(item.into_inner(), span)
                })
                .collect(),
        ),
        DeValue::Table(table) => Value::Map(
            table
                .into_iter()
                .map(|(key, value)| {
                    let key = Spot { place: place(key.span()), value: key.into_inner().into_owned() };
                    let span = value.span();
                    (key, node(value.into_inner(), span))
                })
                .collect(),
        ),
    };
    Node { value, place: place(span) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Text {
        Text::new(FILE.to_owned(), text.as_bytes().to_vec()).unwrap()
    }

    fn problems(text: &str) -> Vec<String> {
        let found = Config::read(file(text)).err().unwrap_or_default();
        found
            .into_iter()
            .map(|p| format!("{}:{} {} {}", p.location.line, p.location.column, p.message, p.help.unwrap_or_default()))
            .collect()
    }

    #[test]
    fn without_environments_there_is_the_built_in_service() {
        let config = Config::read(file("")).unwrap();
        assert_eq!(config.environments["local"].base_url, BaseUrl::Sandbox);
    }

    #[test]
    fn mistakes_are_located_and_named() {
        for (text, says) in [
            ("templats = \"x\"\n", "1:1 unknown key `templats` did you mean `templates`?"),
            ("\nenvironment = \"prod\"\n[environments.production]\nbase_url = \"sandbox\"\n", "2:15 there is no"),
            ("[environments.a]\n", "1:15 `environments.a` needs `base_url`"),
            ("[environments.a]\nbase_url = \"http://example.com\"\n", "2:12 `base_url` starts with `http://`"),
            ("[environments.a]\nbase_url = \"https://u:p@example.com\"\n", "2:12 `base_url` has a user name"),
            ("[environments.\"../x\"]\nbase_url = \"sandbox\"\n", "1:15 an environment's name"),
            ("[environments.a]\nbase_url = \"sandbox\"\nconcurrency = 0\n", "3:15 `concurrency` must be"),
            ("[defaults]\nname = \"x\"\n", "2:1 unknown key `name` in `defaults`"),
            ("[lint]\nimg-http = \"of\"\n", "2:12 `of` is no severity"),
            ("templates = \"../x\"\n", "1:13 `../x` leaves"),
            ("a = [\n", "1:"),
        ] {
            let found = problems(text);
            assert!(found.iter().any(|problem| problem.contains(says)), "{text}: {found:?}");
        }
    }
}
