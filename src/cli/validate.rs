//! `letterpress validate`: check offline. No key, no network, no state.

use std::path::PathBuf;

use super::report::{concise, findings_json, github, gitlab, junit, sarif, snippets, summary};
use super::{Context, Exit, checked, fix};
use crate::check::Tree;
use crate::diagnostic::Profile;
use crate::source::{FILE, MANIFEST, Only, Project};
use crate::untrusted::Untrusted;

/// Check the templates offline: no key, no network, no state
#[derive(Debug, clap::Args)]
pub struct ValidateArgs {
    /// Files or folders, also deleted ones; only the templates they belong to are checked, and their names are not compared with the
    /// names of the others
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The form of the findings
    #[arg(long, value_enum, default_value = "text", env = "LETTERPRESS_FORMAT")]
    format: Format,
    /// Which set of rules to use
    #[arg(long, value_enum, default_value = "default", env = "LETTERPRESS_PROFILE")]
    profile: Set,
    /// Mend what can be mended; shows a diff and asks first
    #[arg(long)]
    fix: bool,
    /// With --fix: write without asking
    #[arg(long, requires = "fix")]
    yes: bool,
    /// The path from the repository's root to this project, for sarif, github and gitlab (default: found from .git)
    #[arg(long, value_name = "PATH", env = "LETTERPRESS_REPOSITORY_PATH")]
    repository_path: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// With the lines they are about
    Text,
    /// One line each
    Concise,
    /// One JSON value, with the variables of each template
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// A test case per template
    Junit,
    /// Annotations of a pull request
    Github,
    /// Code quality report
    Gitlab,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Set {
    /// What holds on good templates
    Default,
    /// And accessibility
    A11y,
    /// Everything
    Strict,
}

/// Runs the command.
///
/// # Errors
///
/// No project, a wrong environment, a wrong letterpress.toml.
pub fn run(context: &Context, args: &ValidateArgs) -> anyhow::Result<Exit> {
    let project = checked::project(context)?;
    let environment = checked::environment(context, &project)?;
    let profile = match args.profile {
        Set::Default => Profile::Default,
        Set::A11y => Profile::A11y,
        Set::Strict => Profile::Strict,
    };
    let chosen = chosen(context, &project, &args.paths);
    let any = |test: &dyn Fn(&str) -> bool| chosen.iter().flatten().any(|path| test(path));
    let only = Only {
        reads: &|folder| any(&|path| touches(&project, path, folder)),
        enters: &|folder| any(&|path| holds(path, folder) || holds(folder, path)),
    };
    let narrowed = chosen.is_some().then_some(&only);
    let checked = checked::check(context, &project, environment, profile, narrowed)?;
    let checked = if args.fix {
        match mend(context, args, &project, &checked)? {
            true => checked::check(context, &project, environment, profile, narrowed)?,
            false => checked,
        }
    } else {
        checked
    };
    let prefix = prefix(args, &project);
    match args.format {
        Format::Text => context.terminal.stream(|out| snippets::write(out, &checked.findings))?,
        Format::Concise => context.terminal.stream(|out| concise::write(out, &checked.findings))?,
        Format::Json => context.terminal.stream(|out| findings_json::write(out, &environment.name, &checked))?,
        Format::Sarif => context.terminal.stream(|out| sarif::write(out, &prefix, &checked.findings))?,
        Format::Junit => {
            let templates = &project.config.templates.value;
            context.terminal.stream(|out| junit::write(out, templates, checked.keys(), &checked.findings))?;
        }
        Format::Github => context.terminal.stream(|out| github::write(out, &prefix, &checked.findings))?,
        Format::Gitlab => context.terminal.stream(|out| gitlab::write(out, &prefix, &checked.findings))?,
    }
    if narrowed.is_some() && checked.verdicts.is_empty() && checked.findings.is_empty() {
        let shown = |path: &PathBuf| format!("`{}`", Untrusted(&path.to_string_lossy()).line());
        let paths: Vec<String> = args.paths.iter().take(3).map(shown).collect();
        let more = if args.paths.len() > 3 { ", …" } else { "" };
        context.terminal.warn(format_args!("no template belongs to {}{more}", paths.join(", ")));
    }
    let count = checked.verdicts.len();
    let templates = if count == 1 { "template" } else { "templates" };
    context.terminal.say(format_args!("{count} {templates} checked: {}", summary::sentence(&checked.findings)));
    let exit = if checked.errors() > 0 { Exit::Findings } else { Exit::Done };
    // The process ends with this: the system takes all memory back at once, which is sooner than ten thousand verdicts piece by piece.
    std::mem::forget(checked);
    Ok(exit)
}

/// Shows what would change, asks, and writes it; says whether it did.
fn mend(context: &Context, args: &ValidateArgs, project: &Project, checked: &Tree) -> anyhow::Result<bool> {
    let changes = fix::changes(project, &checked.findings)?;
    if changes.is_empty() {
        context.terminal.say("nothing to mend");
        return Ok(false);
    }
    let files = if changes.len() == 1 { "1 file".to_owned() } else { format!("{} files", changes.len()) };
    if !args.yes {
        context.terminal.report(|out| write!(out, "{}", fix::diff(&changes)));
        if !context.terminal.can_ask() {
            context.terminal.warn(format_args!("{files} would change, and nothing was written: add --yes"));
            return Ok(false);
        }
        let question = dialoguer::Confirm::new().with_prompt(format!("Write these changes to {files}?")).default(false);
        if !question.interact()? {
            return Ok(false);
        }
    }
    fix::write(&project.root, &changes)?;
    context.terminal.say(format_args!("mended {files}"));
    Ok(true)
}

/// What leads from the repository's root to the project: CI systems show findings beside files by their path in the repository.
fn prefix(args: &ValidateArgs, project: &Project) -> String {
    let path = args.repository_path.clone().unwrap_or_else(|| {
        let root = project.root.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
        let below = root.and_then(|root| project.root.strip_prefix(root).ok());
        below.map(|below| below.to_string_lossy().replace('\\', "/")).unwrap_or_default()
    });
    let path = path.trim_matches('/');
    if path.is_empty() || path == "." { String::new() } else { format!("{path}/") }
}

/// The paths below the root; nothing when everything is to be checked: without paths, or when letterpress.toml is among them.
fn chosen(context: &Context, project: &Project, paths: &[PathBuf]) -> Option<Vec<String>> {
    if paths.is_empty() {
        return None;
    }
    let below: Vec<String> = paths.iter().filter_map(|path| checked::below(project, &context.cwd, path)).collect();
    let all =
        |path: &String| path.is_empty() || path == FILE || project.config.templates.value.starts_with(path.as_str());
    if below.iter().any(all) { None } else { Some(below) }
}

/// Whether a path is another one or below it.
fn holds(outer: &str, inner: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a path, which may be gone, belongs to a template folder or holds it.
fn touches(project: &Project, path: &str, folder: &str) -> bool {
    if holds(path, folder) {
        return true;
    }
    if !holds(folder, path) {
        return false;
    }
    // A file belongs to the nearest template folder above it, and templates nest.
    let nearest = path
        .rmatch_indices('/')
        .map(|(at, _)| &path[..at])
        .find(|above| project.root.join(above).join(MANIFEST).symlink_metadata().is_ok());
    nearest == Some(folder)
}
