//! The one runtime of a command that talks to the network.

use std::future::Future;
use std::time::Duration;

use anyhow::Context as _;

/// Runs a command's future to its end.
///
/// # Errors
///
/// What the command fails with, or that the system gives no threads.
pub fn run<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    // One thread has time enough for every connection, and hands nothing to another: waking threads took a tenth of an apply. What waits for a disk
    // has threads of its own.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime for the network")?;
    let result = runtime.block_on(command);
    // Whatever a command no longer waits for, a disk that hangs or a tool that asks something, must not keep it from ending.
    runtime.shutdown_timeout(LAST);
    result
}

/// For threads whose work nobody waits for.
const LAST: Duration = Duration::from_millis(100);
