//! The connection that a command works with: the right address, the right key, the right account, or none at all (safety P12).

use std::path::Path;

use super::{Context, Exit, Failure, environment};
use crate::client::retry::{self, Budget, Operation};
use crate::client::{BaseUrl, Client, ClientError, Options, SendError, SystemInfo, Timeouts};
use crate::sandbox;
use crate::source::{self, Environment, Project};
use crate::state::Account;
use crate::untrusted::Untrusted;

/// Where the built-in service of a project keeps its data, below the project's root.
pub const SANDBOX_DATABASE: &str = ".letterpress/sandbox.sqlite";

/// A client whose key was accepted, and whose account is the configured one.
#[derive(Debug)]
pub struct Service {
    /// The client.
    pub client: Client,
    /// What a state is bound to.
    pub account: Account,
    /// Who the key belongs to.
    pub info: SystemInfo,
    /// The requests of this run, and how many of them were sent again.
    pub budget: Budget,
    sandbox: Option<sandbox::Running>,
}

/// A client that has not sent anything yet.
#[derive(Debug)]
pub struct Connection {
    /// The client.
    pub client: Client,
    /// The base address as a state keeps it: `sandbox` for the built-in service.
    pub base_url: String,
    sandbox: Option<sandbox::Running>,
}

/// Connects to the service of an environment and asks who the key belongs to: one request.
///
/// # Errors
///
/// Exit 7: no key, a refused key, or a key of another project than letterpress.toml asks for. Exit 1: the service cannot be reached or does not answer as one.
pub async fn connect(context: &Context, project: &Project, environment: &Environment) -> anyhow::Result<Service> {
    let Connection { client, base_url, sandbox } = open(context, &project.root, environment).await?;
    let budget = Budget::default();
    let tried = retry::run(Operation::Read, &budget, chance, || client.system_info()).await;
    let info = tried.result.map_err(|error| failure(error, environment))?;
    right_project(environment, info.project_id.as_deref())?;
    let account = Account { base_url, user_id: info.user_id, project_id: info.project_id.clone() };
    Ok(Service { client, account, info, budget, sandbox })
}

/// Makes the client of an environment, and starts the built-in service where that is what it names. Sends nothing.
///
/// # Errors
///
/// Exit 7 without a usable key; exit 1 when the built-in service does not start.
pub async fn open(context: &Context, root: &Path, environment: &Environment) -> anyhow::Result<Connection> {
    let (address, api_key, sandbox) = match &environment.base_url {
        source::BaseUrl::Sandbox => {
            let database = Some(root.join(SANDBOX_DATABASE));
            let running = sandbox::start(sandbox::Options { database, ..sandbox::Options::default() })
                .await
                .map_err(|error| anyhow::Error::new(error).context("the built-in service does not start"))?;
            context.terminal.detail(format_args!("the built-in service listens on {}", running.base_url()));
            (running.base_url(), running.project_key.clone().into(), Some(running))
        }
        source::BaseUrl::Url(address) => (address.clone(), environment::api_key(root, environment)?, None),
    };
    let base_url = BaseUrl::new(&address).map_err(|error| {
        Failure::new(Exit::Failed, format!("`base_url` of the environment `{}`: {error}", environment.name))
    })?;
    let bound = if sandbox.is_some() { "sandbox".to_owned() } else { base_url.identity() };
    let client = Client::new(Options { base_url, api_key, timeouts: Timeouts::default() }).map_err(|error| {
        let exit = if matches!(error, ClientError::Key) { Exit::Key } else { Exit::Failed };
        let from = environment::api_key_source(environment);
        Failure::new(exit, error.to_string()).help(format!("the key comes from {from}"))
    })?;
    Ok(Connection { client, base_url: bound, sandbox })
}

impl Service {
    /// Where the service is, for people: `sandbox` for the built-in one.
    #[must_use]
    pub fn address(&self) -> &str {
        if self.sandbox.is_some() { "sandbox" } else { self.client.base_url().as_str() }
    }

    /// Refuses a key of another account than a state is bound to (safety P12).
    ///
    /// # Errors
    ///
    /// Exit 7, naming both accounts.
    pub fn belongs_to(&self, bound: &Account) -> Result<(), Failure> {
        same_account(&self.account, bound)
    }

    /// Ends the built-in service, where it runs, after its last write.
    pub async fn close(self) {
        if let Some(sandbox) = self.sandbox {
            sandbox.stop().await;
        }
    }
}

impl Connection {
    /// Ends the built-in service, where it runs.
    pub async fn close(self) {
        if let Some(sandbox) = self.sandbox {
            sandbox.stop().await;
        }
    }
}

/// Refuses a key of another account than a state is bound to (safety P12).
///
/// # Errors
///
/// Exit 7, naming both accounts.
pub fn same_account(has: &Account, bound: &Account) -> Result<(), Failure> {
    if has == bound {
        return Ok(());
    }
    let (has, wants) = (describe(has), describe(bound));
    Err(Failure::new(Exit::Key, format!("the state belongs to {wants}, and the API key to {has}"))
        .help("nothing was sent; use the key of that account, or another environment with a state of its own"))
}

/// An account in words.
#[must_use]
pub fn describe(account: &Account) -> String {
    let url = Untrusted(&account.base_url).line();
    let user = account.user_id;
    match &account.project_id {
        Some(project) => format!("project {} of user {user} at {url}", Untrusted(project).line()),
        None => format!("user {user} at {url}"),
    }
}

/// Refuses a key that does not belong to the `project_id` of letterpress.toml.
///
/// # Errors
///
/// Exit 7, naming both projects.
pub fn right_project(environment: &Environment, has: Option<&str>) -> Result<(), Failure> {
    let Some(wants) = &environment.project_id else { return Ok(()) };
    if has == Some(wants) {
        return Ok(());
    }
    let has = has.map_or_else(|| "no project (it is an account key)".to_owned(), |id| format!("project `{id}`"));
    let name = &environment.name;
    Err(Failure::new(
        Exit::Key,
        format!("the API key belongs to {has}, and the environment `{name}` to project `{wants}`"),
    )
    .help(format!(
        "nothing was sent; the key comes from {}, the project from `environments.{name}.project_id`",
        environment::api_key_source(environment)
    )))
}

/// A request that failed for good, as the end of a command.
#[must_use]
pub fn failure(error: SendError, environment: &Environment) -> Failure {
    let name = &environment.name;
    let message = error.to_string();
    match error {
        SendError::Denied { .. } => Failure::new(Exit::Key, message)
            .help(format!("the key comes from {}", environment::api_key_source(environment))),
        SendError::Redirected { .. } => Failure::new(Exit::Failed, message).help(format!(
            "redirects are never followed, since the key would go along; mend `environments.{name}.base_url`"
        )),
        SendError::NotSent { .. } => Failure::new(Exit::Failed, message).help(format!(
            "check the network and `environments.{name}.base_url`; `letterpress doctor -e {name}` looks into it"
        )),
        SendError::Unknown { .. } => Failure::new(Exit::Failed, message)
            .help(format!("run it again; `letterpress doctor -e {name}` looks into it")),
        SendError::Throttled { retry_after } => {
            let wait = retry_after.map_or(String::new(), |wait| format!(" in {} s", wait.as_secs()));
            Failure::new(Exit::Failed, message).help(format!("run it again{wait}"))
        }
        SendError::Refused { .. } | SendError::File { .. } | SendError::WrongId { .. } => {
            Failure::new(Exit::Failed, message)
        }
    }
}

/// A number from 0 to 1 that spreads clients apart.
#[must_use]
pub fn chance() -> f64 {
    let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
    f64::from(u32::try_from(high >> 32).unwrap_or(0)) / f64::from(u32::MAX)
}
