//! `letterpress sandbox`: the built-in service by itself.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;

use super::{Context, Exit, Failure, browser};
use crate::sandbox::{self, ApiKey, Clock, Faults, Options, Quotas, Seed};
use crate::untrusted::Untrusted;

/// Run the built-in service by itself
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4525", env = "LETTERPRESS_SANDBOX_LISTEN")]
    listen: SocketAddr,
    /// The database file; without it everything is in memory and gone at the end
    #[arg(long, value_name = "FILE", env = "LETTERPRESS_SANDBOX_DB")]
    db: Option<PathBuf>,
    /// The key of the first project, instead of a random one
    #[arg(long, value_name = "KEY", env = "LETTERPRESS_SANDBOX_KEY", hide_env_values = true)]
    api_key: Option<String>,
    /// One more project, in the account with this address; may be given several times
    #[arg(long = "add-project", value_name = "EMAIL/NAME", value_parser = project)]
    projects: Vec<(String, String)>,
    /// One more host name to answer to; may be given several times
    #[arg(long = "allow-host", value_name = "NAME")]
    allowed_hosts: Vec<String>,
    /// Open its page in a browser
    #[arg(long)]
    open: bool,
    /// Refuse unknown fields instead of ignoring them
    #[arg(long)]
    strict: bool,
    /// Rules for what goes wrong on purpose (see docs/sandbox.md)
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,
    /// Suppressions and templates to begin with (see docs/sandbox.md)
    #[arg(long, value_name = "FILE")]
    seed: Option<PathBuf>,
    /// An SMTP server that gets the mails, besides the outbox
    #[arg(long, value_name = "HOST:PORT", value_parser = host_and_port)]
    smtp: Option<(String, u16)>,
    /// Seconds that the service's clock is ahead of this machine's, to try the day after
    #[arg(long, value_name = "SECONDS", default_value_t = 0, allow_negative_numbers = true)]
    clock_ahead: i64,
    /// Templates that an account may have
    #[arg(long, value_name = "N", default_value_t = Quotas::default().templates)]
    max_templates: i64,
    /// Suppressions that an account may delete on a day
    #[arg(long, value_name = "N", default_value_t = Quotas::default().deletes_per_day)]
    deletes_per_day: i64,
    /// Seconds that the head of a request may take, and then its body
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    patience: u64,
}

fn project(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((email, name)) if email.contains('@') && !name.trim().is_empty() => {
            Ok((email.to_owned(), name.to_owned()))
        }
        _ => Err("write an address, a slash and a name: `team@example.com/Shop`".to_owned()),
    }
}

fn host_and_port(text: &str) -> Result<(String, u16), String> {
    match text.rsplit_once(':').map(|(host, port)| (host, port.parse())) {
        Some((host, Ok(port))) if !host.is_empty() => Ok((host.to_owned(), port)),
        _ => Err("write a host, a colon and a port: `127.0.0.1:1025`".to_owned()),
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Serves until SIGINT or SIGTERM.
pub fn run(context: &Context, args: Args) -> anyhow::Result<Exit> {
    let faults = match &args.faults {
        None => Faults::default(),
        Some(path) => {
            Faults::parse(&read(path)?).with_context(|| format!("{} is not a usable faults file", path.display()))?
        }
    };
    let seed = match &args.seed {
        None => None,
        Some(path) => {
            Some(Seed::parse(&read(path)?).with_context(|| format!("{} is not a usable seed file", path.display()))?)
        }
    };
    let options = Options {
        listen: args.listen,
        database: args.db,
        api_key: args.api_key,
        projects: args.projects,
        allowed_hosts: args.allowed_hosts,
        seed,
        smtp: args.smtp,
        strict: args.strict,
        faults,
        clock: Clock { ahead: jiff::SignedDuration::from_secs(args.clock_ahead) },
        quotas: Quotas { templates: args.max_templates, deletes_per_day: args.deletes_per_day },
        patience: Duration::from_secs(args.patience),
    };
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(serve(context, options, args.open))
}

async fn serve(context: &Context, options: Options, open: bool) -> anyhow::Result<Exit> {
    let listen = options.listen;
    if !listen.ip().is_loopback() {
        context.terminal.warn(format_args!(
            "listening on {listen}: everybody who reaches this machine can read what is in the sandbox"
        ));
    }
    let mut ending = Ending::new().context("cannot watch for signals")?;
    let running = sandbox::start(options).await.map_err(|error| {
        let help = match &error {
            sandbox::Error::Listen { .. } => {
                Some("another process may use the port: `--listen 127.0.0.1:0` takes a free one")
            }
            sandbox::Error::Database { .. } => {
                Some("the file must be a database that the sandbox made, in a folder that you may write to")
            }
            _ => None,
        };
        let failure = Failure { exit: Exit::Failed, message: error.to_string(), help: help.map(str::to_owned) };
        match std::error::Error::source(&error) {
            Some(source) => anyhow::anyhow!("{source}").context(failure),
            None => failure.into(),
        }
    })?;
    let lines: String = running.keys.iter().map(describe).collect();
    context.terminal.data(format_args!("listening on {}\n{lines}", running.base_url()));
    if open && let Err(error) = browser::open(&running.base_url()) {
        context.terminal.warn(format_args!("cannot open a browser ({error}); the page is at {}", running.base_url()));
    }
    ending.wait().await;
    running.stop().await;
    Ok(Exit::Done)
}

fn describe(key: &ApiKey) -> String {
    let email = Untrusted(&key.email).line();
    match &key.project {
        Some((id, name)) => {
            format!(
                "project key: {} (user {} {email}, project {id} {})\n",
                key.key,
                key.user_id,
                Untrusted(name).line()
            )
        }
        None => format!("account key: {} (user {} {email})\n", key.key, key.user_id),
    }
}

/// SIGINT and SIGTERM. They are the normal way to end a service, so the exit code is 0.
#[cfg(unix)]
struct Ending(tokio::signal::unix::Signal, tokio::signal::unix::Signal);

#[cfg(unix)]
impl Ending {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self(signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?))
    }

    async fn wait(&mut self) {
        tokio::select! { _ = self.0.recv() => {}, _ = self.1.recv() => {} }
    }
}

/// Ctrl-C.
#[cfg(not(unix))]
struct Ending;

#[cfg(not(unix))]
impl Ending {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn wait(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
