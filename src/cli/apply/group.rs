//! Lines that a CI folds.

use jiff::Timestamp;

use crate::cli::report::plan_text::count;

/// Which CI runs this, as it says itself.
#[derive(Debug, Clone, clap::Args)]
pub struct Folding {
    /// Set by GitHub Actions
    #[arg(long, hide = true, env = "GITHUB_ACTIONS")]
    github_actions: Option<String>,
    /// Set by GitLab CI
    #[arg(long, hide = true, env = "GITLAB_CI")]
    gitlab_ci: Option<String>,
    /// Set by Azure Pipelines
    #[arg(long, hide = true, env = "TF_BUILD")]
    tf_build: Option<String>,
}

impl Folding {
    /// How that CI folds lines, if it does.
    pub fn group(&self) -> Option<Group> {
        let is_set =
            |variable: &Option<String>| variable.as_deref().is_some_and(|value| value.eq_ignore_ascii_case("true"));
        match (is_set(&self.github_actions), is_set(&self.gitlab_ci), is_set(&self.tf_build)) {
            (true, ..) => Some(Group::Github),
            (_, true, _) => Some(Group::Gitlab),
            (.., true) => Some(Group::Azure),
            _ => None,
        }
    }
}

/// How a CI folds lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// GitHub Actions.
    Github,
    /// GitLab CI.
    Gitlab,
    /// Azure Pipelines.
    Azure,
}

impl Group {
    /// The line that begins a group of so many steps, at a moment.
    pub fn begin(self, steps: usize, now: Timestamp) -> String {
        let title = format!("Applying {}", count(steps, "template"));
        match self {
            Self::Github => format!("::group::{title}"),
            // What stands before the return is a command to GitLab, which takes it out of the log.
            Self::Gitlab => {
                format!("\x1b[0Ksection_start:{}:{SECTION}[collapsed=true]\r\x1b[0K{title}", now.as_second())
            }
            Self::Azure => format!("##[group]{title}"),
        }
    }

    /// The line that ends it.
    pub fn end(self, now: Timestamp) -> String {
        match self {
            Self::Github => "::endgroup::".to_owned(),
            Self::Gitlab => format!("\x1b[0Ksection_end:{}:{SECTION}\r\x1b[0K", now.as_second()),
            Self::Azure => "##[endgroup]".to_owned(),
        }
    }
}

/// GitLab wants a name of letters, digits, `_`, `.` and `-`, the same at both ends.
const SECTION: &str = "letterpress_apply";
