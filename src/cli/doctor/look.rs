//! The checks, in the order in which an apply needs what they look at.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use tokio::time::Instant;

use super::Line;
use crate::cli::service::{self, Connection};
use crate::cli::{Context, Exit, Failure, checked, environment, place};
use crate::client::retry::{self, Budget, Operation};
use crate::client::{Probe, SendError, SystemInfo};
use crate::diagnostic::Profile;
use crate::limits;
use crate::source::{BaseUrl, Environment, Project};
use crate::state::{self, Account, Location, Register, State};
use crate::untrusted::Untrusted;

/// A clock that is off by more is worth a look. Safety does not rest on clocks; dates in reports and `--from 7d` do.
const SKEW: Duration = Duration::from_secs(30);

/// Free templates below which a warning is due.
const FEW: usize = 500;

/// Looks at everything.
pub(super) async fn look(
    context: &Context,
    project: &Project,
    environment: &Environment,
    now: Timestamp,
) -> anyhow::Result<Vec<Line>> {
    let mut lines = vec![config(environment), templates(context, project, environment)];
    lines.extend(key(project, environment));
    lines.push(proxy(environment));
    let account = match service::open(context, &project.root, environment).await {
        Ok(connection) => {
            let account = ask(&connection, environment, now, &mut lines).await;
            connection.close().await;
            account
        }
        Err(error) => {
            // Without a key the line about the key says it all.
            if environment.base_url == BaseUrl::Sandbox {
                lines.push(Line::fail("service", &error));
            } else {
                lines.push(Line::skip("service", "not asked: there is no usable key"));
            }
            None
        }
    };
    lines.extend(kept(project, environment, account.as_ref()).await);
    Ok(lines)
}

fn config(environment: &Environment) -> Line {
    let at = match &environment.base_url {
        BaseUrl::Sandbox => "the built-in service".to_owned(),
        BaseUrl::Url(url) => Untrusted(url).line().to_string(),
    };
    Line::pass("config", format!("letterpress.toml is good; `{}` is {at}", environment.name))
}

fn templates(context: &Context, project: &Project, environment: &Environment) -> Line {
    match checked::check(context, project, environment, Profile::Default, None) {
        Ok(checked) if checked.errors() > 0 => {
            let message = format!("findings that are errors: {}", checked.errors());
            let failure = Failure::new(Exit::Findings, message).help("`letterpress validate` shows them");
            Line::fail("templates", &failure.into())
        }
        Ok(checked) => Line::pass("templates", format!("{} without errors", checked.verdicts.len())),
        Err(error) => Line::fail("templates", &error),
    }
}

fn key(project: &Project, environment: &Environment) -> Vec<Line> {
    if environment.base_url == BaseUrl::Sandbox {
        return vec![Line::pass("key", "the built-in service brings its own")];
    }
    let from = environment::api_key_source(environment);
    let mut lines = match environment::api_key(&project.root, environment) {
        Ok(_) => vec![Line::pass("key", format!("from {from}"))],
        Err(failure) => return vec![Line::fail("key", &failure.into())],
    };
    if let Some(file) = environment.api_key_file.as_ref().filter(|file| others_can_read(&project.root.join(file))) {
        let path = file.display();
        lines.push(Line::warn("key", format!("others on this machine can read {path}"), format!("chmod 600 {path}")));
    }
    lines
}

#[cfg(unix)]
fn others_can_read(path: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn others_can_read(_path: &std::path::Path) -> bool {
    false
}

fn proxy(environment: &Environment) -> Line {
    let local = match &environment.base_url {
        BaseUrl::Sandbox => true,
        BaseUrl::Url(url) => crate::client::BaseUrl::new(url).is_ok_and(|url| url.is_loopback()),
    };
    let set = environment::proxies();
    let names: Vec<String> = set.iter().map(|(name, value)| format!("{name}={}", Untrusted(value).line())).collect();
    if names.is_empty() {
        Line::pass("proxy", "none is set")
    } else if local {
        Line::pass("proxy", format!("not used for this machine ({})", names.join(", ")))
    } else {
        Line::pass("proxy", format!("the environment decides: {}", names.join(", ")))
    }
}

/// One request: whether the service answers, whose the key is, and what time it is there.
async fn ask(
    connection: &Connection,
    environment: &Environment,
    now: Timestamp,
    lines: &mut Vec<Line>,
) -> Option<Account> {
    let started = Instant::now();
    let client = &connection.client;
    let tried = retry::run(Operation::Read, &Budget::default(), service::chance, || client.probe()).await;
    let Probe { info, date, version } = match tried.result {
        Ok(probe) => probe,
        Err(error) => {
            let failure = match error {
                SendError::NotSent { .. } | SendError::Unknown { .. } => Failure::new(Exit::Failed, error.to_string())
                    .help(format!("look at the network, the proxy and `environments.{}.base_url`", environment.name)),
                error => service::failure(error, environment),
            };
            lines.push(Line::fail("service", &failure.into()));
            return None;
        }
    };
    let took = started.elapsed();
    lines.push(Line::pass("service", format!("answers over {version} in {} ms", took.as_millis())));
    lines.push(whose(&info));
    lines.push(match (service::right_project(environment, info.project_id.as_deref()), &environment.project_id) {
        (Err(failure), _) => Line::fail("project", &failure.into()),
        (Ok(()), Some(_)) => Line::pass("project", "the key's project is the one in letterpress.toml"),
        (Ok(()), None) => match &info.project_id {
            Some(id) if environment.base_url != BaseUrl::Sandbox => Line::warn(
                "project",
                "letterpress.toml does not say which project the key must belong to",
                format!("project_id = \"{id}\" in [environments.{}] refuses any other", environment.name),
            ),
            _ => Line::pass("project", "letterpress.toml asks for none"),
        },
    });
    lines.push(clock(date, now, took));
    Some(Account { base_url: connection.base_url.clone(), user_id: info.user_id, project_id: info.project_id })
}

fn whose(info: &SystemInfo) -> Line {
    let email = Untrusted(&info.email).line();
    let project = match (&info.project_name, &info.project_id) {
        (Some(name), _) | (None, Some(name)) => format!("project {}", Untrusted(name).line()),
        (None, None) => "the whole account".to_owned(),
    };
    Line::pass("account", format!("the key is one of {email} (user {}), for {project}", info.user_id))
}

fn clock(date: Option<SystemTime>, now: Timestamp, took: Duration) -> Line {
    let there = date.and_then(|date| Timestamp::try_from(date).ok());
    let Some(there) = there else { return Line::skip("clock", "the service's answer has no date") };
    let off = now.duration_since(there).unsigned_abs();
    if off <= SKEW + took {
        return Line::pass("clock", "as the service's");
    }
    let direction = if now > there { "ahead of" } else { "behind" };
    Line::warn(
        "clock",
        format!("this machine is {} s {direction} the service", off.as_secs()),
        "set the clock; nothing is lost by it, but dates in reports and in `--from 7d` are wrong",
    )
}

async fn kept(project: &Project, environment: &Environment, account: Option<&Account>) -> Vec<Line> {
    let location = match place::location(project, environment) {
        Ok(location) => location,
        Err(failure) => return vec![Line::fail("state", &failure.into())],
    };
    let mut lines = store(&location).await;
    let state = match state::read(&location).await {
        Ok(state) => state,
        Err(state::Error::Missing { .. }) if environment.base_url == BaseUrl::Sandbox => {
            lines.push(Line::pass("state", "none yet: the first apply makes it"));
            return lines;
        }
        Err(error) => {
            lines.push(Line::fail("state", &place::failure(error).into()));
            return lines;
        }
    };
    lines.extend(objects(&location, &state).await);
    if let Some(account) = account {
        lines.push(match service::same_account(account, &state.account) {
            Ok(()) => Line::pass("state account", "the state is bound to this account"),
            Err(failure) => Line::fail("state account", &failure.into()),
        });
    }
    lines
}

/// A bucket proves that exactly one of many racing writers wins, with an object of its own that is deleted again (safety §1.6). A folder's lock
/// is the kernel's, and is proven by being taken: not here, where it would stand in the way of an apply.
async fn store(location: &Location) -> Vec<Line> {
    if matches!(location, Location::Folder(_)) {
        return Vec::new();
    }
    let probe = format!("probe-{}", uuid::Uuid::new_v4());
    let register = match Register::open(location) {
        Ok(register) => register,
        Err(error) => return vec![Line::fail("store", &place::failure(error).into())],
    };
    let from = Untrusted(register.credentials().unwrap_or_default()).line().to_string();
    let mut lines = vec![Line::pass("credentials", from)];
    lines.push(match register.prove(&probe).await {
        Ok(()) => Line::pass("store", "of many writers that race for one object, exactly one wins"),
        Err(error) => Line::fail("store", &place::failure(error).into()),
    });
    lines
}

async fn objects(location: &Location, state: &State) -> Vec<Line> {
    let mut lines = Vec::new();
    match state::verify(location).await {
        Ok(checks) => {
            for found in checks {
                match found.verdict {
                    state::Verdict::Good(_) => {}
                    state::Verdict::Note(note) => {
                        lines.push(Line::warn(
                            "state",
                            format!("{}: {note}", found.what),
                            "`letterpress state verify` shows all",
                        ));
                    }
                    state::Verdict::Bad(bad) => {
                        let message = format!("{}: {bad}", found.what);
                        let failure = Failure::new(Exit::Unusable, message);
                        lines.push(Line::fail(
                            "state",
                            &failure.help("`letterpress state restore` goes back to a snapshot").into(),
                        ));
                    }
                }
            }
        }
        Err(error) => lines.push(Line::fail("state", &place::failure(error).into())),
    }
    if lines.is_empty() {
        let (used, allowed) = (state.templates_used(), limits::TEMPLATES);
        let message = format!("{location}, serial {}, {used} of {allowed} templates", state.serial);
        lines.push(Line::pass("state", message));
    }
    let free = limits::TEMPLATES.saturating_sub(state.templates_used());
    if free < FEW {
        lines.push(Line::warn(
            "state",
            format!("{free} more templates can be created"),
            "the service allows 10,000 and deletes none",
        ));
    }
    match state::holder(location).await {
        Ok(Some(holder)) => {
            let who = Untrusted(&holder.who).line();
            let mend = "wait for it; a run that died is taken over by the next apply";
            lines.push(Line::warn("state", format!("held by {who}"), mend));
        }
        Ok(None) => {}
        Err(error) => lines.push(Line::fail("state", &place::failure(error).into())),
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::Verdict;

    #[test]
    fn a_clock_that_is_off_is_a_warning_either_way() {
        let there = Timestamp::from_second(1_800_000_000).unwrap();
        let look = |seconds: i64| {
            let now = Timestamp::from_second(there.as_second() + seconds).unwrap();
            clock(Some(there.into()), now, Duration::from_secs(1))
        };
        assert_eq!(look(31).verdict, Verdict::Pass);
        assert_eq!(look(32).message, "this machine is 32 s ahead of the service");
        assert_eq!(look(-300).message, "this machine is 300 s behind the service");
        assert_eq!(clock(None, there, Duration::ZERO).verdict, Verdict::Skip);
    }
}
