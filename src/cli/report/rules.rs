//! The table of rules as text and as `docs/rules.md`.

use std::fmt::Write as _;

use crate::check::table;
use crate::cli::terminal::{BOLD, CYAN, DIM, GREEN, RED, YELLOW};
use crate::diagnostic::{Profile, Rule, Severity};
use crate::untrusted::Untrusted;

/// All rules, a line each.
#[must_use]
pub fn list() -> String {
    let width = table::all().map(|rule| rule.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut group = "";
    for rule in table::all() {
        if rule.group != group {
            let gap = if group.is_empty() { "" } else { "\n" };
            group = rule.group;
            let _ = writeln!(text, "{gap}{BOLD}{group}{BOLD:#}");
        }
        let fix = if rule.fix { format!(" {DIM}(--fix){DIM:#}") } else { String::new() };
        let color = match rule.severity {
            Severity::Error => RED,
            Severity::Warn => YELLOW,
            Severity::Info | Severity::Off => CYAN,
        };
        let word = format!("{:<5}", rule.severity.word());
        let _ = writeln!(text, "  {:<width$}  {color}{word}{color:#}  {}{fix}", rule.name, rule.summary);
    }
    text
}

/// One rule for a terminal.
#[must_use]
pub fn page(rule: &Rule) -> String {
    let indented = |text: &str| text.trim_end().lines().map(|line| format!("    {line}\n")).collect::<String>();
    format!(
        "{BOLD}{}{BOLD:#}  {}{}\n{}\n\n{}\n\n{RED}wrong{RED:#}\n{}\n{GREEN}right{GREEN:#}\n{}\n{DIM}source: {}{DIM:#}\n",
        rule.name,
        when(rule),
        if rule.fix { ", `validate --fix` mends it" } else { "" },
        rule.summary,
        rule.why,
        indented(rule.wrong),
        indented(rule.right),
        rule.source
    )
}

/// Severity and profile in words.
fn when(rule: &Rule) -> String {
    let profile = match rule.profile {
        Profile::Default => "",
        Profile::A11y => " with `--profile a11y` and `strict`",
        Profile::Strict => " with `--profile strict`",
    };
    format!("{}{profile}", rule.severity.word())
}

/// One rule in Markdown.
#[must_use]
pub fn section(rule: &Rule) -> String {
    format!(
        "### {}\n\n{}: {}.{}\n\n{}\n\nWrong:\n\n{}\nRight:\n\n{}\nSource: {}.\n",
        rule.name,
        when(rule),
        rule.summary,
        if rule.fix { " `validate --fix` mends it." } else { "" },
        rule.why,
        Untrusted(rule.wrong).markdown_block(""),
        Untrusted(rule.right).markdown_block(""),
        rule.source
    )
}

/// `docs/rules.md`
#[must_use]
pub fn document() -> String {
    let mut text = String::from(
        "# Rules\n\nMade from the table in `src/check/table/` by `letterpress explain --format markdown`; a test keeps it true.\n\n\
         An *error* ends a command with exit 3 and nothing is sent; a *warn* and an *info* never do. Severities are changed in letterpress.toml \
         (`[lint]`), except of what the service refuses. A finding that is meant to be is allowed with a reason, in the manifest \
         (`lint: { allow: [{ rule: img-http, reason: \"…\" }] }`) or in the html (`<!-- letterpress-allow img-http: … -->`). On 454 public mails without a manifest of their own, the defaults give a median of no error, of two \
         warnings (one is that the collections have no plain text) and of no note; three of four mails have no error. `CONTRIBUTING.md` says how that is measured.\n\n\
         | rule | default | finds |\n|---|---|---|\n",
    );
    for rule in table::all() {
        let fix = if rule.fix { ", fix" } else { "" };
        let _ = writeln!(
            text,
            "| [`{0}`](#{0}) | {1}{fix} | {2} |",
            rule.name,
            when(rule),
            rule.summary.replace('|', "\\|")
        );
    }
    for rule in table::all() {
        let _ = write!(text, "\n{}", section(rule));
    }
    text
}
