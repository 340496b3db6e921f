//! Templates that were read and wait to be sent, so that each file is read once, and before its turn comes.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Loaded;
use super::reading::{Coming, Readers};
use crate::desired::Key;

/// Bytes of text that are held at most; what is beyond is read when it is sent.
const MOST: usize = 8 * 1024 * 1024;

/// The templates at hand, by their keys.
pub(super) struct AtHand {
    templates: HashMap<Key, Source>,
    room: Room,
}

impl AtHand {
    pub(super) fn new() -> Self {
        Self { templates: HashMap::new(), room: Room::of(MOST) }
    }

    /// Has a template read before its turn comes.
    pub(super) fn expect(&mut self, key: Key, readers: &Readers) {
        let coming = readers.ahead(key.clone(), self.room.clone());
        self.templates.insert(key, Source::Disk(coming));
    }

    /// Holds a template, where there is room for it.
    pub(super) fn keep(&mut self, loaded: Loaded) {
        if let Some(placed) = self.room.place(loaded) {
            self.templates.insert(placed.loaded.template.key.clone(), Source::Here(Box::new(placed)));
        }
    }

    /// Gives a template away.
    pub(super) fn take(&mut self, key: &Key) -> Option<Source> {
        self.templates.remove(key)
    }
}

/// Where a template is.
pub(super) enum Source {
    /// At hand.
    Here(Box<Placed>),
    /// Being read.
    Disk(Coming),
}

impl Source {
    /// The template, or why it cannot be read; nothing where there was no room for it.
    pub(super) async fn loaded(self) -> Option<Result<Loaded, String>> {
        match self {
            Self::Here(placed) => Some(Ok(placed.take())),
            Self::Disk(coming) => coming.await.ok().map(|read| read.map(Placed::take)),
        }
    }
}

/// A template and the room that it takes.
#[derive(Debug)]
pub(super) struct Placed {
    loaded: Loaded,
    _place: Option<OwnedSemaphorePermit>,
}

impl Placed {
    /// The template; its room is free again.
    pub(super) fn take(self) -> Loaded {
        self.loaded
    }
}

/// Room for so many bytes of text. Clones share it.
#[derive(Clone)]
pub(super) struct Room(Option<Arc<Semaphore>>);

impl Room {
    /// Room for so many.
    pub(super) fn of(bytes: usize) -> Self {
        Self(Some(Arc::new(Semaphore::new(bytes))))
    }

    /// Room for everything.
    pub(super) fn endless() -> Self {
        Self(None)
    }

    /// Whether there is none left.
    pub(super) fn is_full(&self) -> bool {
        self.0.as_ref().is_some_and(|room| room.available_permits() == 0)
    }

    /// Finds a place for a template.
    pub(super) fn place(&self, loaded: Loaded) -> Option<Placed> {
        let place = match &self.0 {
            None => None,
            Some(room) => {
                let bytes = u32::try_from(loaded.template.text_bytes()).ok()?;
                Some(Arc::clone(room).try_acquire_many_owned(bytes).ok()?)
            }
        };
        Some(Placed { loaded, _place: place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desired::Template;

    fn template(key: &str, bytes: usize) -> Loaded {
        let template = Template { html: Some("x".repeat(bytes)), ..Template::bare(key) };
        Loaded { digest: template.digest(), template }
    }

    #[tokio::test]
    async fn no_more_is_held_than_there_is_room_for() {
        let mut at_hand = AtHand::new();
        let key = |name| Key::new(name).unwrap();
        for name in ["a", "b", "c"] {
            at_hand.keep(template(name, MOST / 2));
        }
        assert!(at_hand.take(&key("c")).is_none());
        assert!(at_hand.room.is_full());
        let first = at_hand.take(&key("a")).unwrap().loaded().await;
        assert_eq!(first, Some(Ok(template("a", MOST / 2))));
        at_hand.keep(template("c", MOST / 2));
        assert!(at_hand.take(&key("c")).is_some());
        assert!(at_hand.take(&key("b")).is_some());
        assert_eq!((at_hand.room.0.unwrap().available_permits(), at_hand.templates.len()), (MOST, 0));
    }

    #[tokio::test]
    async fn what_was_expected_is_there_unless_there_is_no_room() {
        let readers = Readers::new(Arc::new(|key| Ok(template(key.as_str(), MOST))));
        let (mut at_hand, [first, second]) = (AtHand::new(), ["a", "b"].map(|name| Key::new(name).unwrap()));
        at_hand.expect(first.clone(), &readers);
        at_hand.expect(second.clone(), &readers);
        // In the order in which they were expected: the first takes all the room, until it is sent.
        let (first, second) = (at_hand.take(&first).unwrap(), at_hand.take(&second).unwrap());
        assert_eq!(second.loaded().await, None);
        assert_eq!(first.loaded().await, Some(Ok(template("a", MOST))));
        assert!(!at_hand.room.is_full());
    }
}
