//! Every kind of answer over a real socket: what the caller is told it may do.

use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::desired::{Attachment, Digest};

const KEY: &str = "canary-key-4711";

/// Answers each connection with the same bytes and then closes it; keeps what it was sent.
async fn service(answer: &'static [u8]) -> (Client, Arc<Mutex<Vec<Vec<u8>>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(&format!("http://{}", listener.local_addr().unwrap()));
    let requests = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&requests);
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let kept = Arc::clone(&kept);
            tokio::spawn(async move {
                let request = request(&mut socket).await;
                kept.lock().unwrap().push(request);
                let _ = socket.write_all(answer).await;
            });
        }
    });
    (client, requests)
}

/// Reads a request as far as it comes.
async fn request(socket: &mut tokio::net::TcpStream) -> Vec<u8> {
    let mut request = Vec::new();
    let mut piece = vec![0; 65_536];
    loop {
        let read = socket.read(&mut piece).await.unwrap_or(0);
        request.extend_from_slice(&piece[..read]);
        let head = request.windows(4).position(|four| four == b"\r\n\r\n");
        let Some(head) = head else {
            // A request that was given up may not even have its head.
            if read == 0 {
                return request;
            }
            continue;
        };
        let text = String::from_utf8_lossy(&request[..head]).to_lowercase();
        let length = text.split("content-length: ").nth(1).unwrap().lines().next().unwrap();
        if read == 0 || request.len() >= head + 4 + length.parse::<usize>().unwrap() {
            return request;
        }
    }
}

fn client(url: &str) -> Client {
    let timeouts =
        Timeouts { answer: Duration::from_millis(300), body: Duration::from_millis(300), ..Timeouts::default() };
    Client::new(Options { base_url: BaseUrl::new(url).unwrap(), api_key: KEY.into(), timeouts }).unwrap()
}

async fn info(answer: &'static [u8]) -> SendError {
    let (client, _) = service(answer).await;
    client.system_info().await.unwrap_err()
}

#[tokio::test]
async fn a_refusal_says_so_whatever_the_status_and_the_type_of_the_code() {
    let refused = |http, code: &str| SendError::Refused { http, code: code.to_owned(), message: "no".to_owned() };
    let text =
        b"HTTP/1.1 200 OK\r\nContent-Length: 45\r\n\r\n{\"status\":\"Error\",\"code\":\"12\",\"message\":\"no\"}";
    assert_eq!(info(text).await, refused(200, "12"));
    let number = b"HTTP/1.1 400 Bad\r\nContent-Length: 43\r\n\r\n{\"status\":\"error\",\"code\":12,\"message\":\"no\"}";
    assert_eq!(info(number).await, refused(400, "12"));
}

#[tokio::test]
async fn answers_that_leave_it_open() {
    let open: [&[u8]; 7] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<html></html>",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"status\":\"Succ",
        b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{\"status\":\"Success\"}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 500 Oops\r\nContent-Length: 43\r\n\r\n{\"status\":\"Error\",\"code\":12,\"message\":\"no\"}",
        b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n",
        b"",
    ];
    for answer in open {
        let error = info(answer).await;
        assert!(matches!(error, SendError::Unknown { .. }), "{error:?} for {:?}", String::from_utf8_lossy(answer));
    }
}

#[tokio::test]
async fn the_key_is_refused_and_its_echo_is_cut_out() {
    let error = info(b"HTTP/1.1 401 No\r\nContent-Length: 62\r\n\r\n{\"status\":\"Error\",\"code\":1,\"message\":\"no key canary-key-4711\"}").await;
    let expected = SendError::Denied { http: 401, message: "no key [API key]".to_owned() };
    assert_eq!(error, expected);
    let error = info(b"HTTP/1.1 403 No\r\nContent-Length: 6\r\n\r\n<html>").await;
    assert!(matches!(error, SendError::Denied { http: 403, .. }), "{error:?}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (client, requests) = service(
        b"HTTP/1.1 307 Go\r\nLocation: https://elsewhere.example/?k=canary-key-4711\r\nContent-Length: 0\r\n\r\n",
    )
    .await;
    let to = "https://elsewhere.example/?k=[API key]".to_owned();
    assert_eq!(client.system_info().await.unwrap_err(), SendError::Redirected { http: 307, to });
    assert_eq!(requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn retry_after_is_read_as_seconds_and_as_a_date_and_has_a_ceiling() {
    let after = |seconds| SendError::Throttled { retry_after: Some(Duration::from_secs(seconds)) };
    assert_eq!(info(b"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n").await, after(7));
    assert_eq!(info(b"HTTP/1.1 429 Slow\r\nRetry-After: 7000\r\nContent-Length: 0\r\n\r\n").await, after(120));
    let date = b"HTTP/1.1 429 Slow\r\nDate: Sat, 21 Nov 2026 03:00:00 GMT\r\nRetry-After: Sat, 21 Nov 2026 03:00:09 GMT\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(info(date).await, after(9));
    let none = info(b"HTTP/1.1 429 Slow\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(none, SendError::Throttled { retry_after: None });
}

#[tokio::test]
async fn a_refused_connection_was_not_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(&format!("http://{}", listener.local_addr().unwrap()));
    drop(listener);
    let error = client.create_placeholder("letterpress-1", None, || true).await.unwrap_err();
    assert!(matches!(error, SendError::NotSent { .. }), "{error:?}");
}

#[tokio::test]
async fn silence_after_the_last_byte_is_unknown() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(&format!("http://{}", listener.local_addr().unwrap()));
    let error = client.create_placeholder("letterpress-1", None, || true).await.unwrap_err();
    assert!(matches!(error, SendError::Unknown { .. }), "{error:?}");
    drop(listener);
}

#[tokio::test]
async fn a_closed_gate_keeps_the_last_byte_back() {
    let (client, requests) = service(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let error = client.create_placeholder("letterpress-1", None, || false).await.unwrap_err();
    assert!(matches!(error, SendError::NotSent { .. }), "{error:?}");
    // Another request on the way proves that the first never became whole.
    let _ = client.create_placeholder("letterpress-2", None, || true).await;
    let whole = |request: &Vec<u8>| request.ends_with(b"}");
    assert_eq!(requests.lock().unwrap().iter().filter(|request| whole(request)).count(), 1);
}

const STORED: &[u8] =
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5d\r\n{\"status\":\"SUCCESS\",\"template\":{\"attachments\":[{}],\"id\":\"a-1\",\"name\":\"n\",\"body\":{\"html\":\"\"}}}\r\n0\r\n\r\n";

#[tokio::test]
async fn an_id_is_read_out_of_a_chunked_answer() {
    let (client, requests) = service(STORED).await;
    let id = client.create_placeholder("letterpress-1", None, || true).await.unwrap();
    assert_eq!(id.as_str(), "a-1");
    let sent = String::from_utf8(requests.lock().unwrap().remove(0)).unwrap().to_lowercase();
    assert!(sent.starts_with("post /template/create http/1.1\r\n"), "{sent}");
    assert!(sent.contains("\r\nx-api-key: canary-key-4711\r\n") && !sent.contains("chunked"), "{sent}");
}

#[tokio::test]
async fn an_update_that_is_answered_for_another_template_is_an_error_of_its_own() {
    let (client, _) = service(STORED).await;
    let template = template(Vec::new());
    client.update(&Id::new("a-1").unwrap(), &template, || true).await.unwrap();
    let error = client.update(&Id::new("b-2").unwrap(), &template, || true).await.unwrap_err();
    assert!(matches!(error, SendError::WrongId { .. }), "{error:?}");
}

#[tokio::test]
async fn attachments_are_streamed_and_a_changed_file_never_becomes_a_whole_request() {
    let content: Vec<u8> = (0..300_001_u32).map(|at| (at % 251) as u8).collect();
    let mut disk = tempfile::NamedTempFile::new().unwrap();
    disk.write_all(&content).unwrap();
    let attachment = Attachment {
        name: "a.bin".to_owned(),
        mime: "application/octet-stream".to_owned(),
        file: disk.path().to_owned(),
        bytes: content.len() as u64,
        digest: Digest::of(&content),
    };
    let template = template(vec![attachment]);
    let id = Id::new("a-1").unwrap();
    let (client, requests) = service(STORED).await;
    client.update(&id, &template, || true).await.unwrap();
    let mut expected = Vec::new();
    body::write(&template, Some(&id), &mut expected).unwrap();
    assert!(requests.lock().unwrap().remove(0).ends_with(&expected));

    disk.write_all(b"more").unwrap();
    let error = client.update(&id, &template, || true).await.unwrap_err();
    assert!(
        matches!(&error, SendError::File { why } if why.ends_with("changed on disk since it was checked")),
        "{error:?}"
    );
}

/// Answers every request of a connection, counts connections, and closes none.
async fn patient(head: &'static str) -> (Client, Arc<Mutex<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(&format!("http://{}", listener.local_addr().unwrap()));
    let connections = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            *counted.lock().unwrap() += 1;
            tokio::spawn(async move {
                let body = r#"{"status":"Success","template":{"id":"a-1"}}"#;
                let answer = format!("HTTP/1.1 200 OK\r\n{head}Content-Length: {}\r\n\r\n{body}", body.len());
                while !request(&mut socket).await.is_empty() {
                    socket.write_all(answer.as_bytes()).await.unwrap();
                }
            });
        }
    });
    (client, connections)
}

#[tokio::test]
async fn a_create_takes_a_fresh_connection_unless_the_service_promises_to_hold_it() {
    for (head, expected) in
        [("", 4), ("Connection: keep-alive\r\n", 4), ("Keep-Alive: timeout=1\r\n", 4), ("Keep-Alive: timeout=5\r\n", 2)]
    {
        let (client, connections) = patient(head).await;
        for _ in 0..4 {
            client.create_placeholder("letterpress-1", None, || true).await.unwrap();
        }
        assert_eq!(*connections.lock().unwrap(), expected, "{head:?}");
    }
}

#[tokio::test]
async fn a_service_without_tls_behind_https_was_not_sent_anything() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(&format!("https://{}", listener.local_addr().unwrap()));
    let refuse = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    };
    let (error, ()) = tokio::join!(client.create_placeholder("letterpress-1", None, || true), refuse);
    assert!(matches!(error, Err(SendError::NotSent { .. })), "{error:?}");
}

fn template(attachments: Vec<Attachment>) -> Template {
    Template { html: Some("<p>Hello</p>".repeat(20_000)), attachments, ..Template::bare("welcome") }
}
