//! §8: the limits of a request and of an account. Those of single fields stand with their fields.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use super::Bench;
use crate::http::Reply;

const LIMIT: usize = 10_485_760;

/// A good request of exactly so many bytes.
fn request(bytes: usize) -> Vec<u8> {
    let empty = json!({ "template": { "name": "large", "body": { "html": "" } } }).to_string();
    empty.replace("\"html\":\"\"", &format!("\"html\":\"{}\"", "x".repeat(bytes - empty.len()))).into_bytes()
}

#[test]
fn s8_a_request_of_10_mb_is_taken_and_one_byte_more_is_not() {
    let bench = Bench::new();
    bench.client.post_raw("/template/create", request(LIMIT)).success();
    bench.client.post_raw("/template/create", request(LIMIT + 1)).refuses(413, "9006", "larger than 10485760 bytes");
    assert_eq!(bench.service.count("SELECT count(*) FROM templates"), 1);
    assert_eq!(bench.service.count("SELECT count(*) FROM requests WHERE http = 413"), 1);
}

#[test]
fn s8_a_chunked_request_has_the_same_limit() {
    let bench = Bench::new();
    let send = |bytes: usize| {
        let mut chunked = Vec::new();
        for chunk in request(bytes).chunks(1_000_000) {
            chunked.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
            chunked.extend_from_slice(chunk);
            chunked.extend_from_slice(b"\r\n");
        }
        chunked.extend_from_slice(b"0\r\n\r\n");
        bench.client.send("POST", "/template/create", &[("transfer-encoding", "chunked")], &chunked).unwrap()
    };
    send(LIMIT).success();
    send(LIMIT + 1).refuses(413, "9006", "larger than 10485760 bytes");
}

#[test]
fn s8_a_body_that_does_not_end_is_given_up() {
    let bench = Bench::with(["--patience", "1"]);
    let headers = [("content-length", "1000")];
    bench.client.send("POST", "/system/info", &headers, b"{").unwrap().refuses(408, 9008, "did not arrive in time");
    bench.client.post("/system/info", &json!({})).success();
}

#[test]
fn s8_a_body_that_breaks_off_changes_nothing() {
    let bench = Bench::new();
    let whole = request(1_000);
    let head = format!(
        "POST /template/create HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nx-api-key: {}\r\ncontent-length: {}\r\n\r\n",
        bench.client.address,
        bench.client.key,
        whole.len()
    );
    let mut stream = TcpStream::connect(&bench.client.address).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&whole[..500]).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(Reply::parse(&rest, true).map_or(true, |reply| reply.status == 400));
    assert_eq!(bench.service.count("SELECT count(*) FROM templates"), 0);
}

#[test]
fn s8_an_account_holds_as_many_templates_as_it_may() {
    let bench = Bench::with(["--max-templates", "3"]);
    let id = bench.stored(json!({}))["id"].clone();
    bench.stored(json!({}));
    bench
        .account()
        .post("/template/create", &json!({ "template": { "name": "n", "body": { "html": "x" } } }))
        .success();
    bench.template(json!({})).refuses(400, "9018", "has 3 templates already");
    bench.stored(json!({ "id": id }));
}

#[test]
fn s8_the_limit_of_templates_is_10000() {
    let bench = Bench::new();
    bench.stored(json!({}));
    let fill = "UPDATE accounts SET templates = 9999";
    bench.service.database().execute(fill, []).unwrap();
    bench.stored(json!({}));
    bench.template(json!({})).refuses(400, "9018", "has 10000 templates already");
}
