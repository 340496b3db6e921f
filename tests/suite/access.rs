//! Credentials as each cloud's own tools find them: variables, profiles, files, identities. One server on loopback is the store (which has nothing) and
//! whoever hands out tokens; what is looked at is who asked for `head.json`.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::StatusCode;

use crate::support::Project;

/// A request as it came.
#[derive(Debug, Clone)]
struct Heard {
    line: String,
    headers: axum::http::HeaderMap,
    body: String,
}

impl Heard {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }
}

type Answers = Vec<(&'static str, u16, String)>;

/// Answers what begins with a line, e.g. `POST /token`; for all else there is nothing.
struct Clerk {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Clerk {
    fn start(answers: Answers) -> Self {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new().fallback(hear).with_state((Arc::clone(&heard), Arc::new(answers)));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                axum::serve(tokio::net::TcpListener::from_std(listener).unwrap(), app).await.unwrap();
            });
        });
        Self { address, heard }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The request that begins so.
    #[track_caller]
    fn heard(&self, line: &str) -> Heard {
        let heard = self.heard.lock().unwrap();
        let found = heard.iter().find(|heard| heard.line.starts_with(line));
        found.unwrap_or_else(|| panic!("no {line} in {heard:#?}")).clone()
    }

    /// The request for the head.
    #[track_caller]
    fn asked(&self) -> Heard {
        let heard = self.heard.lock().unwrap();
        let found = heard.iter().find(|heard| heard.line.contains("head") && heard.line.starts_with("GET"));
        found.unwrap_or_else(|| panic!("nobody asked for the head: {heard:#?}")).clone()
    }
}

type Ears = (Arc<Mutex<Vec<Heard>>>, Arc<Answers>);

async fn hear(State((heard, answers)): State<Ears>, request: Request) -> (StatusCode, String) {
    let (parts, body) = request.into_parts();
    let body: Bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let line = format!("{} {}", parts.method, parts.uri);
    let body = String::from_utf8(body.to_vec()).unwrap();
    heard.lock().unwrap().push(Heard { line: line.clone(), headers: parts.headers, body });
    let answer = answers.iter().find(|(beginning, ..)| line.starts_with(beginning));
    answer.map_or((StatusCode::NOT_FOUND, String::new()), |(_, status, text)| {
        (StatusCode::from_u16(*status).unwrap(), text.clone())
    })
}

fn project(place: &str) -> Project {
    let toml =
        format!("environment = \"local\"\n\n[environments.local]\nbase_url = \"sandbox\"\nstate = \"{place}\"\n");
    Project::empty().file("letterpress.toml", toml)
}

/// The store was asked, and says that nothing is there.
#[track_caller]
fn asks(project: &Project) {
    let _ = project.run(["state", "show"]).exits(5).stderr_has("has no state");
}

/// Nothing was asked, and the sentence says why.
#[track_caller]
fn is_told(project: &Project, words: &[&str]) {
    let outcome = project.run(["state", "show"]).exits(1).stderr_has("cannot be reached").lacks("panicked");
    for word in words {
        assert!(outcome.stderr.contains(word), "{word}: {outcome}");
    }
}

const KEYS: &str = r#"{"Version":1,"Code":"Success","AccessKeyId":"AKMADE","SecretAccessKey":"made","Token":"passing","SessionToken":"passing","Expiration":"2999-01-01T00:00:00Z"}"#;

#[test]
fn aws_profiles_name_keys_region_and_endpoint() {
    let clerk = Clerk::start(Vec::new());
    let config = format!("[profile work]\nregion = eu-north-1\nendpoint_url = {}\n", clerk.url());
    let keys = "[work]\naws_access_key_id = AKWORK\naws_secret_access_key = secret\naws_session_token = passing\n";
    let project = project("s3://bucket/state").file(".aws/config", config).file(".aws/credentials", keys);
    let work = project.variable("AWS_PROFILE", "work");
    asks(&work);
    let asked = clerk.asked();
    let authorization = asked.header("authorization");
    assert!(authorization.contains("Credential=AKWORK/") && authorization.contains("/eu-north-1/s3/"), "{asked:?}");
    assert_eq!(asked.header("x-amz-security-token"), "passing");

    // Variables count more than a profile, as everywhere.
    let clerk = Clerk::start(Vec::new());
    let named = work.variable("AWS_ENDPOINT_URL_S3", &clerk.url()).variable("AWS_REGION", "eu-west-3");
    let named = named.variable("AWS_ACCESS_KEY_ID", "AKNAMED").variable("AWS_SECRET_ACCESS_KEY", "secret");
    asks(&named);
    let asked = clerk.asked();
    let authorization = asked.header("authorization");
    assert!(authorization.contains("Credential=AKNAMED/") && authorization.contains("/eu-west-3/s3/"), "{asked:?}");
}

#[test]
fn an_aws_profile_may_name_a_program() {
    let clerk = Clerk::start(Vec::new());
    let project = project("s3://bucket/state").variable("AWS_ENDPOINT_URL", &clerk.url());
    let project = project.file("keys.json", KEYS);
    project.write(".aws/config", "[default]\ncredential_process = cat 'keys.json'\n");
    asks(&project);
    assert!(clerk.asked().header("authorization").contains("Credential=AKMADE/"));
    project.write(".aws/config", "[default]\ncredential_process = sh -c 'echo not today >&2; exit 3'\n");
    let _ = project.run(["state", "show"]).exits(1).stderr_has("not today").stderr_has("credential_process");
    project.write(".aws/config", "[default]\ncredential_process = echo canary-secret\n");
    let _ = project.run(["state", "show"]).exits(1).stderr_has("printed no credentials").lacks("canary-secret");
}

#[test]
fn an_aws_profile_that_cannot_be_used_is_named_with_the_way_out() {
    let cases = [
        ("sso_session = mine\nsso_account_id = 1\n", "signs in through a browser"),
        ("role_arn = arn:aws:iam::1:role/x\nsource_profile = base\n", "takes on a role"),
        ("credential_process = 'open\n", "open quote"),
    ];
    for (profile, words) in cases {
        let project = project("s3://bucket/state").variable("AWS_PROFILE", "work");
        let project = project.file(".aws/config", format!("[profile work]\n{profile}"));
        let hint = if words == "open quote" { "credential_process" } else { "aws configure export-credentials" };
        is_told(&project, &[words, hint, "`work`"]);
    }
    is_told(&project("s3://bucket/state").variable("AWS_PROFILE", "play"), &["`play` is not in", ".aws/credentials"]);
}

#[test]
fn pods_and_machines_of_aws_have_a_role() {
    let clerk = Clerk::start(vec![("GET /pod", 200, KEYS.to_owned())]);
    let project_ = || project("s3://bucket/state").variable("AWS_ENDPOINT_URL", &clerk.url());
    let pod = project_().variable("AWS_CONTAINER_CREDENTIALS_FULL_URI", &format!("{}/pod", clerk.url()));
    is_told(&pod, &["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"]);
    let pod = pod.file("token", "my-pod").variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "token");
    asks(&pod);
    assert_eq!(clerk.heard("GET /pod").header("authorization"), "my-pod");
    assert!(clerk.asked().header("authorization").contains("Credential=AKMADE/"));

    let machine = Clerk::start(vec![
        ("PUT /latest/api/token", 200, "session".to_owned()),
        ("GET /latest/meta-data/iam/security-credentials/robot", 200, KEYS.to_owned()),
        ("GET /latest/meta-data/iam/security-credentials/", 200, "robot".to_owned()),
    ]);
    let project = project("s3://bucket/state").variable("AWS_ENDPOINT_URL", &machine.url());
    asks(&project.variable("AWS_METADATA_ENDPOINT", &machine.url()));
    assert!(machine.asked().header("authorization").contains("Credential=AKMADE/"));
}

fn external(clerk: &Clerk, source: &str, impersonates: bool) -> String {
    let url = clerk.url();
    let impersonation = if impersonates {
        format!(r#","service_account_impersonation_url":"{url}/impersonate""#)
    } else {
        String::new()
    };
    format!(
        r#"{{"type":"external_account","audience":"//iam.googleapis.com/pool","subject_token_type":"urn:ietf:params:oauth:token-type:jwt",
        "token_url":"{url}/exchange","credential_source":{source}{impersonation}}}"#
    )
}

#[test]
fn google_exchanges_the_token_of_ci_for_its_own() {
    let clerk = Clerk::start(vec![
        ("POST /exchange", 200, r#"{"access_token":"exchanged","expires_in":3600,"token_type":"Bearer"}"#.to_owned()),
        ("POST /impersonate", 200, r#"{"accessToken":"robot","expireTime":"2999-01-01T00:00:00Z"}"#.to_owned()),
        ("GET /identity", 200, r#"{"value":"from ci"}"#.to_owned()),
    ]);
    let base = || project("gs://bucket/state").variable("GOOGLE_BASE_URL", &clerk.url());
    let from_file = external(&clerk, r#"{"file":"token.txt"}"#, false);
    let project = base().file("token.txt", "signed by ci\n").file("credentials.json", from_file);
    asks(&project.variable("GOOGLE_APPLICATION_CREDENTIALS", "credentials.json"));
    assert_eq!(clerk.asked().header("authorization"), "Bearer exchanged");
    let exchange = clerk.heard("POST /exchange").body;
    for part in
        ["subject_token=signed+by+ci", "token-exchange", "audience=%2F%2Fiam.googleapis.com%2Fpool", "devstorage"]
    {
        assert!(exchange.contains(part), "{part}: {exchange}");
    }

    // As GitHub hands it out, and on behalf of a service account; where gcloud keeps its credentials.
    clerk.heard.lock().unwrap().clear();
    let source = format!(
        r#"{{"url":"{}/identity","headers":{{"Authorization":"Bearer ci"}},"format":{{"type":"json","subject_token_field_name":"value"}}}}"#,
        clerk.url()
    );
    let file = ".config/gcloud/application_default_credentials.json";
    asks(&base().file(file, external(&clerk, &source, true)));
    assert_eq!(clerk.heard("GET /identity").header("authorization"), "Bearer ci");
    assert!(clerk.heard("POST /exchange").body.contains("subject_token=from+ci"));
    assert_eq!(clerk.heard("POST /impersonate").header("authorization"), "Bearer exchanged");
    assert_eq!(clerk.asked().header("authorization"), "Bearer robot");

    // A refusal is final and is said; the file is named.
    let no = Clerk::start(vec![("POST /exchange", 400, r#"{"error":"invalid_grant"}"#.to_owned())]);
    let project = base().file("token", "old").file("my.json", external(&no, r#"{"file":"token"}"#, false));
    let project = project.variable("GOOGLE_APPLICATION_CREDENTIALS", "my.json");
    let _ = project.run(["state", "show"]).exits(1).stderr_has("invalid_grant").stderr_has("my.json");
}

#[test]
fn google_accounts_of_other_kinds() {
    let clerk = Clerk::start(vec![(
        "GET /computeMetadata/v1/instance/service-accounts/default/token",
        200,
        r#"{"access_token":"of the machine","expires_in":3600}"#.to_owned(),
    )]);
    let base = || project("gs://bucket/state").variable("GOOGLE_BASE_URL", &clerk.url());

    // A service account signs for itself.
    let key = include_str!("access/key.pem").replace('\n', "\\n");
    let account = format!(
        r#"{{"type":"service_account","private_key_id":"1","private_key":"{key}","client_email":"robot@example.com"}}"#
    );
    asks(&base().file("account.json", account).variable("GOOGLE_APPLICATION_CREDENTIALS", "account.json"));
    let bearer = clerk.asked().header("authorization").to_owned();
    let claims = bearer.strip_prefix("Bearer ").unwrap().split('.').nth(1).unwrap().to_owned();
    let claims = base64::Engine::decode(&base64::prelude::BASE64_URL_SAFE_NO_PAD, claims).unwrap();
    assert!(String::from_utf8(claims).unwrap().contains(r#""iss":"robot@example.com""#));

    clerk.heard.lock().unwrap().clear();
    asks(&base().variable("GCE_METADATA_HOST", &clerk.address.to_string()));
    assert_eq!(clerk.asked().header("authorization"), "Bearer of the machine");

    clerk.heard.lock().unwrap().clear();
    asks(&base().variable("GOOGLE_OAUTH_ACCESS_TOKEN", "handed-over"));
    assert_eq!(clerk.asked().header("authorization"), "Bearer handed-over");

    let other = r#"{"type":"impersonated_service_account"}"#;
    let project = base().file("other.json", other).variable("GOOGLE_APPLICATION_CREDENTIALS", "other.json");
    is_told(&project, &["impersonated_service_account", "other.json", "print-access-token"]);
    is_told(&base().variable("GOOGLE_APPLICATION_CREDENTIALS", "none.json"), &["none.json", "cannot be read"]);
}

const AZURE_KEY: &str = "bm90IGEgcmVhbCBrZXkgYnV0IGxvbmcgZW5vdWdoIHRvIGJlIG9uZQ==";

#[test]
fn azure_takes_the_names_of_az_and_connection_strings() {
    is_told(&project("az://container/state"), &["AZURE_STORAGE_ACCOUNT"]);
    let clerk = Clerk::start(Vec::new());
    let base = || project("az://container/state");
    let named = base().variable("AZURE_STORAGE_ACCOUNT", "mine").variable("AZURE_STORAGE_KEY", AZURE_KEY);
    asks(&named.variable("AZURE_STORAGE_SERVICE_ENDPOINT", &clerk.url()));
    assert!(clerk.asked().header("authorization").starts_with("SharedKey mine:"));

    clerk.heard.lock().unwrap().clear();
    let connection = format!(
        "AccountName=other;AccountKey={AZURE_KEY};BlobEndpoint={};EndpointSuffix=core.windows.net",
        clerk.url()
    );
    asks(&base().variable("AZURE_STORAGE_CONNECTION_STRING", &connection));
    assert!(clerk.asked().header("authorization").starts_with("SharedKey other:"));
}

#[test]
fn azure_identities_get_a_token() {
    let token = r#"{"access_token":"made","expires_in":3600,"token_type":"Bearer"}"#;
    let of_machine = r#"{"access_token":"of the machine","expires_on":"32503680000"}"#;
    let clerk = Clerk::start(vec![
        ("POST /tenant/oauth2/v2.0/token", 200, token.to_owned()),
        ("GET /machine", 200, of_machine.to_owned()),
    ]);
    let base = || {
        let project = project("az://container/state").variable("AZURE_STORAGE_ACCOUNT", "mine");
        project.variable("AZURE_STORAGE_SERVICE_ENDPOINT", &clerk.url())
    };
    let workload = base().file("token", "signed by the cluster").variable("AZURE_FEDERATED_TOKEN_FILE", "token");
    let workload = workload.variable("AZURE_CLIENT_ID", "robot").variable("AZURE_TENANT_ID", "tenant");
    asks(&workload.variable("AZURE_AUTHORITY_HOST", &clerk.url()));
    assert_eq!(clerk.asked().header("authorization"), "Bearer made");
    assert!(clerk.heard("POST /tenant").body.contains("client_assertion=signed+by+the+cluster"));

    clerk.heard.lock().unwrap().clear();
    let secret = base().variable("AZURE_CLIENT_SECRET", "secret").variable("AZURE_CLIENT_ID", "robot");
    asks(&secret.variable("AZURE_TENANT_ID", "tenant").variable("AZURE_AUTHORITY_HOST", &clerk.url()));
    assert!(clerk.heard("POST /tenant").body.contains("client_secret=secret"));
    assert_eq!(clerk.asked().header("authorization"), "Bearer made");

    clerk.heard.lock().unwrap().clear();
    asks(&base().variable("IDENTITY_ENDPOINT", &format!("{}/machine", clerk.url())).variable("IDENTITY_HEADER", "h"));
    assert_eq!(clerk.asked().header("authorization"), "Bearer of the machine");

    // `az login`: the list of accounts tells that there is one, and the tool hands out the token.
    clerk.heard.lock().unwrap().clear();
    let script = "#!/bin/sh\necho '{\"accessToken\":\"of az\",\"expires_on\":32503680000,\"expiresOn\":\"2999-01-01 00:00:00.000000\",\"subscription\":\"s\",\"tenant\":\"t\",\"tokenType\":\"Bearer\"}'\n";
    let project = base().file("bin/az", script);
    let profile = "\u{feff}{\"subscriptions\":[{\"id\":\"1\"}]}";
    project.write(".azure/azureProfile.json", profile);
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(project.path("bin/az"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", project.path("bin").display());
    asks(&project.variable("PATH", &path));
    assert_eq!(clerk.asked().header("authorization"), "Bearer of az");
}

#[test]
fn a_plan_that_has_findings_waits_for_no_bucket() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let project = project("s3://bucket/state")
        .variable("AWS_ENDPOINT_URL", &format!("http://{}", silent.local_addr().unwrap()))
        .variable("AWS_ACCESS_KEY_ID", "key")
        .variable("AWS_SECRET_ACCESS_KEY", "secret")
        .file("templates/welcome/manifest.yaml", "name: [\n");
    let start = std::time::Instant::now();
    project.run(["plan"]).exits(3).stderr_has("manifest-syntax").lacks("panicked");
    assert!(start.elapsed() < std::time::Duration::from_secs(10));
}
