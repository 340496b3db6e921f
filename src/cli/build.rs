//! `build`: the exact request bodies, as an apply would send them.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;

use super::report::eml;
use super::{Context, Exit, Failure, checked};
use crate::client::body;
use crate::desired::{Key, Template};

/// Write the exact request bodies that an apply would send
///
/// Without keys: all templates. To stdout one JSON value a line, or with `--out` one file for each template.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only these templates
    #[arg(value_name = "KEY")]
    keys: Vec<Key>,
    /// Write one file for each template into this folder: `KEY.json` or `KEY.eml`
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The form
    #[arg(long, value_enum, default_value = "json", env = "LETTERPRESS_BUILD_FORMAT")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// The body of `/template/create`
    Json,
    /// A mail that a mail client opens; with several templates it needs `--out`
    Eml,
}

/// Runs the command.
///
/// # Errors
///
/// Findings in the files, a key without a folder, or a folder that cannot be written.
pub fn run(context: &Context, args: &Args) -> anyhow::Result<Exit> {
    let project = checked::project(context)?;
    let environment = checked::environment(context, &project)?;
    let found = checked::require(context, &project, environment)?;
    if let Some(key) = args.keys.iter().find(|key| !found.folders.contains(key)) {
        return Err(unknown(key, found.folders.iter()).into());
    }
    let all = args.keys.is_empty();
    let keys: Vec<&Key> = found.folders.iter().filter(|key| all || args.keys.contains(key)).collect();
    if args.format == Format::Eml && args.out.is_none() && keys.len() > 1 {
        let help = "name one key, or a folder with `--out DIR`";
        return Err(Failure::new(Exit::Usage, "several mails do not fit into one stream").help(help).into());
    }
    for key in keys {
        let template = checked::template(&project, environment, key)?;
        match &args.out {
            Some(folder) => write(folder, &template, args.format)?,
            None if args.format == Format::Eml => {
                let mail = eml::render(&template)?;
                context.terminal.stream(|out| out.write_all(&mail))?;
            }
            None => context.terminal.stream(|out| {
                body::write(&template, None, out)?;
                out.write_all(b"\n")
            })?,
        }
    }
    Ok(Exit::Done)
}

fn write(folder: &std::path::Path, template: &Template, format: Format) -> anyhow::Result<()> {
    let (ending, mail) = match format {
        Format::Json => ("json", None),
        Format::Eml => ("eml", Some(eml::render(template)?)),
    };
    let path = folder.join(format!("{}.{ending}", template.key));
    let save = || -> io::Result<()> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut out = io::BufWriter::new(fs::File::create(&path)?);
        match &mail {
            Some(mail) => out.write_all(mail)?,
            None => body::write(template, None, &mut out)?,
        }
        out.flush()
    };
    save().with_context(|| format!("{} cannot be written", path.display()))
}

/// A key that no folder has, with the nearest one that is there.
fn unknown<'a>(key: &Key, known: impl Iterator<Item = &'a Key>) -> Failure {
    let near = known.map(|other| (strsim::jaro_winkler(key.as_str(), other.as_str()), other));
    let near = near.filter(|(score, _)| *score > 0.8).max_by(|a, b| a.0.total_cmp(&b.0));
    let failure = Failure::new(Exit::Usage, format!("there is no template `{key}`"));
    match near {
        Some((_, other)) => failure.help(format!("did you mean `{other}`?")),
        None => failure.help("`letterpress validate` lists what is there"),
    }
}
