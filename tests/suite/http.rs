//! A small HTTP/1.1 client over a plain socket: it sends exactly what a test wants, however wrong.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::support::Service;

/// A key and where to send it.
#[derive(Clone)]
pub struct Client {
    pub address: String,
    pub key: String,
}

/// An answer, whole.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Client {
    /// With the service's project key.
    pub fn of(service: &Service) -> Self {
        Self::with_key(service, &service.key)
    }

    /// With another key.
    pub fn with_key(service: &Service, key: &str) -> Self {
        Self { address: service.url.trim_start_matches("http://").to_owned(), key: key.to_owned() }
    }

    /// A POST as the interface wants it.
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.try_post(path, body).unwrap()
    }

    /// The same, where the answer may not come.
    pub fn try_post(&self, path: &str, body: &Value) -> io::Result<Reply> {
        self.send("POST", path, &[], body.to_string().as_bytes())
    }

    /// A body as it is.
    #[track_caller]
    pub fn post_raw(&self, path: &str, body: impl AsRef<[u8]>) -> Reply {
        self.send("POST", path, &[], body.as_ref()).unwrap()
    }

    /// Any request. `headers` come in place of the usual ones of the same name; an empty value leaves one out.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> io::Result<Reply> {
        let usual = [
            ("host", self.address.as_str()),
            ("connection", "close"),
            ("content-type", "application/json"),
            ("x-api-key", self.key.as_str()),
        ];
        let replaced = |name: &str| headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        for (name, value) in usual.iter().filter(|(name, _)| !replaced(name)).chain(headers) {
            if !value.is_empty() {
                head += &format!("{name}: {value}\r\n");
            }
        }
        if !replaced("transfer-encoding") && !replaced("content-length") {
            head += &format!("content-length: {}\r\n", body.len());
        }
        head += "\r\n";
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        Reply::parse(&self.exchange(&bytes)?, method != "HEAD")
    }

    /// Bytes out, an answer in.
    pub fn exchange(&self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.write_all(bytes)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    }
}

impl Reply {
    /// Reads a whole answer; one that broke off is an error. An answer to HEAD has no body, whatever its length says.
    pub fn parse(answer: &[u8], has_body: bool) -> io::Result<Self> {
        let broken = || io::Error::new(io::ErrorKind::UnexpectedEof, "the answer broke off");
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n").ok_or_else(broken)?;
        let head = String::from_utf8_lossy(&answer[..end]);
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).ok_or_else(broken)?;
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let reply = Self { status, headers, body: answer[end + 4..].to_vec() };
        match reply.header("content-length").map(str::parse::<usize>) {
            Some(Ok(length)) if has_body && reply.body.len() != length => Err(broken()),
            _ => Ok(reply),
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// The body, which must be JSON and say so.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The body of a success.
    #[track_caller]
    pub fn success(&self) -> Value {
        let json = self.json();
        assert_eq!((self.status, json["status"].as_str()), (200, Some("Success")), "{json}");
        json
    }

    /// An error: its HTTP status, its code (which must have the type that the path has), and a part of its message.
    #[track_caller]
    pub fn refuses(&self, status: u16, code: impl Into<Value>, says: &str) {
        let json = self.json();
        assert_eq!((self.status, &json["code"]), (status, &code.into()), "{json}");
        assert_eq!(json["status"], "Error", "{json}");
        assert!(json["message"].as_str().is_some_and(|message| message.contains(says)), "{json} lacks {says:?}");
        assert_eq!(json.as_object().map(serde_json::Map::len), Some(3), "{json}");
    }
}
