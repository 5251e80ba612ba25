//! What the acceptor knows of its workers. Sibling: kcup-go/server/status.go.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;

use tokio::sync::Notify;

use super::phases::{Phase, PHASES};

const NONE: u64 = u64::MAX;

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
    /// How often it was told to make room, and has tried.
    tries: AtomicUsize,
    /// By [`Phase`].
    ranks: [AtomicU64; PHASES.len()],
    room: Arc<Room>,
}

impl Status {
    pub fn new(room: Arc<Room>) -> Status {
        let ranks = [const { AtomicU64::new(NONE) }; PHASES.len()];
        Status { connections: AtomicUsize::new(0), tries: AtomicUsize::new(0), ranks, room }
    }

    /// A connection is handed over. Counted by the acceptor, so that it sees its own hand-overs at once.
    pub fn handed(&self) {
        self.connections.fetch_add(1, SeqCst);
    }

    pub fn closed(&self) {
        self.connections.fetch_sub(1, SeqCst);
    }

    /// The worker has done as [`super::worker::Mail::MakeRoom`] says.
    pub fn made_room(&self) {
        self.tries.fetch_add(1, SeqCst);
    }

    pub fn tries(&self) -> usize {
        self.tries.load(SeqCst)
    }

    pub fn connections(&self) -> usize {
        self.connections.load(SeqCst)
    }

    /// Which of its connections in a phase is the first to make room, to be compared with those of others.
    pub fn rank(&self, phase: Phase) -> Option<u64> {
        Some(self.ranks[phase as usize].load(SeqCst)).filter(|&rank| rank != NONE)
    }

    /// The worker's report after each batch of events. `ranks` is told whether somebody waits for it.
    pub fn publish(&self, ranks: impl FnOnce(bool) -> [Option<u64>; PHASES.len()]) {
        let waiting = self.room.wanted.load(SeqCst);
        for (place, rank) in self.ranks.iter().zip(ranks(waiting)) {
            place.store(rank.unwrap_or(NONE), SeqCst);
        }
        if waiting {
            self.room.made.notify_one();
        }
    }
}
