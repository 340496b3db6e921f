//! A store with the part of S3 or of Google Cloud Storage that a state needs, on a loopback port: conditional writes that hold, or, on request, do not; and
//! faults. The Google part is made after the public description of its XML API: no server for it installs from a package registry.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};

/// Whether conditional writes hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Honesty {
    /// Condition and write are one step.
    Atomic,
    /// The condition is checked, and then written: two writers may both win.
    TwoSteps,
    /// Conditions are ignored.
    Blind,
}

/// Whose API the store speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `If-Match` over ETags.
    S3,
    /// `x-goog-if-generation-match` over generations, and at most about one write per second to an object: 429 to whoever is faster.
    Google,
}

/// Google allows one write per second to an object; a little less is asked for here, since a request may be on its way for longer than the one before it.
const PAUSE: Duration = Duration::from_millis(900);

/// What happens to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Nothing special.
    Fine,
    /// The connection ends before the request is carried out.
    LostBefore,
    /// The request is carried out and the connection ends without an answer.
    LostAfter,
    /// The request is carried out, then what [`Bucket::then`] was given is done, and the connection ends.
    LostAfterThen,
    /// 503 before the request is carried out.
    Unavailable,
    /// 503, and the request is carried out all the same.
    UnavailableAfter,
    /// Answered after this many milliseconds.
    Slow(u64),
}

/// Decides about the n-th request (from 1): method and path are given.
pub type Judge = Arc<dyn Fn(u64, &Method, &str) -> Fate + Send + Sync>;

/// An object's content, its version, and when it was written.
type Object = (Vec<u8>, u64, Instant);

struct Store {
    dialect: Dialect,
    objects: Mutex<BTreeMap<String, Object>>,
    refused: Mutex<Vec<String>>,
    versions: AtomicU64,
    requests: AtomicU64,
    honesty: Honesty,
    judge: Mutex<Judge>,
    then: Mutex<Then>,
}

/// Something to do once a request was carried out.
type Then = Arc<dyn Fn() + Send + Sync>;

/// A running store; it ends with the test process.
#[derive(Clone)]
pub struct Bucket {
    address: SocketAddr,
    store: Arc<Store>,
}

impl Bucket {
    /// Starts a store that speaks S3.
    pub fn start(honesty: Honesty) -> Self {
        Self::speaking(Dialect::S3, honesty)
    }

    /// Starts a store.
    pub fn speaking(dialect: Dialect, honesty: Honesty) -> Self {
        let store = Arc::new(Store {
            dialect,
            refused: Mutex::default(),
            objects: Mutex::default(),
            versions: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            honesty,
            judge: Mutex::new(Arc::new(|_, _, _| Fate::Fine)),
            then: Mutex::new(Arc::new(|| {})),
        });
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new().fallback(answer).with_state(Arc::clone(&store));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(listener, app).await.unwrap();
            });
        });
        Self { address, store }
    }

    /// Decides about every later request.
    pub fn judge(&self, judge: impl Fn(u64, &Method, &str) -> Fate + Send + Sync + 'static) {
        *self.store.judge.lock().unwrap() = Arc::new(judge);
    }

    /// What [`Fate::LostAfterThen`] does.
    pub fn then(&self, then: impl Fn() + Send + Sync + 'static) {
        *self.store.then.lock().unwrap() = Arc::new(then);
    }

    /// The names of everything below a prefix of the bucket, the bucket's own name included.
    pub fn names(&self, prefix: &str) -> Vec<String> {
        let objects = self.store.objects.lock().unwrap();
        objects.keys().filter(|name| name.starts_with(prefix)).cloned().collect()
    }

    /// Puts an object where nobody asked for one.
    pub fn plant(&self, name: &str, bytes: &[u8]) {
        let version = self.store.versions.fetch_add(1, Ordering::SeqCst) + 1;
        self.store.objects.lock().unwrap().insert(name.to_owned(), (bytes.to_vec(), version, Instant::now()));
    }

    /// How many requests came.
    pub fn requests(&self) -> u64 {
        self.store.requests.load(Ordering::SeqCst)
    }

    /// Counts from zero again.
    pub fn reset(&self) {
        self.store.requests.store(0, Ordering::SeqCst);
    }

    /// The objects of the writes that came too soon after another one to the same object.
    pub fn refused(&self) -> Vec<String> {
        self.store.refused.lock().unwrap().clone()
    }

    /// A place in this store, as letterpress.toml names it.
    pub fn place(&self, prefix: &str) -> String {
        let scheme = if self.store.dialect == Dialect::Google { "gs" } else { "s3" };
        format!("{scheme}://bucket/{prefix}")
    }

    /// The variables with which letterpress finds this store.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        if self.store.dialect == Dialect::Google {
            return vec![("STORAGE_EMULATOR_HOST", format!("http://{}", self.address))];
        }
        vec![
            ("AWS_ENDPOINT_URL", format!("http://{}", self.address)),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
        ]
    }
}

async fn answer(State(store): State<Arc<Store>>, request: Request) -> Response {
    let number = store.requests.fetch_add(1, Ordering::SeqCst) + 1;
    let (parts, body) = request.into_parts();
    let Ok(bytes) = axum::body::to_bytes(body, 64 << 20).await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let judge = Arc::clone(&*store.judge.lock().unwrap());
    let fate = tokio::task::spawn_blocking({
        let (method, path) = (parts.method.clone(), parts.uri.path().to_owned());
        move || judge(number, &method, &path)
    });
    let unavailable = || StatusCode::SERVICE_UNAVAILABLE.into_response();
    match fate.await.unwrap() {
        Fate::Fine => {}
        Fate::LostBefore => return cut(),
        Fate::LostAfter => {
            carry(&store, &parts.method, &parts.uri, &parts.headers, bytes).await;
            return cut();
        }
        Fate::LostAfterThen => {
            carry(&store, &parts.method, &parts.uri, &parts.headers, bytes).await;
            let then = Arc::clone(&*store.then.lock().unwrap());
            tokio::task::spawn_blocking(move || then()).await.unwrap();
            return cut();
        }
        Fate::Unavailable => return unavailable(),
        Fate::UnavailableAfter => {
            carry(&store, &parts.method, &parts.uri, &parts.headers, bytes).await;
            return unavailable();
        }
        Fate::Slow(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
    }
    carry(&store, &parts.method, &parts.uri, &parts.headers, bytes).await
}

/// An answer whose body breaks off: the connection ends.
fn cut() -> Response {
    let broken = futures_util::stream::once(async { Err::<Bytes, _>(std::io::Error::other("cut")) });
    Response::builder().header("content-length", "1000").body(axum::body::Body::from_stream(broken)).unwrap()
}

/// The one bucket that there is not.
pub const NO_BUCKET: &str = "nobucket";

async fn carry(store: &Store, method: &Method, uri: &Uri, headers: &HeaderMap, bytes: Bytes) -> Response {
    let key = decoded(uri.path().trim_start_matches('/'));
    if key.split('/').next() == Some(NO_BUCKET) {
        return (StatusCode::NOT_FOUND, "<Error><Code>NoSuchBucket</Code></Error>").into_response();
    }
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    match *method {
        Method::GET if uri.query().is_some_and(|query| query.contains("list-type=2")) => list(store, uri),
        Method::GET => match store.objects.lock().unwrap().get(&key) {
            Some((content, version, _)) => {
                let mut response = (version_headers(*version), content.clone()).into_response();
                response.headers_mut().insert("last-modified", "Mon, 02 Nov 2026 00:00:00 GMT".parse().unwrap());
                response
            }
            None => not_found(),
        },
        Method::PUT => {
            let holds = |objects: &BTreeMap<String, Object>| {
                let present = objects.get(&key).map(|(_, version, _)| *version);
                if store.dialect == Dialect::Google {
                    let wanted = header("x-goog-if-generation-match");
                    return wanted.is_none_or(|wanted| wanted == present.unwrap_or_default().to_string());
                }
                let created = header("if-none-match").is_none() || present.is_none();
                created && header("if-match").is_none_or(|wanted| present.map(tag) == Some(wanted))
            };
            if store.honesty == Honesty::TwoSteps {
                if !holds(&store.objects.lock().unwrap()) {
                    return StatusCode::PRECONDITION_FAILED.into_response();
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let mut objects = store.objects.lock().unwrap();
            let too_soon = objects.get(&key).is_some_and(|(_, _, written)| written.elapsed() < PAUSE);
            if store.dialect == Dialect::Google && too_soon {
                store.refused.lock().unwrap().push(key);
                let why = "<Error><Code>SlowDown</Code><Message>The object exceeded the rate limit</Message></Error>";
                return (StatusCode::TOO_MANY_REQUESTS, why).into_response();
            }
            if store.honesty == Honesty::Atomic && !holds(&objects) {
                return StatusCode::PRECONDITION_FAILED.into_response();
            }
            let version = store.versions.fetch_add(1, Ordering::SeqCst) + 1;
            objects.insert(key, (bytes.to_vec(), version, Instant::now()));
            version_headers(version).into_response()
        }
        Method::DELETE => {
            store.objects.lock().unwrap().remove(&key);
            StatusCode::NO_CONTENT.into_response()
        }
        // Bulk delete: the keys are in the XML.
        Method::POST => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let bucket = key.split('/').next().unwrap_or_default();
            let mut deleted = String::new();
            for part in text.split("<Key>").skip(1) {
                let name = part.split("</Key>").next().unwrap_or_default();
                store.objects.lock().unwrap().remove(&format!("{bucket}/{name}"));
                deleted.push_str(&format!("<Deleted><Key>{name}</Key></Deleted>"));
            }
            format!("<DeleteResult>{deleted}</DeleteResult>").into_response()
        }
        _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
}

fn tag(version: u64) -> String {
    format!("\"{version}\"")
}

/// An ETag for S3, a generation beside it for Google. Google's ETag is not what is compared there, so it does not look like the generation.
fn version_headers(version: u64) -> [(&'static str, String); 2] {
    [("etag", tag(version)), ("x-goog-generation", version.to_string())]
}

/// A path without its percent signs.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = (*first == b'%').then(|| tail.get(..2)).flatten();
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).unwrap()
}

fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "<Error><Code>NoSuchKey</Code></Error>").into_response()
}

fn list(store: &Store, uri: &Uri) -> Response {
    let query = uri.query().unwrap_or_default();
    let prefix = query.split('&').find_map(|pair| pair.strip_prefix("prefix=")).unwrap_or_default();
    let prefix = decoded(prefix);
    let bucket = format!("{}/", decoded(uri.path().trim_matches('/')));
    let mut xml = String::from("<ListBucketResult><IsTruncated>false</IsTruncated>");
    for (key, (content, version, _)) in &*store.objects.lock().unwrap() {
        let Some(name) = key.strip_prefix(&bucket).filter(|name| name.starts_with(&prefix)) else { continue };
        if name[prefix.len()..].contains('/') {
            continue;
        }
        xml.push_str(&format!(
            "<Contents><Key>{name}</Key><LastModified>2026-11-02T00:00:00.000Z</LastModified><ETag>\"{version}\"</ETag><Size>{}</Size></Contents>",
            content.len()
        ));
    }
    xml.push_str("</ListBucketResult>");
    xml.into_response()
}
