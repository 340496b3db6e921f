//! `state show`: the state as a whole, or one key.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Format, columns, held, list};
use crate::cli::report::plan_text::{ago, thousands};
use crate::cli::service::describe;
use crate::cli::{Context, Exit, Failure, place, runtime};
use crate::desired::Key;
use crate::limits;
use crate::state::{self, Holder, State};
use crate::untrusted::Untrusted;

/// Show where the state is, whose it is and who holds it; or all that it knows of one key
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A template's key
    key: Option<Key>,
    /// The form
    #[arg(long, value_name = "FORM", default_value = "text", env = "LETTERPRESS_FORMAT")]
    format: Format,
}

/// `state show --format json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "letterpress state show")]
pub(super) struct ShowJson {
    /// 1. Fields may be added within a format; none is removed or changes its meaning.
    format: u32,
    /// The environment's name.
    environment: String,
    /// Where the state is.
    place: String,
    /// Which state it is, from its birth on.
    lineage: String,
    /// The service's address, or `sandbox`.
    base_url: String,
    /// Whose templates these are.
    user_id: u64,
    /// For a project key.
    project_id: Option<String>,
    /// Grows with every write.
    serial: u64,
    /// Grows with every run that held it.
    epoch: u64,
    /// Who holds it now.
    holder: Option<String>,
    /// How many keys are in which state.
    keys: BTreeMap<&'static str, usize>,
    /// Templates of the service that the state accounts for, leaks included.
    used: usize,
    /// Placeholders that may exist without an owner.
    leaked: usize,
    /// When the last apply ended, RFC 3339.
    last_apply: Option<String>,
}

pub(super) fn run(context: &Context, args: &Args) -> anyhow::Result<Exit> {
    let (state, location, environment) = held::read(context)?;
    if let Some(key) = &args.key {
        return one(context, args.format, &state, key);
    }
    let holder = runtime::run(async { Ok(state::holder(&location).await.map_err(place::failure)?) })?;
    match args.format {
        Format::Json => {
            let json = json(&state, environment, location.to_string(), holder);
            context.terminal.json(&json)?;
        }
        Format::Text => context.terminal.data(text(&state, &environment, &location.to_string(), holder.as_ref())),
    }
    Ok(Exit::Done)
}

fn one(context: &Context, format: Format, state: &State, key: &Key) -> anyhow::Result<Exit> {
    let Some(record) = state.records.get(key) else {
        let help = "`letterpress state list` shows the keys that it knows";
        return Err(Failure::new(Exit::Failed, format!("the state knows no `{key}`")).help(help).into());
    };
    if format == Format::Json {
        context.terminal.json(&list::row(key.as_str(), record))?;
        return Ok(Exit::Done);
    }
    let mut rows = vec![
        vec!["key".to_owned(), Untrusted(key.as_str()).line().to_string()],
        vec!["state".to_owned(), record.entry.word().to_owned()],
    ];
    let mut row = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            rows.push(vec![name.to_owned(), value]);
        }
    };
    row("id", record.entry.id().map(ToString::to_string));
    row("content", record.entry.digest().map(|digest| digest.to_string()));
    row("applied", record.applied.map(held::moment));
    row("unsettled", record.unsettled.map(|lost| format!("{}, sent {}", lost.digest, held::moment(lost.at))));
    context.terminal.data(columns::render(&rows));
    Ok(Exit::Done)
}

fn counts(state: &State) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for record in state.records.values() {
        *counts.entry(record.entry.word()).or_default() += 1;
    }
    counts
}

fn json(state: &State, environment: String, place: String, holder: Option<Holder>) -> ShowJson {
    ShowJson {
        format: 1,
        environment,
        place,
        lineage: state.lineage.to_string(),
        base_url: state.account.base_url.clone(),
        user_id: state.account.user_id,
        project_id: state.account.project_id.clone(),
        serial: state.serial,
        epoch: state.epoch,
        holder: holder.map(|holder| holder.who),
        keys: counts(state),
        used: state.templates_used(),
        leaked: state.leaked.len(),
        last_apply: state.last_apply.as_ref().map(|stamp| stamp.at.to_string()),
    }
}

fn text(state: &State, environment: &str, place: &str, holder: Option<&Holder>) -> String {
    let keys: Vec<String> = counts(state).iter().map(|(word, count)| format!("{count} {word}")).collect();
    let last = state.last_apply.as_ref().map_or_else(
        || "never".to_owned(),
        |stamp| format!("{} by {}", ago(stamp.at, Timestamp::now()), Untrusted(&stamp.who).line()),
    );
    let rows = [
        ("environment", Untrusted(environment).line().to_string()),
        ("place", Untrusted(place).line().to_string()),
        ("account", describe(&state.account)),
        ("lineage", state.lineage.to_string()),
        ("serial", format!("{}, epoch {}", state.serial, state.epoch)),
        ("holder", holder.map_or_else(|| "nobody".to_owned(), |holder| Untrusted(&holder.who).line().to_string())),
        ("keys", if keys.is_empty() { "none".to_owned() } else { keys.join(", ") }),
        ("templates", format!("{} of {}", thousands(state.templates_used()), thousands(limits::TEMPLATES))),
        ("leaked", state.leaked.len().to_string()),
        ("last apply", last),
    ];
    columns::render(&rows.map(|(name, value)| vec![name.to_owned(), value]))
}
