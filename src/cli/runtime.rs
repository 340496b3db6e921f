//! The one runtime of a command that talks to the network.

use std::future::Future;

use anyhow::Context as _;

/// Runs a command's future to its end.
///
/// # Errors
///
/// What the command fails with, or that the system gives no threads.
pub fn run<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads for the network")?
        .block_on(command)
}
