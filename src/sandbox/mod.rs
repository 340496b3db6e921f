//! The built-in service: the whole interface, with checks of its own.
//!
//! It is an independent judge of what letterpress sends: of the rest of the program it knows only [`crate::wire`] and
//! [`crate::limits`]. A request goes through these rooms:
//!
//! ```text
//! serve ──▶ exchange ──▶ gate (may it speak?) ──▶ json, fields, operation (is it well-formed?) ──▶ store (one
//!  HTTP      one request    refusal: the table of every no                                          transaction)
//! ```

mod accounts;
mod address;
mod clock;
mod exchange;
mod fault;
mod fields;
mod gate;
mod json;
mod log;
mod mailer;
mod misbehave;
mod openapi;
mod operation;
mod page;
mod refusal;
mod seed;
mod serve;
mod service;
mod store;
mod subscribe;
mod suppression;
mod template;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};

pub use accounts::ApiKey;
pub use clock::Clock;
pub use fault::{Faults, FaultsError};
pub use page::disarmed;
pub use seed::{Seed, SeedError};
pub use service::Quotas;

use service::Service;
use store::Store;

/// `status` of a success (`interface §1`).
const SUCCESS: &str = "Success";
/// `status` of a failure.
const ERROR: &str = "Error";
/// `template_creator`; the interface shows no value, this one is ours.
const OUR_CREATOR: &str = "api";

/// How to run the service.
#[derive(Debug)]
pub struct Options {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The database file, made where it does not exist; `None` keeps everything in memory.
    pub database: Option<PathBuf>,
    /// A key for the first project, in place of the one that was made for it.
    pub api_key: Option<String>,
    /// More accounts and projects: an address, and a project name in that account.
    pub projects: Vec<(String, String)>,
    /// More host names under which the service answers.
    pub allowed_hosts: Vec<String>,
    /// Data to begin with.
    pub seed: Option<Seed>,
    /// Host and port of an SMTP server that gets the mails, besides the outbox.
    pub smtp: Option<(String, u16)>,
    /// Refuse fields that the interface does not name, instead of ignoring them.
    pub strict: bool,
    /// What goes wrong on purpose.
    pub faults: Faults,
    /// What time it is.
    pub clock: Clock,
    /// Numbers that the interface leaves open, or that a test wants smaller.
    pub quotas: Quotas,
    /// How long the head of a request may take, and then its body.
    pub patience: Duration,
}

impl Default for Options {
    /// On a free port of the loopback interface, in memory, without faults.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            database: None,
            api_key: None,
            projects: Vec::new(),
            allowed_hosts: Vec::new(),
            seed: None,
            smtp: None,
            strict: false,
            faults: Faults::default(),
            clock: Clock::default(),
            quotas: Quotas::default(),
            patience: Duration::from_secs(60),
        }
    }
}

/// Why the service did not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is not free, or not of this machine.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The folder of the database cannot be made.
    #[error("cannot make the folder {}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The database cannot be opened or made.
    #[error("cannot use the database {}", path.as_ref().map_or_else(|| "in memory".into(), |path| path.display().to_string()))]
    Database {
        /// The file.
        path: Option<PathBuf>,
        /// Why.
        source: rusqlite::Error,
    },
    /// The accounts cannot be read or made.
    #[error("cannot set up the accounts")]
    Accounts(#[source] store::Failed),
    /// No thread for the database.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
}

/// A service that runs.
#[derive(Debug)]
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    /// A key of the first project.
    pub project_key: String,
    /// The key of the first account.
    pub account_key: String,
    /// Every key there is.
    pub keys: Vec<ApiKey>,
    stop: watch::Sender<bool>,
    server: tokio::task::JoinHandle<()>,
    database: JoinHandle<()>,
}

impl Running {
    /// The address to send requests to.
    #[must_use]
    pub fn base_url(&self) -> String {
        base_url(self.address)
    }

    /// Ends open requests within a few seconds, and closes the database.
    pub async fn stop(self) {
        let _ = self.stop.send(true);
        let _ = self.server.await;
        let database = self.database;
        let _ = tokio::task::spawn_blocking(move || database.join()).await;
    }
}

/// An address to reach a listener at: where it listens everywhere, that is this machine.
fn base_url(address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        format!("http://127.0.0.1:{}", address.port())
    } else {
        format!("http://{address}")
    }
}

/// Starts the service in this process, on the current tokio runtime.
///
/// # Errors
///
/// When the address or the database cannot be used.
pub async fn start(options: Options) -> Result<Running, Error> {
    if let Some(folder) = options.database.as_ref().and_then(|path| path.parent()) {
        std::fs::create_dir_all(folder).map_err(|source| Error::Folder { path: folder.to_owned(), source })?;
    }
    let (store, database) = Store::open(options.database.as_ref())?;
    let now = options.clock.now();
    let keys = set_up(&store, now, options.api_key, options.projects, options.seed).await.map_err(Error::Accounts)?;
    let key = |is_project: bool| keys.iter().find(|key| key.project.is_some() == is_project).map(|key| key.key.clone());

    let listening = |source| Error::Listen { address: options.listen, source };
    let listener = TcpListener::bind(options.listen).await.map_err(listening)?;
    let address = listener.local_addr().map_err(listening)?;
    let (stop, stopped) = watch::channel(false);
    let service = Arc::new(Service {
        store,
        gate: gate::Gate::new(address, options.allowed_hosts),
        clock: options.clock,
        faults: options.faults,
        strict: options.strict,
        quotas: options.quotas,
        base_url: base_url(address),
        delivery: if options.smtp.is_some() { mailer::WAITING } else { "outbox" },
        outbox: Notify::new(),
        patience: options.patience,
        stop: stopped,
    });
    if let Some((host, port)) = options.smtp {
        tokio::spawn(mailer::run(service.clone(), host, port));
    }
    let server = tokio::spawn(serve::serve(listener, serve::router(service.clone()), service));
    Ok(Running {
        address,
        project_key: key(true).unwrap_or_default(),
        account_key: key(false).unwrap_or_default(),
        keys,
        stop,
        server,
        database,
    })
}

/// Makes what is missing; ids and keys that exist stay as they are.
async fn set_up(
    store: &Store,
    now: jiff::Timestamp,
    api_key: Option<String>,
    projects: Vec<(String, String)>,
    seed: Option<Seed>,
) -> Result<Vec<ApiKey>, store::Failed> {
    store
        .run(move |connection| {
            let first = accounts::ensure_account(connection, accounts::FIRST_ACCOUNT)?;
            let project = accounts::ensure_project(connection, first, accounts::FIRST_PROJECT)?;
            if let Some(key) = &api_key {
                accounts::set_key(connection, key, first, &project)?;
            }
            if let Some(seed) = seed {
                let owner = accounts::Caller { user_id: first, project_id: Some(project) };
                seed.plant(connection, &owner, now)?;
            }
            for (email, name) in &projects {
                let user_id = accounts::ensure_account(connection, email)?;
                accounts::ensure_project(connection, user_id, name)?;
            }
            accounts::keys(connection)
        })
        .await
}
