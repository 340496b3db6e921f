//! Connections: accepted, served, and let go in order when the service stops.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, Version, header};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::misbehave::Hangup;
use super::service::Service;

/// How long open requests may take to end when the service stops.
const FAREWELL: Duration = Duration::from_secs(3);

#[derive(Debug, thiserror::Error)]
#[error("the connection is closed on purpose")]
struct Closed;

/// Serves until the service is told to stop; open requests get a moment to end.
pub async fn serve(listener: TcpListener, router: Router, service: Arc<Service>) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(service.patience);
    builder.http2().timer(TokioTimer::new());
    let promise = promise(service.patience);
    let farewell = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = service.stopped() => break,
        };
        // Out of file handles, or the peer is gone already: the next one may do better.
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let handler = TowerToHyperService::new(router.clone());
        let promise = promise.clone();
        let handler = service_fn(move |request: hyper::Request<Incoming>| {
            let promise = promise.clone().filter(|_| holds(&request));
            let answer = handler.call(request.map(Body::new));
            async move {
                let mut answer = answer.await.map_err(|never: Infallible| match never {}).and_then(unless_hung_up)?;
                if let Some(promise) = promise {
                    answer.headers_mut().insert("keep-alive", promise);
                }
                Ok::<_, Closed>(answer)
            }
        });
        let connection = builder.serve_connection(TokioIo::new(stream), handler).into_owned();
        let connection = farewell.watch(connection);
        connections.spawn(async move {
            // What goes wrong on one connection concerns nobody else.
            let _ = connection.await;
        });
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    let _ = tokio::time::timeout(FAREWELL, farewell.shutdown()).await;
}

/// How long an idle connection is held for certain: half the time that its next head may take to come.
fn promise(patience: Duration) -> Option<HeaderValue> {
    let seconds = patience.as_secs() / 2;
    HeaderValue::from_str(&format!("timeout={seconds}")).ok().filter(|_| seconds > 0)
}

/// Whether the connection stays open after the answer.
fn holds(request: &hyper::Request<Incoming>) -> bool {
    let closes = |value: &HeaderValue| value.to_str().is_ok_and(|value| value.to_ascii_lowercase().contains("close"));
    request.version() == Version::HTTP_11 && !request.headers().get_all(header::CONNECTION).iter().any(closes)
}

fn unless_hung_up(response: Response) -> Result<Response, Closed> {
    if response.extensions().get::<Hangup>().is_some() { Err(Closed) } else { Ok(response) }
}

/// Everything the service answers: its pages, and on every other path the interface.
pub fn router(service: Arc<Service>) -> Router {
    let interface = service.clone();
    super::page::router(service).fallback(move |request: Request| super::exchange::answer(interface.clone(), request))
}
