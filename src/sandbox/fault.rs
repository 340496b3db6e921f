//! Faults on demand (`--faults FILE`): a service that drops, delays, lies and sulks exactly when a test asks for it.
//!
//! ```toml
//! [[rule]]
//! path = "/template/create"  # absent: every path of the interface
//! contains = "\"id\":"       # only requests whose body has this text; absent: all
//! lacks = "letterpress-"     # only requests whose body lacks this text; absent: all
//! requests = "3"             # of those, counted from 1: "3", "2-5", "4-", "*/10" (every tenth); absent: all
//! when = "after"             # `before` (default): nothing is done and kept; `after`: it is done, then the answer goes wrong
//! delay_ms = 200             # wait first
//! answer = "drop"            # drop | hold | truncate | html | error-in-200 | redirect | status; absent: only the delay and `code`
//! status = 503               # for `status`
//! retry_after = 2            # for `status`: seconds in `Retry-After`
//! location = "http://…"      # for `redirect`
//! code = "string"            # the type of `code` in error answers: string | number; absent: as the interface says
//! ```
//!
//! The first rule that matches a request decides; each rule counts the requests that it was asked about.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;

/// All rules, in their order.
#[derive(Debug, Default)]
pub struct Faults {
    rules: Vec<Counted>,
}

#[derive(Debug)]
struct Counted {
    rule: Rule,
    requests: Requests,
    seen: AtomicU64,
}

/// One rule, as written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    path: Option<String>,
    contains: Option<String>,
    lacks: Option<String>,
    requests: Option<String>,
    /// Whether the request is executed.
    #[serde(default)]
    pub when: When,
    /// Milliseconds to wait first.
    #[serde(default)]
    pub delay_ms: u64,
    /// What comes instead of the answer.
    pub answer: Option<Answer>,
    /// The status of `answer = "status"`.
    pub status: Option<u16>,
    /// Seconds in `Retry-After`.
    pub retry_after: Option<u64>,
    /// Where `answer = "redirect"` points.
    pub location: Option<String>,
    /// The type of `code`.
    pub code: Option<CodeType>,
}

/// Before or after the commit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// Nothing is done.
    #[default]
    Before,
    /// It is done, and kept.
    After,
}

/// What comes instead of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The connection is closed without a byte.
    Drop,
    /// Nothing ever comes.
    Hold,
    /// The answer breaks off in the middle.
    Truncate,
    /// A web page, with status 200 or `status`.
    Html,
    /// Status 200, and a body with `status: Error`.
    #[serde(rename = "error-in-200")]
    ErrorIn200,
    /// 307 (or `status`) to `location`.
    Redirect,
    /// An error body with `status`.
    Status,
}

/// How `code` is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodeType {
    /// `"906"`
    String,
    /// `906`
    Number,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Requests {
    Between(u64, u64),
    Every(u64),
}

/// Why a faults file is not usable.
#[derive(Debug, thiserror::Error)]
pub enum FaultsError {
    /// Not TOML, or not of this form.
    #[error("{}", .0.message())]
    Form(toml::de::Error),
    /// `requests` of the n-th rule.
    #[error("rule {0}: `requests` is none of \"3\", \"2-5\", \"4-\", \"*/10\"")]
    Requests(usize),
    /// A rule whose parts do not go together.
    #[error("rule {0}: {1}")]
    Rule(usize, &'static str),
}

impl Faults {
    /// Reads the text of a faults file.
    ///
    /// # Errors
    ///
    /// When it is not TOML of the form above; the error names the rule.
    pub fn parse(text: &str) -> Result<Self, FaultsError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            #[serde(default)]
            rule: Vec<Rule>,
        }
        let file: File = toml::from_str(text).map_err(FaultsError::Form)?;
        let mut rules = Vec::new();
        for (at, rule) in file.rule.into_iter().enumerate() {
            let number = at + 1;
            let requests = match &rule.requests {
                None => Requests::Between(1, u64::MAX),
                Some(text) => requests(text).ok_or(FaultsError::Requests(number))?,
            };
            let status = rule.status.is_some_and(|status| !(200..=599).contains(&status));
            match rule.answer {
                _ if status => return Err(FaultsError::Rule(number, "`status` is not within 200 to 599")),
                Some(Answer::Status) if rule.status.is_none() => {
                    return Err(FaultsError::Rule(number, "`answer = \"status\"` wants a `status`"));
                }
                Some(Answer::Redirect) if rule.location.is_none() => {
                    return Err(FaultsError::Rule(number, "`answer = \"redirect\"` wants a `location`"));
                }
                None if rule.delay_ms == 0 && rule.code.is_none() => {
                    return Err(FaultsError::Rule(number, "it has none of `answer`, `delay_ms` and `code`"));
                }
                _ => rules.push(Counted { rule, requests, seen: AtomicU64::new(0) }),
            }
        }
        Ok(Self { rules })
    }

    /// The first rule that matches this request.
    pub fn pick(&self, path: &str, body: &[u8]) -> Option<&Rule> {
        let mut picked = None;
        for counted in &self.rules {
            if counted.rule.asks_about(path, body) {
                let number = counted.seen.fetch_add(1, Ordering::Relaxed) + 1;
                if picked.is_none() && counted.requests.has(number) {
                    picked = Some(&counted.rule);
                }
            }
        }
        picked
    }
}

impl Rule {
    fn asks_about(&self, path: &str, body: &[u8]) -> bool {
        let has = |text: &String| !text.is_empty() && body.windows(text.len()).any(|window| window == text.as_bytes());
        self.path.as_ref().is_none_or(|wanted| wanted == path)
            && self.contains.as_ref().is_none_or(has)
            && !self.lacks.as_ref().is_some_and(has)
    }

    /// How the request log names it.
    pub fn name(&self) -> String {
        let what = match self.answer {
            None => "delay".to_owned(),
            Some(Answer::Status) => format!("status {}", self.status.unwrap_or(500)),
            Some(other) => format!("{other:?}").to_lowercase(),
        };
        let when = if self.when == When::Before { "before" } else { "after" };
        if self.answer.is_some() { format!("{what} {when} commit") } else { what }
    }
}

impl Requests {
    fn has(self, number: u64) -> bool {
        match self {
            Self::Between(first, last) => (first..=last).contains(&number),
            Self::Every(n) => number.is_multiple_of(n),
        }
    }
}

fn requests(text: &str) -> Option<Requests> {
    let number = |text: &str| text.parse().ok().filter(|number| *number > 0);
    if let Some(every) = text.strip_prefix("*/") {
        return number(every).map(Requests::Every);
    }
    match text.split_once('-') {
        None => number(text).map(|n| Requests::Between(n, n)),
        Some((first, "")) => number(first).map(|first| Requests::Between(first, u64::MAX)),
        Some((first, last)) => {
            number(first).zip(number(last)).filter(|(a, b)| a <= b).map(|(a, b)| Requests::Between(a, b))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_counts_what_it_is_asked_about() {
        let faults = Faults::parse(
            "[[rule]]\npath = \"/a\"\nrequests = \"2-3\"\nanswer = \"drop\"\n[[rule]]\nlacks = \"x\"\nrequests = \"*/2\"\nanswer = \"hold\"\n",
        )
        .unwrap();
        let told = |path, body: &str| faults.pick(path, body.as_bytes()).and_then(|rule| rule.answer);
        assert_eq!(told("/a", ""), None);
        assert_eq!(told("/b", "x"), None);
        assert_eq!(told("/a", "x"), Some(Answer::Drop));
        assert_eq!(told("/b", ""), Some(Answer::Hold));
        assert_eq!(told("/a", ""), Some(Answer::Drop));
        assert_eq!(told("/a", ""), Some(Answer::Hold));
    }

    #[test]
    fn a_wrong_file_is_refused_with_its_rule() {
        for (text, says) in [
            ("[[rule]]\nrequests = \"0\"\nanswer = \"drop\"", "rule 1: `requests`"),
            ("[[rule]]\nanswer = \"status\"", "wants a `status`"),
            ("[[rule]]\nanswer = \"redirect\"", "wants a `location`"),
            ("[[rule]]\nanswer = \"explode\"", "unknown variant"),
            ("[[rule]]\npath = \"/a\"", "none of"),
            ("[[rules]]", "unknown field"),
        ] {
            let error = Faults::parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
