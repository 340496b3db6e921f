//! `init` and `new`: files to begin with. Nothing that exists is ever overwritten.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::{Context, Exit, Failure, checked};
use crate::desired::Key;

/// A project that works: (path, content).
const PROJECT: [(&str, &str); 4] = [
    ("letterpress.toml", include_str!("project/letterpress.toml")),
    (".github/workflows/templates.yml", include_str!("project/github.yml")),
    (".pre-commit-config.yaml", include_str!("project/pre-commit.yaml")),
    (".gitignore", ".letterpress/\n"),
];

/// A template that passes every rule; `NAME` becomes its name.
const TEMPLATE: [(&str, &str); 3] = [
    ("manifest.yaml", include_str!("template/manifest.yaml")),
    ("body.html", include_str!("template/body.html")),
    ("body.txt", include_str!("template/body.txt")),
];

/// Write a project that works: letterpress.toml, one template, CI and pre-commit examples
#[derive(Debug, clap::Args)]
pub struct InitArgs {
    /// The folder; made where it is not there
    #[arg(default_value = ".")]
    dir: PathBuf,
}

/// Write a template folder that passes every rule
#[derive(Debug, clap::Args)]
pub struct NewArgs {
    /// The template's key: its folder's path below the templates folder, e.g. `billing/receipt`
    key: String,
}

/// Runs `init`.
///
/// # Errors
///
/// When the folder already is a project, or a file cannot be written.
pub fn init(context: &Context, args: &InitArgs) -> anyhow::Result<Exit> {
    let config = args.dir.join("letterpress.toml");
    if config.exists() {
        let help = "to add a template to it: letterpress new KEY";
        return Err(Failure::new(Exit::Failed, format!("{} is there already", config.display())).help(help).into());
    }
    for (path, content) in PROJECT {
        let path = args.dir.join(path);
        if path.exists() {
            context.terminal.say(format_args!("kept  {}", path.display()));
        } else {
            write(context, &path, content)?;
        }
    }
    template(context, &args.dir.join("templates/welcome"), "Welcome")?;
    context.terminal.say("\nnext: letterpress validate, then letterpress apply (on the built-in service)");
    Ok(Exit::Done)
}

/// Runs `new`.
///
/// # Errors
///
/// When the key cannot be one, its folder has a manifest, or a file cannot be written.
pub fn new(context: &Context, args: &NewArgs) -> anyhow::Result<Exit> {
    let key = Key::new(args.key.as_str())
        .map_err(|error| Failure::new(Exit::Usage, format!("`{}` cannot be a key: {error}", args.key)))?;
    let project = checked::project(context)?;
    let folder = project.root.join(&project.config.templates.value).join(key.as_str());
    if folder.join("manifest.yaml").exists() {
        return Err(Failure::new(Exit::Failed, format!("{} is a template already", folder.display())).into());
    }
    let last = key.as_str().rsplit('/').next().unwrap_or_default().replace(['-', '_'], " ");
    let mut name = last.chars();
    let name: String = name.next().into_iter().flat_map(char::to_uppercase).chain(name).collect();
    template(context, &folder, &name)?;
    context.terminal.say(format_args!("\nnext: letterpress validate {}", folder.display()));
    Ok(Exit::Done)
}

fn template(context: &Context, folder: &Path, name: &str) -> anyhow::Result<()> {
    for (file, content) in TEMPLATE {
        write(context, &folder.join(file), &content.replace("NAME", name))?;
    }
    Ok(())
}

fn write(context: &Context, path: &Path, content: &str) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    }
    let mut file = fs::File::create_new(path).with_context(|| format!("{} cannot be written", path.display()))?;
    file.write_all(content.as_bytes()).with_context(|| format!("{} cannot be written", path.display()))?;
    context.terminal.say(format_args!("wrote {}", path.display()));
    Ok(())
}
