//! Where an environment keeps its state, who this run is, and what a failing state means for the exit code.

use crate::source::{BaseUrl, Environment, Project};
use crate::state::{self, Account, Kind, Location, State};

use super::{Exit, Failure};

/// Where the state of an environment is: as configured, else `.letterpress/state/<environment>` below the project.
///
/// # Errors
///
/// Exit 3 when letterpress.toml names no place.
pub fn location(project: &Project, environment: &Environment) -> Result<Location, Failure> {
    let default = || format!("file:.letterpress/state/{}", environment.name);
    let text = environment.state.clone().unwrap_or_else(default);
    Location::parse(&text, &project.root).map_err(|error| {
        Failure::new(Exit::Findings, format!("letterpress.toml: `environments.{}.state`: {error}", environment.name))
    })
}

/// Reads the state of an environment without holding it. The built-in service needs no `state init`: without a state, it is the empty one.
///
/// # Errors
///
/// See [`failure`].
pub async fn read(project: &Project, environment: &Environment) -> Result<State, Failure> {
    match state::read(&location(project, environment)?).await {
        Err(state::Error::Missing { .. }) if environment.base_url == BaseUrl::Sandbox => Ok(unborn()),
        other => other.map_err(failure),
    }
}

/// The state of a built-in service that was never used: its lineage is nil.
#[must_use]
pub fn unborn() -> State {
    let account = Account { base_url: "sandbox".to_owned(), user_id: 0, project_id: None };
    State::empty(uuid::Uuid::nil(), account)
}

/// A failing state as the end of a command: held 4, unusable 5, else 1.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub fn failure(error: state::Error) -> Failure {
    let exit = match error.kind() {
        Kind::Held => Exit::Held,
        Kind::Unusable => Exit::Unusable,
        Kind::Failed => Exit::Failed,
    };
    let failure = Failure::new(exit, error.to_string());
    match error.help() {
        Some(help) => failure.help(help),
        None => failure,
    }
}
