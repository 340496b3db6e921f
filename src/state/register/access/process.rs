//! `credential_process`: a program of the user's that prints credentials, as the profile names it.

use std::process::{Command, Stdio};

use jiff::Timestamp;
use object_store::aws::AwsCredential;
use serde::Deserialize;

use super::provider::{Fetched, denied, failed};

/// Runs the program, without a shell, and reads what it prints.
pub(super) async fn fetch(words: Vec<String>) -> object_store::Result<Fetched<AwsCredential>> {
    let run = tokio::task::spawn_blocking(move || run(&words));
    run.await.unwrap_or_else(|error| Err(failed(error.to_string())))
}

fn run(words: &[String]) -> object_store::Result<Fetched<AwsCredential>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Printed {
        version: u64,
        access_key_id: String,
        secret_access_key: String,
        session_token: Option<String>,
        expiration: Option<Timestamp>,
    }
    let (program, arguments) = words.split_first().ok_or_else(|| denied("`credential_process` is empty".to_owned()))?;
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| denied(format!("`credential_process` ({program}) cannot be run: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said: String =
            said.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(300).collect();
        return Err(denied(format!("`credential_process` ({program}) ended with {}: {}", output.status, said.trim())));
    }
    // What was printed is a secret: the message says nothing of it.
    let unreadable = || denied(format!("`credential_process` ({program}) printed no credentials of version 1"));
    let printed: Printed = serde_json::from_slice(&output.stdout).map_err(|_| unreadable())?;
    if printed.version != 1 {
        return Err(unreadable());
    }
    let Printed { access_key_id: key_id, secret_access_key: secret_key, session_token: token, expiration, .. } =
        printed;
    Ok((AwsCredential { key_id, secret_key, token }, expiration))
}
