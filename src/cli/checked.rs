//! Reading and checking the whole tree: what every command does first.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::report::{concise, summary};
use super::{Context, Exit, Failure};
use crate::check::{self, Levels, Rules, Tree};
use crate::client;
use crate::desired::{Desired, Hasher, Key, Template};
use crate::diagnostic::{Diagnostic, Profile, Severity};
use crate::source::{Cache, Environment, EnvironmentError, Only, OpenError, Project};

/// The tree, read and checked, without errors.
#[derive(Debug, Default)]
pub struct Checked {
    /// All that should exist: one row per template.
    pub desired: Desired,
    /// Every template folder.
    pub folders: BTreeSet<Key>,
}

/// Opens the project that the global options name.
///
/// # Errors
///
/// Exit 1 without a letterpress.toml, exit 3 with its findings when it is wrong.
pub fn project(context: &Context) -> anyhow::Result<Project> {
    match Project::open(context.global.project.as_deref(), &context.cwd) {
        Ok(project) => Ok(project),
        Err(OpenError::Config(problems)) => {
            let findings = check::sorted(problems.into_iter().map(check::finding).collect());
            Err(refuse(context, &findings))
        }
        Err(error @ OpenError::NotFound { .. }) => {
            let help = "`letterpress init` writes a project that works; `-C DIR` names the folder of one";
            Err(Failure::new(Exit::Failed, error.to_string()).help(help).into())
        }
        Err(error) => Err(error.into()),
    }
}

/// The environment that the global options name, or the default one.
///
/// # Errors
///
/// Exit 64 when there is none of that name.
pub fn environment<'p>(context: &Context, project: &'p Project) -> anyhow::Result<&'p Environment> {
    named(project, context.global.environment.as_deref())
}

/// The environment of this name, or the default one.
///
/// # Errors
///
/// Exit 64 when there is none of that name.
pub fn named<'p>(project: &'p Project, name: Option<&str>) -> anyhow::Result<&'p Environment> {
    project.environment(name).map_err(|error| {
        let message = error.to_string();
        let (meant, known) = match error {
            EnvironmentError::Unknown { meant, known, .. } => (meant, known),
            EnvironmentError::Unnamed { known } => (None, known),
        };
        let meant = meant.map_or_else(String::new, |word| format!("did you mean `{word}`?\n"));
        let help = format!("{meant}choose with `-e`: {}", known.join(", "));
        Failure::new(Exit::Usage, message).help(help).into()
    })
}

/// Reads and checks every template, on all cores and in bounded memory. Findings are returned, not printed.
///
/// # Errors
///
/// Exit 3 when `[lint]` is wrong.
pub fn check(
    context: &Context,
    project: &Project,
    environment: &Environment,
    profile: Profile,
    only: Option<&Only<'_>>,
) -> anyhow::Result<Tree> {
    let (levels, wrong) = Levels::new(profile, &project.config);
    if !wrong.is_empty() {
        return Err(refuse(context, &wrong));
    }
    let rules = Rules { levels: &levels, environment: &environment.name, measure: client::body::request_bytes_over };
    // A narrowed run reads a few folders; the cache holds all.
    let cache = if only.is_none() { cache(context, project, environment, profile) } else { None };
    let read = AtomicUsize::new(0);
    let walk = project.walk(environment, only, cache, |folder| {
        read.fetch_add(1, Ordering::Relaxed);
        Box::new(check::folder(folder, &rules))
    });
    let (read, all) = (read.into_inner(), walk.folders.len());
    context
        .terminal
        .detail(format_args!("{read} of {all} templates read, the others are as they were in the run before"));
    Ok(check::tree(walk, &levels))
}

/// The stat cache of a project for one environment and profile; nothing with `--no-cache`, or where this program cannot tell which one it is.
fn cache(context: &Context, project: &Project, environment: &Environment, profile: Profile) -> Option<Cache> {
    if context.global.no_cache {
        return None;
    }
    // Another build may have other rules, whatever its version says.
    let program = std::env::current_exe().and_then(|path| path.metadata()).ok()?;
    let purpose = format!("{profile:?} {}", environment.name);
    let mut key = Hasher::default();
    key.part(env!("CARGO_PKG_VERSION").as_bytes());
    for number in [program.ino(), program.len(), program.mtime().cast_unsigned(), program.mtime_nsec().cast_unsigned()]
    {
        key.part(&number.to_le_bytes());
    }
    key.part(project.digest.bytes());
    key.part(purpose.as_bytes());
    Some(Cache::open(&project.root, &purpose, key.digest()))
}

/// Reads and checks every template for a command that needs all of them good: prints the findings on stderr, warnings included.
///
/// # Errors
///
/// Exit 3 when a finding is an error.
pub fn require(context: &Context, project: &Project, environment: &Environment) -> anyhow::Result<Checked> {
    let tree = good(context, project, environment)?;
    // Maps that are made out of sorted lists are made in one go.
    let (mut folders, mut rows) = (Vec::with_capacity(tree.verdicts.len()), Vec::with_capacity(tree.verdicts.len()));
    for (key, verdict) in tree.verdicts {
        rows.extend(verdict.row.map(|row| (key.clone(), row)));
        folders.push(key);
    }
    let desired = Desired { templates: rows.into_iter().collect() };
    Ok(Checked { desired, folders: folders.into_iter().collect() })
}

/// The same as it came out of the checks.
///
/// # Errors
///
/// Exit 3 when a finding is an error.
pub fn good(context: &Context, project: &Project, environment: &Environment) -> anyhow::Result<Tree> {
    let tree = check(context, project, environment, Profile::Default, None)?;
    if tree.errors() > 0 {
        return Err(refuse(context, &tree.findings));
    }
    for finding in &tree.findings {
        context.terminal.detail(concise::line(finding));
    }
    Ok(tree)
}

/// Reads one template in full, to send it. The caller compares its digest with the row's: the file may have changed since.
///
/// # Errors
///
/// Exit 3 when the folder is gone or has errors now.
pub fn template(project: &Project, environment: &Environment, key: &Key) -> anyhow::Result<Template> {
    let changed = |what: &str| Failure::new(Exit::Findings, format!("template `{key}` {what}"));
    let folder = project.folder(environment, key).map_err(|error| changed(&format!("cannot be read: {error}")))?;
    let mut folder = folder.ok_or_else(|| changed("is gone"))?;
    let broken = |severity: Option<Severity>| severity.is_none_or(|severity| severity == Severity::Error);
    if !folder.parsed || folder.problems.iter().any(|problem| broken(problem.severity)) {
        return Err(changed("has errors now").help("run `letterpress validate`").into());
    }
    Ok(folder.take_template())
}

/// Prints findings that end the run, and makes the failure that says so.
fn refuse(context: &Context, findings: &[Diagnostic]) -> anyhow::Error {
    context.terminal.report(|out| super::report::snippets::write(out, findings));
    Failure::new(Exit::Findings, summary::sentence(findings)).into()
}

/// A path of the command line as one below the project's root, parts joined by `/`; nothing when it is elsewhere.
#[must_use]
pub fn below(project: &Project, cwd: &Path, path: &Path) -> Option<String> {
    let mut parts = Vec::new();
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    for part in cwd.join(path).components() {
        match part {
            std::path::Component::ParentDir => {
                parts.pop();
            }
            std::path::Component::CurDir => {}
            other => parts.push(other.as_os_str().to_owned()),
        }
    }
    let whole: std::path::PathBuf = parts.iter().collect();
    if let Ok(below) = whole.strip_prefix(&project.root) {
        return below.to_str().map(str::to_owned);
    }
    // The way to the project may lead over a link, and the end of the path may be gone.
    let (there, real) = whole.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)))?;
    let real = real.join(whole.strip_prefix(there).ok()?);
    real.strip_prefix(&project.root).ok()?.to_str().map(str::to_owned)
}
