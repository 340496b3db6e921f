//! What an answer means: status first, then the words (safety §6, silent.md).

use std::io::{self, BufReader};
use std::time::{Duration, SystemTime};

use memchr::memchr2;
use reqwest::header::{DATE, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc;

use super::secret::ApiKey;
use super::{SendError, Timeouts, send};
use crate::desired::Id;
use crate::wire;

/// Longest answer that is read, in bytes.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// An answer up to this size is read as a whole; a longer one of the template call is read through.
const WHOLE_BYTES: u64 = 256 * 1024;

/// A piece of a long answer of at least this size, without a quote or a backslash, is the inside of a text: of an attachment in base64.
const INSIDE_BYTES: usize = 4 * 1024;

/// What the parser sees of such a piece: more than an id can have, so that no shortened text passes for one.
const SHORTENED_BYTES: usize = 1024;

/// Longest wait that a service may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(120);

/// Longest quotation of an answer that cannot be read.
const QUOTE_CHARS: usize = 120;

/// The `Date` header.
pub(super) fn date(response: &Response) -> Option<SystemTime> {
    httpdate::parse_http_date(response.headers().get(DATE)?.to_str().ok()?).ok()
}

/// What [`super::Client`] makes of an answer of the template call that came by another way: its id. For the fuzz target of answers.
///
/// # Errors
///
/// [`SendError`] says what may have happened.
pub async fn id_of(response: Response, key: SecretString, timeouts: Timeouts) -> Result<Id, SendError> {
    read_id(response, &ApiKey::new(key), timeouts).await
}

/// As [`id_of`], for any other operation.
///
/// # Errors
///
/// [`SendError`] says what may have happened.
pub async fn value_of<T: DeserializeOwned>(
    response: Response,
    key: SecretString,
    timeouts: Timeouts,
) -> Result<T, SendError> {
    read(response, &ApiKey::new(key), timeouts).await
}

/// Reads the answer of any operation but the template call.
pub(super) async fn read<T: DeserializeOwned>(
    response: Response,
    key: &ApiKey,
    timeouts: Timeouts,
) -> Result<T, SendError> {
    let status = response.status();
    let judge = Judge { status, key };
    let response = judge.head(response)?;
    let data = collect(response, timeouts).await.map_err(|why| judge.unreadable(&why))?;
    let data = key.mask_data(data);
    let reply = serde_json::from_slice(&data).map_err(|_| judge.not_json(&data))?;
    judge.reply(reply)?;
    serde_json::from_slice(&data).map_err(|error| judge.unreadable(&error.to_string()))
}

/// Reads the answer of the template call and keeps its id. The service sends the whole template back, attachments
/// included: a long answer runs through a parser that keeps nothing.
pub(super) async fn read_id(response: Response, key: &ApiKey, timeouts: Timeouts) -> Result<Id, SendError> {
    let status = response.status();
    let judge = Judge { status, key };
    let response = judge.head(response)?;
    let long = response.content_length().is_none_or(|bytes| bytes > WHOLE_BYTES);
    let reply = if status.is_success() && long {
        pass_through(response, timeouts).await.map_err(|why| judge.unreadable(&why))?
    } else {
        let data = collect(response, timeouts).await.map_err(|why| judge.unreadable(&why))?;
        serde_json::from_slice(&data).map_err(|_| judge.not_json(&data))?
    };
    let TemplateReply { status, code, message, template } = reply;
    judge.reply(Reply { status, code, message })?;
    let id = template.and_then(|template| template.id).ok_or_else(|| judge.unreadable("it names no id"))?;
    Id::new(id).map_err(|error| judge.unreadable(&error.to_string()))
}

/// What every answer has.
#[derive(Deserialize)]
struct Reply {
    status: Option<String>,
    code: Option<Value>,
    message: Option<Value>,
}

/// The answer of the template call, as far as it is of use. (Flattening [`Reply`] into it would keep the rest in memory.)
#[derive(Deserialize)]
struct TemplateReply {
    status: Option<String>,
    code: Option<Value>,
    message: Option<Value>,
    template: Option<IdOnly>,
}

#[derive(Deserialize)]
struct IdOnly {
    id: Option<String>,
}

/// Decides about one answer.
struct Judge<'a> {
    status: StatusCode,
    key: &'a ApiKey,
}

impl Judge<'_> {
    /// What the head alone decides.
    fn head(&self, response: Response) -> Result<Response, SendError> {
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            return Err(SendError::Throttled { retry_after: retry_after(&response) });
        }
        if self.status.is_redirection() {
            let to = response.headers().get(LOCATION).map_or(&b""[..], HeaderValue::as_bytes);
            let to = self.key.mask(&String::from_utf8_lossy(to));
            return Err(SendError::Redirected { http: self.status.as_u16(), to });
        }
        Ok(response)
    }

    /// What a readable answer decides.
    fn reply(&self, reply: Reply) -> Result<(), SendError> {
        let says = reply.status.unwrap_or_default();
        if self.status.is_success() {
            if wire::is_success(&says) {
                return Ok(());
            }
            if !says.eq_ignore_ascii_case("error") {
                return Err(self.unreadable(&format!("its `status` is `{says}`")));
            }
        }
        let plain = |value: Option<Value>| match value {
            Some(Value::String(text)) => self.key.mask(&text),
            Some(other) => self.key.mask(&other.to_string()),
            None => String::new(),
        };
        Err(self.failure(plain(reply.code), plain(reply.message)))
    }

    /// An answer that is not JSON, in its own words.
    fn not_json(&self, data: &[u8]) -> SendError {
        let quoted: String = String::from_utf8_lossy(data).trim().chars().take(QUOTE_CHARS).collect();
        if quoted.is_empty() {
            self.unreadable("it is empty")
        } else {
            self.unreadable(&format!("it is not the service's JSON: {quoted}"))
        }
    }

    /// An answer without readable words: the HTTP status decides alone.
    fn unreadable(&self, why: &str) -> SendError {
        let why = self.key.mask(why);
        if self.status.is_success() {
            SendError::Unknown { why: format!("HTTP {}, but the answer cannot be used: {why}", self.status.as_u16()) }
        } else {
            self.failure(String::new(), format!("the answer cannot be read: {why}"))
        }
    }

    fn failure(&self, code: String, message: String) -> SendError {
        match self.status.as_u16() {
            http @ (401 | 403) => SendError::Denied { http, message },
            // 408 comes from proxies too, also for a request that went through.
            http @ (408 | 500..) => SendError::Unknown { why: format!("HTTP {http}: {message}") },
            http => SendError::Refused { http, code, message },
        }
    }
}

/// Seconds or a date, at most [`RETRY_AFTER_MAX`]. A date counts from the service's own clock where it shows one.
fn retry_after(response: &Response) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let now = date(response).unwrap_or_else(SystemTime::now);
            httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default()
        }
    };
    Some(wait.min(RETRY_AFTER_MAX))
}

/// Reads a body whole, within the limits of time and size.
async fn collect(mut response: Response, timeouts: Timeouts) -> Result<Vec<u8>, String> {
    let read = async {
        // What is announced may never come.
        let announced = response.content_length().unwrap_or_default().min(WHOLE_BYTES);
        let mut data = Vec::with_capacity(usize::try_from(announced).unwrap_or_default());
        while let Some(chunk) = response.chunk().await.map_err(send::words)? {
            if data.len() + chunk.len() > ANSWER_BYTES {
                return Err(format!("the answer is over {ANSWER_BYTES} bytes"));
            }
            data.extend_from_slice(&chunk);
        }
        Ok(data)
    };
    tokio::time::timeout(timeouts.body, read).await.unwrap_or_else(|_| Err(too_slow(timeouts)))
}

/// Runs a body through a parser on a thread of its own, piece by piece.
async fn pass_through(mut response: Response, timeouts: Timeouts) -> Result<TemplateReply, String> {
    let (pieces, received) = mpsc::channel(2);
    let parser = tokio::task::spawn_blocking(move || {
        let received = Received { pieces: received, piece: Vec::new(), at: 0 };
        // The parser asks for each byte.
        serde_json::from_reader::<_, TemplateReply>(BufReader::new(received))
    });
    let read = async {
        let mut bytes = 0;
        while let Some(chunk) = response.chunk().await.map_err(send::words)? {
            bytes += chunk.len();
            if bytes > ANSWER_BYTES {
                return Err(format!("the answer is over {ANSWER_BYTES} bytes"));
            }
            if pieces.send(of_use(&chunk).to_vec()).await.is_err() {
                break;
            }
        }
        drop(pieces);
        Ok(())
    };
    tokio::time::timeout(timeouts.body, read).await.unwrap_or_else(|_| Err(too_slow(timeouts)))?;
    match parser.await {
        Ok(parsed) => parsed.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// What of a piece the parser has to see.
fn of_use(piece: &[u8]) -> &[u8] {
    let inside = piece.len() >= INSIDE_BYTES && memchr2(b'"', b'\\', piece).is_none();
    if inside { &piece[..SHORTENED_BYTES] } else { piece }
}

fn too_slow(timeouts: Timeouts) -> String {
    format!("the answer did not end within {} s", timeouts.body.as_secs())
}

/// The reading end of [`pass_through`].
struct Received {
    pieces: mpsc::Receiver<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
}

impl io::Read for Received {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            match self.pieces.blocking_recv() {
                Some(piece) => (self.piece, self.at) = (piece, 0),
                None => return Ok(0),
            }
        }
        let length = out.len().min(self.piece.len() - self.at);
        out[..length].copy_from_slice(&self.piece[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What the parser sees of an answer that comes in pieces of these sizes, over and over.
    fn seen(answer: &str, sizes: &[usize]) -> Vec<u8> {
        let (mut rest, mut seen) = (answer.as_bytes(), Vec::new());
        for size in sizes.iter().cycle() {
            let (piece, behind) = rest.split_at((*size).min(rest.len()));
            seen.extend_from_slice(of_use(piece));
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
        seen
    }

    proptest! {
        #[test]
        fn whatever_the_pieces_no_text_that_counts_is_shortened(
            texts in prop::collection::vec(("[a-z\"\\\\{}:,é\n]{0,12}", 0_usize..3_000), 0..6),
            id in "[a-z0-9-]{1,128}",
            sizes in prop::collection::vec(prop_oneof![1_usize..64, 1_usize..20_000], 1..4),
        ) {
            let attachments: Vec<Value> =
                texts.iter().map(|(text, times)| serde_json::json!({ "content": text.repeat(*times) })).collect();
            let template = serde_json::json!({ "attachments": attachments, "id": id, "subject": "\",\"id\":\"other\"" });
            let answer = serde_json::json!({ "status": "success", "template": template, "message": "é" }).to_string();
            let reply: TemplateReply = serde_json::from_reader(&seen(&answer, &sizes)[..]).unwrap();
            prop_assert_eq!(reply.status.as_deref(), Some("success"));
            prop_assert_eq!(reply.message, Some(Value::from("é")));
            prop_assert_eq!(reply.template.and_then(|template| template.id), Some(id));
        }
    }

    #[test]
    fn an_attachment_is_passed_over_and_an_id_of_its_length_is_refused() {
        let long = "QUJDRA".repeat(100_000);
        let answer = |id: &str, content: &str| {
            format!("{{\"status\":\"success\",\"template\":{{\"content\":\"{content}\",\"id\":\"{id}\"}}}}")
        };
        assert!(seen(&answer("a", &long), &[16_384]).len() < 80_000);
        let shortened = seen(&answer(&long, ""), &[16_384]);
        let reply: TemplateReply = serde_json::from_slice(&shortened).unwrap();
        assert!(shortened.len() < 80_000 && Id::new(reply.template.unwrap().id.unwrap()).is_err());
    }
}
