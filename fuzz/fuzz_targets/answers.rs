//! Whatever a service answers, with any status, whole or in pieces: it is read or refused, never more.
#![no_main]

use std::sync::LazyLock;

use letterpress::client::{self, Timeouts, answer};
use libfuzzer_sys::fuzz_target;

static RUNTIME: LazyLock<tokio::runtime::Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime"));

fuzz_target!(|data: &[u8]| {
    let [how, retry_after, body @ ..] = data else { return };
    let status = [200, 200, 200, 201, 204, 302, 400, 401, 408, 429, 500, 503][usize::from(how >> 2) % 12];
    let body = if how & 1 == 0 {
        reqwest::Body::from(body.to_vec())
    } else {
        // Its length is not known before it is read.
        let pieces: Vec<_> = body.chunks(7).map(|piece| Ok::<_, std::io::Error>(piece.to_vec())).collect();
        reqwest::Body::wrap_stream(futures_util::stream::iter(pieces))
    };
    let mut response = http::Response::new(body);
    *response.status_mut() = http::StatusCode::from_u16(status).expect("a status");
    let value: &[u8] = match retry_after % 4 {
        0 => b"1",
        1 => b"Wed, 21 Oct 2015 07:28:00 GMT",
        2 => b"99999999999999999999",
        _ => std::slice::from_ref(retry_after),
    };
    for name in ["retry-after", "location", "date"] {
        if let Ok(value) = http::HeaderValue::from_bytes(value) {
            response.headers_mut().insert(name, value);
        }
    }
    let (response, key, timeouts) = (reqwest::Response::from(response), "key".into(), Timeouts::default());
    RUNTIME.block_on(async {
        let failed = match how >> 1 & 1 {
            0 => answer::id_of(response, key, timeouts).await.err(),
            _ if retry_after & 1 == 0 => answer::value_of::<client::SystemInfo>(response, key, timeouts).await.err(),
            _ => answer::value_of::<client::SuppressionListAnswer>(response, key, timeouts).await.err(),
        };
        if let Some(error) = failed {
            let _ = error.to_string();
        }
    });
});
