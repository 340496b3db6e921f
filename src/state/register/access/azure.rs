//! Azure Blob Storage: variables, connection strings, workload identity, `az login`, the machine's identity.

use std::collections::BTreeMap;
use std::path::PathBuf;

use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};

use super::{Access, Variables, options};

/// What `az` calls a setting, and what `object_store` calls it.
const NAMES_OF_AZ: [(&str, AzureConfigKey); 5] = [
    ("AZURE_STORAGE_ACCOUNT", AzureConfigKey::AccountName),
    ("AZURE_STORAGE_KEY", AzureConfigKey::AccessKey),
    ("AZURE_STORAGE_SAS_TOKEN", AzureConfigKey::SasKey),
    ("AZURE_STORAGE_SERVICE_ENDPOINT", AzureConfigKey::Endpoint),
    ("IDENTITY_ENDPOINT", AzureConfigKey::MsiEndpoint),
];

/// The way to a container.
pub(super) fn access(container: &str, variables: &Variables) -> Result<Access, String> {
    let (options, retry) = options();
    let mut settings: BTreeMap<String, (AzureConfigKey, String, String)> = BTreeMap::new();
    let mut set = |key: AzureConfigKey, value: &str, from: &str| {
        settings.insert(format!("{key:?}"), (key, value.to_owned(), from.to_owned()));
    };
    if let Some(text) = variables.get("AZURE_STORAGE_CONNECTION_STRING") {
        for (key, value) in connection(text)? {
            set(key, &value, "AZURE_STORAGE_CONNECTION_STRING");
        }
    }
    for (name, key) in NAMES_OF_AZ {
        if let Some(value) = variables.get(name) {
            set(key, value, name);
        }
    }
    for (name, value) in variables.beginning("AZURE_") {
        if let Ok(key) = name.to_ascii_lowercase().parse::<AzureConfigKey>() {
            set(key, value, name);
        }
    }
    let mut builder = MicrosoftAzureBuilder::new();
    for (key, value, _) in settings.values() {
        builder = builder.with_config(*key, value);
    }
    let source = |key: AzureConfigKey| settings.get(&format!("{key:?}")).map(|(_, _, from)| format!("`{from}`"));
    let emulator = settings.get("UseEmulator").is_some_and(|(_, value, _)| value != "false");
    if !emulator && source(AzureConfigKey::AccountName).is_none() {
        return Err("the storage account is not named: set `AZURE_STORAGE_ACCOUNT`".to_owned());
    }
    let direct = [AzureConfigKey::Token, AzureConfigKey::AccessKey, AzureConfigKey::FederatedTokenFile];
    let direct = direct.into_iter().chain([AzureConfigKey::ClientSecret, AzureConfigKey::SasKey]).find_map(source);
    let from = match direct {
        Some(from) => from,
        None if emulator => "Azurite's own account".to_owned(),
        None if source(AzureConfigKey::MsiEndpoint).is_none() && is_logged_in(variables) => {
            builder = builder.with_config(AzureConfigKey::UseAzureCli, "true");
            "`az login`".to_owned()
        }
        None => "the machine's identity, since no variable has any and nobody is logged in with `az login`".to_owned(),
    };
    let builder = builder.with_container_name(container).with_client_options(options).with_retry(retry);
    let store = builder.build().map_err(|error| format!("{} ({from})", super::super::bucket::words(&error)))?;
    Ok(Access { store: Box::new(store), from })
}

/// Whether `az` has an account: it keeps a list of them.
fn is_logged_in(variables: &Variables) -> bool {
    let folder = variables.get("AZURE_CONFIG_DIR").map(PathBuf::from);
    let folder = folder.or_else(|| Some(variables.home()?.join(".azure")));
    let text = folder.and_then(|folder| std::fs::read_to_string(folder.join("azureProfile.json")).ok());
    let text = text.unwrap_or_default();
    // The file begins with a byte order mark.
    let profile: Option<serde_json::Value> = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok();
    profile.and_then(|profile| Some(!profile.get("subscriptions")?.as_array()?.is_empty())).unwrap_or(false)
}

/// `Name=value;…`, as the portal shows it.
fn connection(text: &str) -> Result<Vec<(AzureConfigKey, String)>, String> {
    let mut parts = BTreeMap::new();
    for part in text.split(';').filter(|part| !part.trim().is_empty()) {
        let pair = part.split_once('=').ok_or("`AZURE_STORAGE_CONNECTION_STRING` has a part without `=`")?;
        parts.insert(pair.0.trim().to_ascii_lowercase(), pair.1.trim());
    }
    if parts.get("usedevelopmentstorage").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(vec![(AzureConfigKey::UseEmulator, "true".to_owned())]);
    }
    let known = [
        ("accountname", AzureConfigKey::AccountName),
        ("accountkey", AzureConfigKey::AccessKey),
        ("sharedaccesssignature", AzureConfigKey::SasKey),
        ("blobendpoint", AzureConfigKey::Endpoint),
    ];
    let mut settings: Vec<_> =
        known.iter().filter_map(|(name, key)| Some((*key, (*parts.get(*name)?).to_owned()))).collect();
    if let (None, Some(suffix), Some(account)) =
        (parts.get("blobendpoint"), parts.get("endpointsuffix"), parts.get("accountname"))
    {
        let scheme = parts.get("defaultendpointsprotocol").copied().unwrap_or("https");
        settings.push((AzureConfigKey::Endpoint, format!("{scheme}://{account}.blob.{suffix}")));
    }
    Ok(settings)
}
