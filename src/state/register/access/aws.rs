//! S3 and compatible: variables, profiles, web identity, the container's and the machine's role.

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};

use super::profiles::Profile;
use super::provider::Provider;
use super::{Access, Variables, options, process};

/// The way out for whatever only Amazon's own tool can do.
const HAND_OVER: &str = "`eval \"$(aws configure export-credentials --format env)\"` hands credentials over";

/// The way to a bucket.
pub(super) fn access(bucket: &str, variables: &Variables) -> Result<Access, String> {
    let (options, retry) = options();
    let mut builder = AmazonS3Builder::new();
    for (name, value) in variables.beginning("AWS_") {
        if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
            builder = builder.with_config(key, value);
        }
    }
    builder = builder
        .with_bucket_name(bucket)
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        .with_client_options(options)
        .with_retry(retry);
    let profile = Profile::read(variables)?;
    if variables.first(&["AWS_REGION", "AWS_DEFAULT_REGION"]).is_none()
        && let Some(region) = profile.get("region")
    {
        builder = builder.with_region(region);
    }
    let addresses = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];
    if variables.first(&addresses).is_none()
        && variables.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") != Some("true")
        && let Some(endpoint) = profile.endpoint()
    {
        builder = builder.with_endpoint(endpoint);
    }
    let (builder, from) = credentials(builder, variables, &profile)?;
    let store = builder.build().map_err(|error| format!("{} ({from})", super::super::bucket::words(&error)))?;
    Ok(Access { store: Box::new(store), from })
}

/// In the order of Amazon's tools: variables, web identity, the profile, the container, the machine.
fn credentials(
    builder: AmazonS3Builder,
    variables: &Variables,
    profile: &Profile,
) -> Result<(AmazonS3Builder, String), String> {
    if variables.first(&["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]).is_some() {
        return Ok((builder, "`AWS_ACCESS_KEY_ID`".to_owned()));
    }
    if variables.get("AWS_WEB_IDENTITY_TOKEN_FILE").is_some() && variables.get("AWS_ROLE_ARN").is_some() {
        return Ok((builder, "`AWS_WEB_IDENTITY_TOKEN_FILE` and `AWS_ROLE_ARN`".to_owned()));
    }
    if let Some(found) = of_profile(&builder, profile)? {
        return Ok(found);
    }
    if variables.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").is_some() {
        return Ok((builder, "the container's role".to_owned()));
    }
    if variables.get("AWS_CONTAINER_CREDENTIALS_FULL_URI").is_some() {
        if variables.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE").is_none() {
            return Err(format!(
                "`AWS_CONTAINER_CREDENTIALS_FULL_URI` is used only with `AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE`: {HAND_OVER}"
            ));
        }
        return Ok((builder, "the pod's identity".to_owned()));
    }
    if variables.get("AWS_EC2_METADATA_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Err("there are no AWS credentials: neither in variables nor in a profile, and \
             `AWS_EC2_METADATA_DISABLED` forbids to ask the machine"
            .to_owned());
    }
    Ok((builder, "the machine's role, since no variable and no profile has any".to_owned()))
}

fn of_profile(builder: &AmazonS3Builder, profile: &Profile) -> Result<Option<(AmazonS3Builder, String)>, String> {
    let builder = builder.clone();
    let named = profile.named();
    if let Some(role) = profile.get("role_arn") {
        let Some(file) = profile.get("web_identity_token_file") else {
            return Err(format!("{named} takes on a role (`role_arn`), which letterpress does not do: {HAND_OVER}"));
        };
        let mut builder = builder
            .with_config(AmazonS3ConfigKey::WebIdentityTokenFile, file)
            .with_config(AmazonS3ConfigKey::RoleArn, role);
        if let Some(session) = profile.get("role_session_name") {
            builder = builder.with_config(AmazonS3ConfigKey::RoleSessionName, session);
        }
        return Ok(Some((builder, named)));
    }
    if let (Some(id), Some(secret)) = (profile.get("aws_access_key_id"), profile.get("aws_secret_access_key")) {
        let builder = builder.with_access_key_id(id).with_secret_access_key(secret);
        let builder = match profile.get("aws_session_token") {
            Some(token) => builder.with_token(token),
            None => builder,
        };
        return Ok(Some((builder, named)));
    }
    if let Some(line) = profile.get("credential_process") {
        let words = shlex::split(line).ok_or_else(|| format!("`credential_process` of {named} has an open quote"))?;
        let provider = Provider::new("credential_process", move || process::fetch(words.clone()));
        return Ok(Some((builder.with_credentials(provider), format!("`credential_process` of {named}"))));
    }
    let single = ["sso_session", "sso_start_url", "sso_account_id", "login_session"];
    if single.iter().any(|name| profile.get(name).is_some()) {
        return Err(format!("{named} signs in through a browser, which letterpress does not do: {HAND_OVER}"));
    }
    Ok(None)
}
