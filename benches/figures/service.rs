//! The built-in service as a process of its own, and a client that does nothing but create.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A service that ends with this value.
pub struct Service {
    pub url: String,
    pub key: String,
    child: Child,
    folder: tempfile::TempDir,
}

impl Service {
    /// Starts it with an empty database and rules for faults.
    pub fn start(letterpress: &Path, rules: &str, templates: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let faults = folder.path().join("faults.toml");
        fs::write(&faults, rules).unwrap();
        let mut command = Command::new(letterpress);
        command.args(["sandbox", "--listen", "127.0.0.1:0", "--max-templates", &templates.to_string(), "--db"]);
        command.arg(folder.path().join("sandbox.sqlite"));
        if !rules.is_empty() {
            command.arg("--faults").arg(faults);
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut word = |prefix: &str| {
            let line = lines.find(|line| line.starts_with(prefix)).unwrap();
            line[prefix.len()..].split(' ').next().unwrap().to_owned()
        };
        let (url, key) = (word("listening on "), word("project key: "));
        Self { url, key, child, folder }
    }

    /// The rule by which every answer to `/template/create` comes so many milliseconds late.
    pub fn delay(milliseconds: u32) -> String {
        format!("[[rule]]\npath = \"/template/create\"\ndelay_ms = {milliseconds}\n")
    }

    /// How many requests it has had.
    pub fn requests(&self) -> i64 {
        let connection = rusqlite::Connection::open(self.folder.path().join("sandbox.sqlite")).unwrap();
        connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
        connection.query_row("SELECT count(*) FROM requests", [], |row| row.get(0)).unwrap()
    }

    /// Creates small templates over a few connections that stay open; gives how many a second.
    pub fn creates_per_second(&self, count: usize, connections: usize) -> f64 {
        let address = self.url.strip_prefix("http://").unwrap();
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..connections {
                scope.spawn(|| {
                    let mut stream = TcpStream::connect(address).unwrap();
                    stream.set_nodelay(true).unwrap();
                    for _ in 0..count / connections {
                        self.create(&mut stream, address);
                    }
                });
            }
        });
        (count / connections * connections) as f64 / start.elapsed().as_secs_f64()
    }

    fn create(&self, stream: &mut TcpStream, address: &str) {
        let body = "{\"template\":{\"name\":\"small\",\"body\":{\"plaintext\":\"Hello\"}}}";
        let mut request = format!("POST /template/create HTTP/1.1\r\nHost: {address}\r\nX-API-KEY: {}\r\n", self.key);
        let _ = write!(request, "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let mut piece = [0; 4096];
        loop {
            let count = stream.read(&mut piece).unwrap();
            assert!(count > 0, "the service closed the connection");
            answer.extend_from_slice(&piece[..count]);
            let text = String::from_utf8_lossy(&answer).to_lowercase();
            let Some(end) = text.find("\r\n\r\n") else { continue };
            assert!(text.starts_with("http/1.1 200"), "{text}");
            let length = text.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
            if answer.len() >= end + 4 + length.parse::<usize>().unwrap() {
                return;
            }
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
