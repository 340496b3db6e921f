//! One attempt: a body out, a head back, and the certainty whether the last byte was handed over.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::{Stream, stream};
use reqwest::Url;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use tokio::time::Instant;

use super::body::{self, BLOCK, Piece, Pieces, Seen};
use super::{SendError, Timeouts};
use crate::desired::Attachment;
use crate::wire::API_KEY_HEADER;

/// Text is handed to the transport in pieces of this size, so that a slow network holds back what is still to come.
const TEXT: usize = 64 * 1024;

/// Sends a request once. The gate is asked just before the last byte of the body is handed to the transport.
pub(super) async fn send(
    http: &reqwest::Client,
    url: Url,
    key: HeaderValue,
    pieces: Pieces,
    timeouts: Timeouts,
    gate: impl Fn() -> bool + Send + 'static,
) -> Result<reqwest::Response, SendError> {
    let progress = Arc::new(Progress::default());
    let length = pieces.bytes;
    let body = feed(pieces, Arc::clone(&progress), gate);
    let request = http
        .post(url)
        .header(API_KEY_HEADER, key)
        .header(CONTENT_TYPE, "application/json")
        .header(CONTENT_LENGTH, length)
        .body(reqwest::Body::wrap_stream(body))
        .send();
    let why = tokio::select! {
        answer = request => match answer {
            Ok(answer) => return Ok(answer),
            Err(error) => words(error),
        },
        () = progress.stalled(timeouts.answer) => format!("nothing happened for {} s", timeouts.answer.as_secs()),
    };
    Err(progress.verdict(why))
}

/// An error of the HTTP library with its causes, without the address, which the caller knows.
pub(super) fn words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        let next = error.to_string();
        if !words.ends_with(&next) {
            words.push_str(": ");
            words.push_str(&next);
        }
        cause = error.source();
    }
    words
}

/// How far a body has come; shared between the transport, which pulls it, and the attempt, which judges.
#[derive(Default)]
struct Progress(Mutex<Stage>);

#[derive(Default)]
struct Stage {
    /// When the transport last took something.
    moved: Option<Instant>,
    /// The last byte was handed over: from here on the request may have been received.
    complete: bool,
    /// Why the body was broken off before its last byte.
    stopped: Option<SendError>,
}

impl Progress {
    fn change<T>(&self, change: impl FnOnce(&mut Stage) -> T) -> T {
        let mut stage = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut stage)
    }

    /// Returns when nothing has moved for so long.
    async fn stalled(&self, limit: Duration) {
        let start = Instant::now();
        loop {
            let moved = self.change(|stage| stage.moved).unwrap_or(start);
            if moved.elapsed() >= limit {
                return;
            }
            tokio::time::sleep_until(moved + limit).await;
        }
    }

    fn verdict(&self, why: String) -> SendError {
        self.change(|stage| match stage.stopped.take() {
            Some(error) => error,
            None if stage.complete => SendError::Unknown { why },
            None => SendError::NotSent { why },
        })
    }
}

/// The body as the transport pulls it.
struct Feed<G> {
    pieces: VecDeque<Piece>,
    open: Option<Open>,
    /// Bytes not handed over yet.
    left: u64,
    progress: Arc<Progress>,
    gate: G,
}

/// A file that is being sent.
struct Open {
    attachment: Attachment,
    file: std::fs::File,
    seen: Seen,
}

/// Breaks the body off; the reason is in [`Progress`].
#[derive(Debug, thiserror::Error)]
#[error("the request was broken off")]
struct BrokenOff;

fn feed<G: Fn() -> bool + Send + 'static>(
    pieces: Pieces,
    progress: Arc<Progress>,
    gate: G,
) -> impl Stream<Item = Result<Vec<u8>, BrokenOff>> + Send + 'static {
    let feed = Feed { pieces: pieces.list.into(), open: None, left: pieces.bytes, progress, gate };
    stream::try_unfold(feed, |mut feed| async move {
        match feed.next().await {
            Ok(Some(chunk)) => Ok(Some((chunk, feed))),
            Ok(None) => Ok(None),
            Err(error) => {
                feed.progress.change(|stage| stage.stopped = Some(error));
                Err(BrokenOff)
            }
        }
    })
}

impl<G: Fn() -> bool> Feed<G> {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, SendError> {
        if self.left == 0 {
            return Ok(None);
        }
        let chunk = loop {
            let chunk = self.chunk().await?;
            if !chunk.is_empty() {
                break chunk;
            }
        };
        self.left = self.left.saturating_sub(chunk.len() as u64);
        if self.left == 0 && !(self.gate)() {
            return Err(SendError::NotSent { why: "the right to send had run out before the last byte".to_owned() });
        }
        let complete = self.left == 0;
        self.progress.change(|stage| {
            stage.moved = Some(Instant::now());
            stage.complete = complete;
        });
        Ok(Some(chunk))
    }

    async fn chunk(&mut self) -> Result<Vec<u8>, SendError> {
        if let Some(open) = self.open.take() {
            return self.file(open).await;
        }
        match self.pieces.pop_front() {
            Some(Piece::Text(mut text)) => {
                if text.len() > TEXT {
                    let rest = text.split_off(TEXT);
                    self.pieces.push_front(Piece::Text(rest));
                }
                Ok(text)
            }
            Some(Piece::File(attachment)) => {
                let path = attachment.file.clone();
                let file = blocking(move || body::open(&path)).await?;
                self.file(Open { attachment, file, seen: Seen::default() }).await
            }
            // The pieces came to fewer bytes than were counted, which the tests of `body` rule out.
            None => Err(SendError::NotSent { why: "the request is shorter than announced".to_owned() }),
        }
    }

    async fn file(&mut self, mut open: Open) -> Result<Vec<u8>, SendError> {
        let (open, encoded, end) = blocking(move || {
            let mut block = vec![0; BLOCK];
            let filled = body::fill(&mut open.file, &mut block)?;
            open.seen.add(&block[..filled]);
            let end = filled < block.len();
            let grown = open.seen.bytes() > open.attachment.bytes;
            if grown || (end && !open.seen.is(&open.attachment)) {
                return Err(body::changed(&open.attachment));
            }
            Ok((open, body::encode(&block[..filled]), end))
        })
        .await?;
        if !end {
            self.open = Some(open);
        }
        Ok(encoded)
    }
}

/// Runs what waits for the disk on a thread that may wait.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, SendError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(SendError::File { why: error.to_string() }),
        Err(error) => Err(SendError::NotSent { why: error.to_string() }),
    }
}
