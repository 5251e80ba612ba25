//! What the acceptor knows of its workers. Sibling: kcup-go/server/status.go.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;

use tokio::sync::Notify;

use super::phases::Tick;

const NONE: i64 = i64::MAX;

/// Wakes an acceptor that waits because `--max-connections` are open and none is silent (SPEC K-84).
#[derive(Default)]
pub struct Room {
    wanted: AtomicBool,
    made: Notify,
}

impl Room {
    /// Waits until a worker has reported something new, unless `look` finds room before.
    pub async fn wait<T>(&self, mut look: impl FnMut() -> Option<T>) -> T {
        loop {
            // In this order, so that a report between the look and the wait is not missed.
            self.wanted.store(true, SeqCst);
            if let Some(found) = look() {
                self.wanted.store(false, SeqCst);
                return found;
            }
            self.made.notified().await;
        }
    }
}

/// One worker's state, as its acceptor sees it.
pub struct Status {
    connections: AtomicUsize,
    /// How often it was told to evict, and has.
    evictions: AtomicUsize,
    /// The tick since which the longest-silent connection is silent.
    oldest: AtomicI64,
    room: Arc<Room>,
}

impl Status {
    pub fn new(room: Arc<Room>) -> Status {
        Status {
            connections: AtomicUsize::new(0),
            evictions: AtomicUsize::new(0),
            oldest: AtomicI64::new(NONE),
            room,
        }
    }

    /// A connection is handed over. Counted by the acceptor, so that it sees its own hand-overs at once.
    pub fn handed(&self) {
        self.connections.fetch_add(1, SeqCst);
    }

    pub fn closed(&self) {
        self.connections.fetch_sub(1, SeqCst);
    }

    /// The worker has done as [`super::worker::Mail::Evict`] says.
    pub fn evicted(&self) {
        self.evictions.fetch_add(1, SeqCst);
    }

    pub fn evictions(&self) -> usize {
        self.evictions.load(SeqCst)
    }

    pub fn connections(&self) -> usize {
        self.connections.load(SeqCst)
    }

    /// Since when the longest-silent connection is silent, if one is.
    pub fn oldest(&self) -> Option<Tick> {
        Tick::try_from(self.oldest.load(SeqCst)).ok()
    }

    /// The worker's report after each batch of events.
    pub fn publish(&self, oldest: Option<Tick>) {
        self.oldest.store(oldest.map_or(NONE, i64::from), SeqCst);
        if self.room.wanted.load(SeqCst) {
            self.room.made.notify_one();
        }
    }
}
