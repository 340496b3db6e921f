//! Templates that are read to be sent, on threads that may wait.
//!
//! A reader goes on while anything waits: waking a thread for each template cost as much as reading it. Where reading is slower than what is
//! asked for, as on a network drive, there are more readers.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::at_hand::{Placed, Room};
use super::{Load, Loaded};
use crate::desired::Key;

/// Templates for each reader that may wait before there is one reader more.
const EACH: usize = 4;

/// The readers. Clones share them.
#[derive(Clone)]
pub(super) struct Readers {
    load: Load,
    queue: Arc<Mutex<Queue>>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Wanted>,
    readers: usize,
}

/// A template that somebody waits for.
struct Wanted {
    key: Key,
    room: Room,
    done: oneshot::Sender<Result<Placed, String>>,
}

/// A template that is being read. Nothing comes where there was no room for it, or where reading it panicked.
pub(super) type Coming = oneshot::Receiver<Result<Placed, String>>;

impl Readers {
    pub(super) fn new(load: Load) -> Self {
        Self { load, queue: Arc::default() }
    }

    /// Reads a template that is sent now, whatever room it takes.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    pub(super) async fn read(&self, key: Key) -> Result<Loaded, String> {
        let read = self.ahead(key, Room::endless()).await;
        read.unwrap_or_else(|_| Err("the thread that read it has ended".to_owned())).map(Placed::take)
    }

    /// Reads a template that is sent later, if there is room for it then.
    pub(super) fn ahead(&self, key: Key, room: Room) -> Coming {
        let (done, coming) = oneshot::channel();
        let mut queue = lock(&self.queue);
        queue.waiting.push_back(Wanted { key, room, done });
        if queue.readers * EACH < queue.waiting.len() {
            queue.readers += 1;
            let (load, queue) = (Arc::clone(&self.load), Arc::clone(&self.queue));
            tokio::task::spawn_blocking(move || {
                while let Some(wanted) = next(&queue) {
                    // One that cannot be read concerns nobody but who waits for it.
                    let _ = catch_unwind(AssertUnwindSafe(|| wanted.read(&load)));
                }
            });
        }
        coming
    }
}

/// The next template. Where there is none the reader ends, which whoever asks for another one finds written down.
fn next(queue: &Mutex<Queue>) -> Option<Wanted> {
    let mut queue = lock(queue);
    let next = queue.waiting.pop_front();
    if next.is_none() {
        queue.readers -= 1;
    }
    next
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wanted {
    fn read(self, load: &Load) {
        // Nobody waits any more where the run has ended.
        if self.done.is_closed() || self.room.is_full() {
            return;
        }
        if let Some(read) = load(&self.key).map(|loaded| self.room.place(loaded)).transpose() {
            let _ = self.done.send(read);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::desired::Template;

    fn key(number: usize) -> Key {
        Key::new(format!("template-{number}")).unwrap()
    }

    fn loaded(key: &Key) -> Loaded {
        let template = Template::bare(key.as_str());
        Loaded { digest: template.digest(), template }
    }

    #[tokio::test]
    async fn where_reading_is_slow_there_are_more_readers() {
        // Nothing is read before three are being read at once.
        let meeting = Arc::new(Barrier::new(3));
        let met = Arc::clone(&meeting);
        let readers = Readers::new(Arc::new(move |key| {
            met.wait();
            Ok(loaded(key))
        }));
        let coming: Vec<_> = (0..3 * EACH).map(|number| readers.ahead(key(number), Room::endless())).collect();
        for (number, coming) in coming.into_iter().enumerate() {
            assert_eq!(coming.await.unwrap().unwrap().take(), loaded(&key(number)));
        }
    }

    #[tokio::test]
    async fn one_that_cannot_be_read_concerns_no_other() {
        let readers = Readers::new(Arc::new(|wanted| match wanted.as_str() {
            "template-0" => panic!("a mistake of ours"),
            "template-1" => Err("it is gone".to_owned()),
            _ => Ok(loaded(wanted)),
        }));
        let all = (0..3).map(|number| readers.read(key(number)));
        let all = futures_util::future::join_all(all).await;
        let ended = Err("the thread that read it has ended".to_owned());
        assert_eq!(all, [ended, Err("it is gone".to_owned()), Ok(loaded(&key(2)))]);
    }

    #[tokio::test]
    async fn what_nobody_waits_for_and_what_has_no_room_is_not_read() {
        let (go, may_go) = std::sync::mpsc::channel();
        let (gate, read) = (Mutex::new(may_go), Arc::new(Mutex::new(Vec::new())));
        let list = Arc::clone(&read);
        let readers = Readers::new(Arc::new(move |key| {
            gate.lock().unwrap().recv().unwrap();
            list.lock().unwrap().push(key.clone());
            Ok(loaded(key))
        }));
        let (first, dropped) = (readers.ahead(key(0), Room::endless()), readers.ahead(key(1), Room::endless()));
        let (full, last) = (readers.ahead(key(2), Room::of(0)), readers.ahead(key(3), Room::endless()));
        drop(dropped);
        // More than is needed: what should not be read would be, and would be seen.
        (0..4).for_each(|_| go.send(()).unwrap());
        assert!(first.await.is_ok() && full.await.is_err() && last.await.is_ok());
        assert_eq!(*read.lock().unwrap(), [key(0), key(3)]);
    }
}
