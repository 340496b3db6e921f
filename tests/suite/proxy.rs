//! Between letterpress and the built-in service: counts the template calls, and at those that a test chose it kills the caller, loses the answer, or lets
//! the call wait.

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::watch;

use crate::http::Client;
use crate::support::Service;

/// What happens at a chosen call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// The caller is killed; the service never sees the call.
    KillBefore,
    /// The service carries the call out, and the caller is killed before it hears of it.
    KillAfter,
    /// The service carries the call out, and the answer is lost.
    LoseAnswer,
    /// The call waits for [`Proxy::let_go`], then the service sees it.
    Hold,
}

/// Decides about the n-th call, from 1.
type Script = Box<dyn Fn(u64) -> Option<Deed> + Send>;

struct Plan {
    seen: u64,
    held: u64,
    answered: u64,
    script: Script,
    caller: Option<Pid>,
    done: bool,
}

impl Plan {
    fn new(script: Script) -> Self {
        Self { seen: 0, held: 0, answered: 0, script, caller: None, done: false }
    }
}

struct Inner {
    client: Client,
    plan: Mutex<Plan>,
    changed: Condvar,
    /// Whether held calls may go on.
    go: watch::Sender<bool>,
}

/// A running proxy; it ends with the test process.
#[derive(Clone)]
pub struct Proxy {
    address: SocketAddr,
    inner: Arc<Inner>,
}

impl Proxy {
    /// Starts in front of a service.
    pub fn start(service: &Service) -> Self {
        let inner = Arc::new(Inner {
            client: Client::of(service),
            plan: Mutex::new(Plan::new(Box::new(|_| None))),
            changed: Condvar::new(),
            go: watch::Sender::new(false),
        });
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new().fallback(forward).with_state(Arc::clone(&inner));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(listener, app).await.unwrap();
            });
        });
        Self { address, inner }
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Counts from zero again, and does `deed` at the `at`-th template call from now on.
    pub fn plan(&self, at: Option<(u64, Deed)>) {
        self.follow(move |number| at.filter(|(at, _)| *at == number).map(|(_, deed)| deed));
    }

    /// Counts from zero again, and asks `script` about each template call from now on.
    pub fn follow(&self, script: impl Fn(u64) -> Option<Deed> + Send + 'static) {
        self.inner.go.send_replace(false);
        *self.inner.plan.lock().unwrap() = Plan::new(Box::new(script));
    }

    /// How many template calls there were since then.
    pub fn seen(&self) -> u64 {
        self.inner.plan.lock().unwrap().seen
    }

    /// Waits until a call is held.
    pub fn wait_until_held(&self) {
        assert!(self.wait(|plan| plan.held > 0), "no call came to be held");
    }

    /// Waits until the service has answered this many template calls.
    pub fn wait_until_answered(&self, calls: u64) {
        assert!(self.wait(|plan| plan.answered >= calls), "fewer than {calls} calls were answered");
    }

    fn wait(&self, until: impl Fn(&Plan) -> bool) -> bool {
        let plan = self.inner.plan.lock().unwrap();
        let limit = Duration::from_secs(60);
        let (plan, _) = self.inner.changed.wait_timeout_while(plan, limit, |plan| !until(plan)).unwrap();
        until(&plan)
    }

    /// Lets held calls go on, and nothing happens to those that come.
    pub fn let_go(&self) {
        self.inner.plan.lock().unwrap().script = Box::new(|_| None);
        self.inner.go.send_replace(true);
    }

    /// Starts the caller that may be killed; no call is answered before its id is known.
    pub fn spawn(&self, mut command: std::process::Command) -> std::process::Child {
        let mut plan = self.inner.plan.lock().unwrap();
        let child = command.spawn().unwrap();
        plan.caller = Pid::from_raw(i32::try_from(child.id()).unwrap());
        child
    }

    /// Kills the caller now; for other places than the proxy.
    pub fn killer(&self) -> impl Fn() + Send + Sync + 'static {
        let inner = Arc::clone(&self.inner);
        move || {
            let mut plan = inner.plan.lock().unwrap();
            plan.done = true;
            kill(plan.caller);
        }
    }

    /// The caller, for signals from elsewhere.
    pub fn caller(&self) -> Caller {
        Caller(Arc::clone(&self.inner))
    }

    /// Whether the deed was done.
    pub fn is_done(&self) -> bool {
        self.inner.plan.lock().unwrap().done
    }
}

/// Whoever was spawned last.
pub struct Caller(Arc<Inner>);

impl Caller {
    /// Its process.
    pub fn pid(&self) -> Pid {
        self.0.plan.lock().unwrap().caller.unwrap()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }
}

fn kill(caller: Option<Pid>) {
    if let Some(pid) = caller {
        // It may have ended by itself.
        let _ = kill_process(pid, Signal::KILL);
    }
}

async fn forward(State(inner): State<Arc<Inner>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(bytes) = axum::body::to_bytes(body, 64 << 20).await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let path = parts.uri.path().to_owned();
    let counts = path == "/template/create";
    let deed = {
        let mut plan = inner.plan.lock().unwrap();
        plan.seen += u64::from(counts);
        let seen = plan.seen;
        let deed = if counts { (plan.script)(seen) } else { None };
        plan.done |= deed.is_some();
        plan.held += u64::from(deed == Some(Deed::Hold));
        if deed == Some(Deed::KillBefore) {
            kill(plan.caller);
        }
        deed
    };
    if deed == Some(Deed::KillBefore) {
        return cut();
    }
    let sender = Arc::clone(&inner);
    // A task of its own: a call that was held reaches the service also when its caller has gone in the meantime.
    let carried = tokio::spawn(async move {
        if deed == Some(Deed::Hold) {
            sender.changed.notify_all();
            let _ = sender.go.subscribe().wait_for(|go| *go).await;
        }
        let send = move || sender.client.send("POST", &path, &[], &bytes);
        tokio::task::spawn_blocking(send).await.unwrap()
    });
    let reply = carried.await.unwrap();
    inner.plan.lock().unwrap().answered += u64::from(counts);
    inner.changed.notify_all();
    match deed {
        Some(Deed::KillAfter) => {
            kill(inner.plan.lock().unwrap().caller);
            cut()
        }
        Some(Deed::KillBefore | Deed::LoseAnswer) => cut(),
        Some(Deed::Hold) | None => match reply {
            Ok(reply) => {
                let mut response = Response::builder().status(reply.status);
                for name in ["content-type", "retry-after"] {
                    if let Some(value) = reply.header(name) {
                        response = response.header(name, value);
                    }
                }
                response.body(Body::from(reply.body)).unwrap()
            }
            Err(_) => StatusCode::BAD_GATEWAY.into_response(),
        },
    }
}

fn cut() -> Response {
    let broken = futures_util::stream::once(async { Err::<Bytes, _>(std::io::Error::other("cut")) });
    Response::builder().header("content-length", "1000").body(Body::from_stream(broken)).unwrap()
}
