//! Google Cloud Storage: application default credentials, as `gcloud` and Google's own libraries find them.

use std::path::{Path, PathBuf};

use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use serde::Deserialize;

use super::exchange::{self, External};
use super::{Access, Variables, options};

/// The way to a bucket.
pub(super) fn access(bucket: &str, variables: &Variables) -> Result<Access, String> {
    let (options, retry) = options();
    let mut builder =
        GoogleCloudStorageBuilder::new().with_bucket_name(bucket).with_client_options(options).with_retry(retry);
    // `object_store` has names of its own for some settings.
    for (name, value) in variables.beginning("GOOGLE_") {
        if let Ok(key) = name.to_ascii_lowercase().parse::<GoogleConfigKey>()
            && matches!(key, GoogleConfigKey::BaseUrl | GoogleConfigKey::SkipSignature)
        {
            builder = builder.with_config(key, value);
        }
    }
    if let Some(host) = variables.get("STORAGE_EMULATOR_HOST") {
        let address = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
        let builder =
            builder.with_base_url(address.trim_end_matches('/')).with_bearer_token("").with_skip_signature(true);
        return done(builder, "none, since `STORAGE_EMULATOR_HOST` is set".to_owned());
    }
    let (builder, from) = credentials(builder, variables)?;
    done(builder, from)
}

fn done(builder: GoogleCloudStorageBuilder, from: String) -> Result<Access, String> {
    let store = builder.build().map_err(|error| format!("{} ({from})", super::super::bucket::words(&error)))?;
    Ok(Access { store: Box::new(store), from })
}

fn credentials(
    builder: GoogleCloudStorageBuilder,
    variables: &Variables,
) -> Result<(GoogleCloudStorageBuilder, String), String> {
    let tokens = ["GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN", "GOOGLE_BEARER_TOKEN"];
    if let Some(name) = tokens.iter().find(|name| variables.get(name).is_some()) {
        let token = variables.get(name).unwrap_or_default();
        return Ok((builder.with_bearer_token(token), format!("`{name}`")));
    }
    if let Some(key) = variables.get("GOOGLE_SERVICE_ACCOUNT_KEY") {
        return Ok((builder.with_service_account_key(key), "`GOOGLE_SERVICE_ACCOUNT_KEY`".to_owned()));
    }
    let named = ["GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH"];
    if let Some(name) = named.iter().find(|name| variables.get(name).is_some()) {
        let path = PathBuf::from(variables.get(name).unwrap_or_default());
        return from_file(builder, &path, &format!("`{name}`"));
    }
    if let Some(path) = well_known(variables).filter(|path| path.exists()) {
        return from_file(builder, &path, "`gcloud auth application-default login`");
    }
    // An empty path would be read; `object_store` looks in the home folder once more, where nothing is, and then asks the machine.
    Ok((
        builder,
        "the machine's metadata server; `gcloud auth application-default login` makes credentials elsewhere".to_owned(),
    ))
}

/// Where `gcloud auth application-default login` leaves them.
fn well_known(variables: &Variables) -> Option<PathBuf> {
    let folder = match (variables.get("CLOUDSDK_CONFIG"), variables.get("APPDATA")) {
        (Some(folder), _) => PathBuf::from(folder),
        (None, Some(folder)) if cfg!(windows) => Path::new(folder).join("gcloud"),
        _ => variables.home()?.join(".config/gcloud"),
    };
    Some(folder.join("application_default_credentials.json"))
}

fn from_file(
    builder: GoogleCloudStorageBuilder,
    path: &Path,
    named: &str,
) -> Result<(GoogleCloudStorageBuilder, String), String> {
    #[derive(Deserialize)]
    struct Kind {
        r#type: String,
    }
    let from = format!("{} ({named})", path.display());
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("the credentials {from} cannot be read: {error}"))?;
    let unreadable = |error: serde_json::Error| format!("the credentials {from} are no JSON of Google's: {error}");
    let kind: Kind = serde_json::from_str(&text).map_err(unreadable)?;
    let path = path.to_string_lossy();
    let builder = match kind.r#type.as_str() {
        "service_account" | "authorized_user" => builder.with_application_credentials(path),
        "external_account" => {
            let external: External = serde_json::from_str(&text).map_err(unreadable)?;
            builder
                .with_credentials(exchange::provider(external).map_err(|why| format!("the credentials {from}: {why}"))?)
        }
        other => {
            return Err(format!(
                "the credentials {from} are of the type `{other}`, which letterpress cannot use: \
                 `GOOGLE_OAUTH_ACCESS_TOKEN=$(gcloud auth application-default print-access-token)` hands over a token"
            ));
        }
    };
    Ok((builder, from))
}
