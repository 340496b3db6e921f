//! Workload identity federation: a token that CI hands out is exchanged for one of Google's (`"type": "external_account"`, AIP-4117).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use object_store::gcp::GcpCredential;
use reqwest::{Client, RequestBuilder, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::provider::{Fetched, Provider, denied, failed};

const SCOPE: &str = "https://www.googleapis.com/auth/devstorage.read_write";

/// The longest that one step of the exchange may take.
const PATIENCE: Duration = Duration::from_secs(8);

/// The configuration that `gcloud iam workload-identity-pools create-cred-config`, or CI, has written.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct External {
    audience: String,
    subject_token_type: String,
    token_url: String,
    service_account_impersonation_url: Option<String>,
    credential_source: Source,
}

/// Where the token to hand in comes from.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Source {
    file: Option<PathBuf>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    format: Format,
    environment_id: Option<String>,
    executable: Option<serde_json::Value>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Format {
    r#type: Option<String>,
    subject_token_field_name: Option<String>,
}

/// A provider of Google's tokens.
///
/// # Errors
///
/// A sentence, for a source that is not supported.
pub(super) fn provider(external: External) -> Result<Arc<Provider<GcpCredential>>, String> {
    let source = &external.credential_source;
    if source.environment_id.is_some() || source.executable.is_some() || source.file.is_none() && source.url.is_none() {
        let kind = if source.executable.is_some() { "a program" } else { "an AWS machine" };
        return Err(format!(
            "the token of {kind} cannot be exchanged here; tokens from a file or an address can. \
             `GOOGLE_OAUTH_ACCESS_TOKEN=$(gcloud auth application-default print-access-token)` hands over a token"
        ));
    }
    let client = Client::builder().timeout(PATIENCE).redirect(reqwest::redirect::Policy::none()).build();
    let client = client.map_err(|error| error.to_string())?;
    let external = Arc::new(external);
    Ok(Provider::new("workload identity federation", move || fetch(client.clone(), Arc::clone(&external))))
}

async fn fetch(client: Client, external: Arc<External>) -> object_store::Result<Fetched<GcpCredential>> {
    #[derive(Deserialize)]
    struct Exchanged {
        access_token: String,
        expires_in: Option<i64>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Impersonated {
        access_token: String,
        expire_time: Option<Timestamp>,
    }
    let subject = subject(&client, &external.credential_source).await?;
    let fields = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ("audience", &external.audience),
        ("subject_token_type", &external.subject_token_type),
        ("subject_token", &subject),
        ("scope", if external.service_account_impersonation_url.is_some() { CLOUD_PLATFORM } else { SCOPE }),
    ];
    let request = client.post(&external.token_url).header("content-type", "application/x-www-form-urlencoded");
    let exchanged: Exchanged = json(request.body(form(&fields)), "the token exchange").await?;
    let Some(address) = &external.service_account_impersonation_url else {
        let ends = exchanged.expires_in.map(|seconds| Timestamp::now() + SignedDuration::from_secs(seconds));
        return Ok((GcpCredential { bearer: exchanged.access_token }, ends));
    };
    let request = client.post(address).bearer_auth(exchanged.access_token).header("content-type", "application/json");
    let body = serde_json::json!({ "scope": [SCOPE], "lifetime": "3600s" }).to_string();
    let token: Impersonated = json(request.body(body), "the service account's token").await?;
    Ok((GcpCredential { bearer: token.access_token }, token.expire_time))
}

/// Impersonation asks another service of Google's, which wants this scope.
const CLOUD_PLATFORM: &str = "https://www.googleapis.com/auth/cloud-platform";

/// The token that is handed in. It is read anew every time: CI renews it.
async fn subject(client: &Client, source: &Source) -> object_store::Result<String> {
    let text = match (&source.file, &source.url) {
        (Some(path), _) => std::fs::read_to_string(path)
            .map_err(|error| denied(format!("the identity token {} cannot be read: {error}", path.display())))?,
        (None, address) => {
            let request = client.get(address.as_deref().unwrap_or_default());
            let request = source.headers.iter().fold(request, |request, (name, value)| request.header(name, value));
            answer(request, "the identity token's address").await?
        }
    };
    if source.format.r#type.as_deref() != Some("json") {
        return Ok(text.trim().to_owned());
    }
    let name = source.format.subject_token_field_name.as_deref().unwrap_or("access_token");
    let value: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| denied(format!("the identity token is no JSON: {error}")))?;
    let token = value.get(name).and_then(serde_json::Value::as_str);
    token.map(str::to_owned).ok_or_else(|| denied(format!("the identity token's JSON has no `{name}`")))
}

fn form(fields: &[(&str, &str)]) -> String {
    let address = Url::parse_with_params("http://form", fields);
    address.ok().and_then(|address| address.query().map(str::to_owned)).unwrap_or_default()
}

async fn json<T: DeserializeOwned>(request: RequestBuilder, who: &str) -> object_store::Result<T> {
    let text = answer(request, who).await?;
    // The text may have a token in it: it is not shown.
    serde_json::from_str(&text).map_err(|_| failed(format!("{who} gave an answer that cannot be read")))
}

async fn answer(request: RequestBuilder, who: &str) -> object_store::Result<String> {
    let response = request.send().await.map_err(|error| failed(format!("{who} does not answer: {error}")))?;
    let status = response.status();
    let text = response.text().await.map_err(|error| failed(format!("{who} does not answer: {error}")))?;
    if status.is_success() {
        return Ok(text);
    }
    let said: String = text.chars().filter(|letter| !letter.is_control()).take(300).collect();
    let why = format!("{who} says {status}: {said}");
    Err(if status.is_client_error() && status.as_u16() != 429 { denied(why) } else { failed(why) })
}
