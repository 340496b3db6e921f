//! The register in a bucket: conditional writes of the cloud's own (safety §3).
//!
//! Nothing here is sent twice: `object_store` would repeat a conditional write after a 5xx and then report our own first write as somebody else's. What is not
//! a clear answer is [`Reply::Unknown`], and the protocol reads back.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload, UpdateVersion};

use super::access::{self, Access, Variables};
use crate::state::call::{Call, Reply, Token};
use crate::state::error::Error;
use crate::state::location::Cloud;

const HEAD: &str = "head.json";

/// The longest that one call may take: under the 40 s for which a holder may send.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);

/// Writers that race in the self-test.
const RACERS: usize = 16;

/// A prefix in a bucket.
#[derive(Debug)]
pub struct Bucket {
    store: Box<dyn ObjectStore>,
    /// Where the credentials come from, for messages.
    from: String,
    cloud: Cloud,
    prefix: Path,
    place: String,
}

impl Bucket {
    /// Opens a bucket with the credentials that the cloud's own tools would take from the environment; nothing is sent yet.
    ///
    /// # Errors
    ///
    /// [`Error::Access`] when settings or credentials are missing or cannot be used.
    pub fn open(cloud: Cloud, bucket: &str, prefix: &str, place: String) -> Result<Self, Error> {
        let access = access::to(cloud, bucket, &Variables::of_this_process());
        let Access { store, from } = access.map_err(|why| Error::Access { place: place.clone(), why })?;
        Ok(Self { store, from, cloud, prefix: Path::from(prefix), place })
    }

    /// Whose bucket it is.
    #[must_use]
    pub fn cloud(&self) -> Cloud {
        self.cloud
    }

    /// Where the credentials come from.
    #[must_use]
    pub fn credentials(&self) -> &str {
        &self.from
    }

    /// Carries out one call, once.
    pub async fn answer(&self, call: Call) -> Reply {
        match tokio::time::timeout(DEADLINE, self.carry(call)).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => self.refusal(&error),
            Err(_) => Reply::Unknown(format!("no answer within {} s", DEADLINE.as_secs())),
        }
    }

    /// Failures that another attempt does not mend are told apart, so that nobody waits for them.
    fn refusal(&self, error: &object_store::Error) -> Reply {
        match error {
            object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
                Reply::Refused(format!("{} (credentials: {})", words(error), self.from))
            }
            object_store::Error::NotFound { .. } if lacks_bucket(error) => {
                Reply::Refused("there is no such bucket or container".to_owned())
            }
            object_store::Error::NotFound { .. }
            | object_store::Error::NotImplemented { .. }
            | object_store::Error::InvalidPath { .. } => Reply::Refused(words(error)),
            object_store::Error::Generic { store: "credentials", .. } => {
                Reply::Unknown(format!("{} (credentials: {})", words(error), self.from))
            }
            _ => Reply::Unknown(words(error)),
        }
    }

    async fn carry(&self, call: Call) -> object_store::Result<Reply> {
        match call {
            Call::Load => self.load(HEAD).await.map(Reply::Loaded),
            Call::Get { name } => Ok(Reply::Got(self.load(&name).await?.map(|(bytes, _)| bytes))),
            Call::Swap { expected, bytes } => self.swap(HEAD, expected, bytes.to_vec()).await,
            Call::Put { name, bytes } => {
                self.store.put(&self.path(&name), PutPayload::from(bytes.to_vec())).await?;
                Ok(Reply::Done)
            }
            Call::Delete { name } => match self.store.delete(&self.path(&name)).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(Reply::Done),
                Err(error) => Err(error),
            },
            #[cfg(test)]
            Call::Overwrite { bytes } => {
                let put = self.store.put(&self.path(HEAD), PutPayload::from(bytes.to_vec())).await?;
                Ok(Reply::Swapped(self.token(put.e_tag, put.version)))
            }
        }
    }

    fn path(&self, name: &str) -> Path {
        name.split('/').fold(self.prefix.clone(), Path::join)
    }

    /// The one mark of a version that the store both reports and compares.
    fn token(&self, e_tag: Option<String>, version: Option<String>) -> Token {
        let mark = match self.cloud {
            Cloud::Gcs => version,
            Cloud::S3 | Cloud::Azure => e_tag,
        };
        Token(mark.unwrap_or_default())
    }

    fn mode(&self, expected: Option<Token>) -> PutMode {
        match (expected, self.cloud) {
            (None, _) => PutMode::Create,
            (Some(Token(mark)), Cloud::Gcs) => PutMode::Update(UpdateVersion { e_tag: None, version: Some(mark) }),
            (Some(Token(mark)), _) => PutMode::Update(UpdateVersion { e_tag: Some(mark), version: None }),
        }
    }

    async fn load(&self, name: &str) -> object_store::Result<Option<(Vec<u8>, Token)>> {
        let found = match self.store.get(&self.path(name)).await {
            // A bucket that is not there is no empty place.
            Err(error @ object_store::Error::NotFound { .. }) if lacks_bucket(&error) => return Err(error),
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            other => other?,
        };
        let token = self.token(found.meta.e_tag.clone(), found.meta.version.clone());
        Ok(Some((found.bytes().await?.to_vec(), token)))
    }

    async fn swap(&self, name: &str, expected: Option<Token>, bytes: Vec<u8>) -> object_store::Result<Reply> {
        let options = PutOptions { mode: self.mode(expected), ..PutOptions::default() };
        match self.store.put_opts(&self.path(name), PutPayload::from(bytes), options).await {
            Ok(put) => Ok(Reply::Swapped(self.token(put.e_tag, put.version))),
            Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => {
                Ok(Reply::Conflict)
            }
            Err(error) => Err(error),
        }
    }

    /// The names of the snapshots that are there, in no order.
    pub async fn names(&self) -> Vec<String> {
        let prefix = (!self.prefix.as_ref().is_empty()).then_some(&self.prefix);
        let list = tokio::time::timeout(DEADLINE, self.store.list_with_delimiter(prefix)).await;
        let Ok(Ok(list)) = list else { return Vec::new() };
        list.objects.iter().filter_map(|object| object.location.filename().map(str::to_owned)).collect()
    }

    /// The names of what is in a folder below the prefix, in no order.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] with the store's words.
    pub async fn names_below(&self, folder: &str) -> Result<Vec<String>, Error> {
        let below = self.path(folder);
        let list = tokio::time::timeout(DEADLINE, self.store.list_with_delimiter(Some(&below))).await;
        let lost = |why| Error::Store { place: format!("{}/{folder}", self.place), why };
        match list {
            Ok(Ok(list)) => {
                Ok(list.objects.iter().filter_map(|object| object.location.filename().map(str::to_owned)).collect())
            }
            Ok(Err(error)) => Err(lost(words(&error))),
            Err(_) => Err(lost(format!("no answer within {} s", DEADLINE.as_secs()))),
        }
    }

    /// Removes objects, many with one request where the cloud can; gives its words for each that stays. One that is not there is no failure.
    pub async fn remove(&self, names: Vec<String>) -> Vec<String> {
        let paths: Vec<_> = names.iter().map(|name| Ok(self.path(name))).collect();
        let stream = self.store.delete_stream(futures_util::stream::iter(paths).boxed());
        let stays = |done: object_store::Result<Path>| async {
            match done {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => None,
                Err(error) => Some(words(&error)),
            }
        };
        let removal = tokio::time::timeout(DEADLINE, stream.filter_map(stays).collect()).await;
        removal.unwrap_or_else(|_| vec![format!("no answer within {} s", DEADLINE.as_secs())])
    }

    /// Proves that conditional writes hold, by racing them: some stores check the condition and write in two steps, which single requests never show
    /// (safety §1.6).
    ///
    /// # Errors
    ///
    /// [`Error::Unfit`] when more than one writer wins, or a write does not show up; [`Error::Store`] when nothing can be written.
    pub async fn prove(&self, name: &str) -> Result<(), Error> {
        let proven = self.race(name).await;
        let _ = self.answer(Call::Delete { name: name.to_owned() }).await;
        proven
    }

    async fn race(&self, name: &str) -> Result<(), Error> {
        let unfit = |why: String| Error::Unfit { place: self.place.clone(), why };
        let first = self.winner(name, None, "create").await?;
        let second = self.winner(name, Some(first.clone()), "update").await?;
        for (expected, what) in [(None, "an object that was there"), (Some(first), "a version that was gone")] {
            match self.too_late(name, expected).await {
                Ok(Reply::Swapped(_)) => {
                    return Err(unfit(format!("it took a conditional write over {what}")));
                }
                Ok(_) => {}
                Err(error) => return Err(Error::Store { place: self.place.clone(), why: words(&error) }),
            }
        }
        match self.load(name).await {
            Ok(Some((_, token))) if token == second => Ok(()),
            Ok(_) => Err(unfit("it does not show the write that it had taken last".to_owned())),
            Err(error) => Err(Error::Store { place: self.place.clone(), why: words(&error) }),
        }
    }

    /// A write whose condition does not hold. A store that takes one write per second to an object may have to be asked again.
    async fn too_late(&self, name: &str, expected: Option<Token>) -> object_store::Result<Reply> {
        for _ in 0..3 {
            if let Ok(reply) = self.swap(name, expected.clone(), b"too late".to_vec()).await {
                return Ok(reply);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        self.swap(name, expected, b"too late".to_vec()).await
    }

    /// Lets many writers race for one version: exactly one of them wins, and what it wrote is there.
    async fn winner(&self, name: &str, expected: Option<Token>, what: &str) -> Result<Token, Error> {
        let unfit = |why: String| Error::Unfit { place: self.place.clone(), why };
        let mut failure = String::new();
        for _ in 0..3 {
            let racers = (0..RACERS).map(|racer| {
                let content = format!("{what} by racer {racer}");
                let expected = expected.clone();
                async move { (content.clone(), self.swap(name, expected, content.into_bytes()).await) }
            });
            let mut winners = Vec::new();
            for (content, outcome) in join_all(racers).await {
                match outcome {
                    Ok(Reply::Swapped(token)) => winners.push((content, token)),
                    Ok(_) => {}
                    Err(error) => failure = words(&error),
                }
            }
            let found = self
                .load(name)
                .await
                .map_err(|error| Error::Store { place: self.place.clone(), why: words(&error) })?;
            match (winners.as_slice(), found) {
                ([(content, token)], Some((bytes, found))) if bytes == content.as_bytes() && found == *token => {
                    return Ok(found);
                }
                ([_], _) => return Err(unfit("it does not show the write that it has just taken".to_owned())),
                // An answer was lost: whoever is there has won.
                ([], Some((_, token))) if Some(&token) != expected.as_ref() => return Ok(token),
                ([], _) => tokio::time::sleep(Duration::from_secs(1)).await,
                (many, _) => {
                    return Err(unfit(format!(
                        "its conditional writes do not hold: {} of {RACERS} writers won the same {what}",
                        many.len()
                    )));
                }
            }
        }
        Err(Error::Store { place: self.place.clone(), why: format!("nothing can be written: {failure}") })
    }
}

/// Whether it is the bucket that was not found, and not the object: the stores have a code for it.
fn lacks_bucket(error: &object_store::Error) -> bool {
    let text = words(error);
    ["NoSuchBucket", "ContainerNotFound"].iter().any(|code| text.contains(code))
}

/// An error with its causes, in one line.
pub(super) fn words(error: &object_store::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = error.source();
    }
    text
}
