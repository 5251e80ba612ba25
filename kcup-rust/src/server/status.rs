//! The state of workers that the acceptor sees.
//!
//! The acceptor says that it waits and then looks; a worker closes a connection and then looks whether the acceptor waits.
//! Neither may miss the other: hence the one order of `SeqCst`. Ranks need no order, since the acceptor looks again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

use tokio::sync::Notify;

use super::phases::{PHASES, Phase};

const NONE: u64 = u64::MAX;

/// Wakes an acceptor that waits because `--max-connections` are open and none is silent (K-84).
#[derive(Default)]
pub struct AcceptorWaker {
    waiting: AtomicBool,
    notify: Notify,
}

impl AcceptorWaker {
    /// Waits until `look` finds room, and looks again after each report of a worker.
    pub async fn wait(&self, mut look: impl FnMut() -> bool) {
        self.waiting.store(true, SeqCst);
        while !look() {
            self.notify.notified().await;
            self.waiting.store(true, SeqCst);
        }
        self.waiting.store(false, SeqCst);
    }
}

/// The state of one worker.
pub struct Status {
    connections: AtomicUsize,
    tries: AtomicUsize,
    /// By [`Phase`].
    ranks: [AtomicU64; PHASES.len()],
    acceptor: Arc<AcceptorWaker>,
}

impl Status {
    pub fn new(acceptor: Arc<AcceptorWaker>) -> Status {
        let ranks = [const { AtomicU64::new(NONE) }; PHASES.len()];
        Status { connections: AtomicUsize::new(0), tries: AtomicUsize::new(0), ranks, acceptor }
    }

    /// Counts a connection that is handed over: the acceptor calls this, so that it counts at once.
    pub fn handed(&self) {
        self.connections.fetch_add(1, SeqCst);
    }

    /// Counts a connection that is closed.
    pub fn closed(&self) {
        self.connections.fetch_sub(1, SeqCst);
    }

    /// Reports that the worker has done as [`super::worker::Message::MakeRoom`] says.
    pub fn made_room(&self) {
        self.tries.fetch_add(1, SeqCst);
    }

    /// The number of times that the worker has tried to make room.
    pub fn tries(&self) -> usize {
        self.tries.load(SeqCst)
    }

    /// The number of open connections, with those that are handed over and not taken in yet.
    pub fn connections(&self) -> usize {
        self.connections.load(SeqCst)
    }

    /// The rank of the connection in a phase that is first to make room, to compare with those of other workers.
    pub fn rank(&self, phase: Phase) -> Option<u64> {
        Some(self.ranks[phase as usize].load(Relaxed)).filter(|&rank| rank != NONE)
    }

    /// Publishes the worker's ranks after each batch of events. `ranks` is told whether the acceptor waits for them.
    pub fn publish(&self, ranks: impl FnOnce(bool) -> [Option<u64>; PHASES.len()]) {
        let waiting = self.acceptor.waiting.load(SeqCst);
        for (place, rank) in self.ranks.iter().zip(ranks(waiting)) {
            place.store(rank.unwrap_or(NONE), Relaxed);
        }
        if waiting {
            self.acceptor.notify.notify_one();
        }
    }
}
