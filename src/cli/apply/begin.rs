//! What an apply has before it talks to anybody: the files, checked, and the choice of what to apply.

use std::path::PathBuf;
use std::sync::Arc;

use super::Args;
use crate::cli::checked::{self, Checked};
use crate::cli::selection::Selection;
use crate::cli::{Context, Exit, Failure, promotion};
use crate::plan::PlanFile;
use crate::source::{Environment, Project};

/// See [`begin`].
#[derive(Debug)]
pub struct Begun {
    /// The project.
    pub project: Arc<Project>,
    /// The environment to apply to.
    pub environment: Environment,
    /// Its files, all of them good.
    pub found: Checked,
    /// What to work on.
    pub selection: Selection,
    /// The plan that was reviewed.
    pub file: Option<PlanFile>,
}

/// Reads everything, on a thread of its own: whoever does not want to wait for it any more lets it be.
///
/// # Errors
///
/// A wrong command line, an unusable plan file, files with errors.
pub async fn begin(context: &Context, args: &Args) -> anyhow::Result<Begun> {
    let (context, args) = (context.clone(), args.clone());
    let (done, begun) = tokio::sync::oneshot::channel();
    std::thread::Builder::new().name("begin".to_owned()).spawn(move || {
        // Nobody waits for it any more: nothing is lost.
        let _ = done.send(read(&context, &args));
    })?;
    begun.await?
}

fn read(context: &Context, args: &Args) -> anyhow::Result<Begun> {
    let selection = args.selection.read()?;
    let file = args.file.as_ref().map(read_file).transpose()?;
    let project = Arc::new(checked::project(context)?);
    let environment = match &file {
        Some(file) if context.global.environment.is_none() => checked::named(&project, Some(&file.plan().environment))?,
        _ => checked::environment(context, &project)?,
    };
    let environment = environment.clone();
    let selection = promotion::narrow(context, &project, &environment, args.from.as_deref(), selection)?;
    let found = checked::require(context, &project, &environment)?;
    Ok(Begun { project, environment, found, selection, file })
}

fn read_file(path: &PathBuf) -> Result<PlanFile, Failure> {
    let unusable = |why: String| {
        Failure::new(Exit::Unusable, format!("{}: {why}", path.display()))
            .help("make it again: letterpress plan --out FILE")
    };
    let bytes = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
    PlanFile::read(&bytes).map_err(|error| unusable(error.to_string()))
}
