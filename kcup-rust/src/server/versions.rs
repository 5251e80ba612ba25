//! The versions of the content that are held, and the limits that they leave (K-89, K-104, K-105).

use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::Server;
use super::cgroup::Memory;
use super::envelope::{ADMIN_CONNECTIONS, Envelope, Surroundings, connection, descriptors, least, loops};
use super::guard::MAX_HEAD;
use super::worker::{Bounds, Message};
use crate::config::Options;
use crate::respond::Responses;

/// The number of old versions that are held for responses under way.
const MOST_OLD: usize = 2;
/// The time in which workers let go of a version that nobody reads, and the longest wait for connections to make room.
const LET_GO: Duration = Duration::from_millis(50);
const MAKE_ROOM: Duration = Duration::from_secs(1);

/// The old versions of the content, and where the limits come from.
pub struct Versions {
    memory: Memory,
    /// The value of --max-connections.
    wanted: usize,
    threads: usize,
    tls: bool,
    /// Descriptors that are no connections.
    reserved: u64,
    state: RefCell<State>,
    /// Signals that there is old content, or that more connections are open than the limit allows.
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// The old versions that somebody may still hold, oldest first, and their sizes.
    old: Vec<(Weak<Responses>, u64)>,
    /// The memory that the current reload needs.
    needed: u64,
    /// Whether the limits were computed with an old version, which a worker may have let go of since.
    counts_old: bool,
    envelope: Option<Envelope>,
}

impl State {
    /// The old versions that somebody still holds.
    fn old(&mut self) -> &[(Weak<Responses>, u64)] {
        self.old.retain(|(content, _)| content.strong_count() > 0);
        &self.old
    }
}

impl Versions {
    pub fn new(options: &Options) -> Versions {
        let (wanted, threads) = (options.max_connections, options.threads);
        let admin = options.admin.map_or(0, |_| ADMIN_CONNECTIONS);
        Versions {
            memory: Memory::open(),
            wanted,
            threads,
            tls: options.tls.is_some(),
            reserved: descriptors(loops(options), admin),
            state: RefCell::default(),
            changed: Notify::new(),
        }
    }

    fn old(&self) -> usize {
        self.state.borrow_mut().old().len()
    }
}

impl Server {
    /// Serves another version from the next request on (K-100).
    pub async fn replace(&self, responses: Responses) {
        let before = self.view.responses.swap(Arc::new(responses));
        let old = (Arc::downgrade(&before), before.content.size());
        drop(before);
        {
            let mut state = self.versions.state.borrow_mut();
            state.needed = 0; // from now on it is the size of the content
            state.old.push(old);
        }
        // A worker that sleeps would hold the old version.
        self.acceptor.wake_all();
        if !within(LET_GO, || self.versions.old() <= MOST_OLD).await {
            self.recall().await;
        }
        self.abandon();
    }

    /// Makes room for a reload, which needs this much memory at its peak, and returns whether there is enough (K-104). Readers of
    /// old content and connections over the new limits make room.
    pub async fn make_room(&self, needed: u64) -> bool {
        self.versions.state.borrow_mut().needed = needed;
        while !self.fits(needed).await {
            if !self.recall().await {
                self.abandon();
                return false;
            }
        }
        true
    }

    /// The number of bytes that may be used for speed alone.
    pub fn spare(&self) -> u64 {
        self.versions.memory.spare()
    }

    /// Ends a reload.
    pub fn abandon(&self) {
        self.versions.state.borrow_mut().needed = 0;
        self.review();
    }

    /// Computes the limits again.
    pub fn review(&self) {
        self.enforce(self.envelope());
        self.versions.changed.notify_one();
    }

    /// Keeps the limits up to date while old content is held, and connections within them; for ever.
    pub async fn keep_limits(&self) {
        loop {
            self.versions.changed.notified().await;
            while self.acceptor.is_over() || self.versions.state.borrow().counts_old {
                sleep(MAKE_ROOM / 2).await;
                self.enforce(self.envelope());
                self.close_excess().await;
            }
        }
    }

    /// Whether the needed memory fits into the limits, and the kernel agrees. Takes the limits that are left then.
    async fn fits(&self, needed: u64) -> bool {
        let envelope = self.envelope();
        if !envelope.fits {
            return false;
        }
        self.enforce(envelope);
        self.close_excess().await;
        self.versions.memory.available()
            >= needed + least(self.versions.threads, connection(self.versions.tls))
    }

    /// Resets the connections that still read the oldest version. Returns whether there was one.
    async fn recall(&self) -> bool {
        let oldest = self.versions.state.borrow_mut().old().first().map(|(content, _)| content.clone());
        let Some(oldest) = oldest else {
            return false;
        };
        self.acceptor.tell_all(|| Message::Recall(oldest.clone()));
        if !within(MAKE_ROOM, || oldest.strong_count() == 0).await {
            // A worker that does not read its messages is not waited for a second time.
            self.versions.state.borrow_mut().old.remove(0);
        }
        true
    }

    /// Waits until connections over the limit have made room.
    async fn close_excess(&self) {
        let _ = timeout(MAKE_ROOM, self.acceptor.make_room(self.acceptor.max_connections.get())).await;
    }

    /// The limits that the versions held, and the memory that a reload needs, leave.
    fn envelope(&self) -> Envelope {
        let Versions { memory, wanted, threads, tls, reserved, .. } = &self.versions;
        let mut state = self.versions.state.borrow_mut();
        let old: u64 = state.old().iter().map(|(_, size)| size).sum();
        state.counts_old = old > 0;
        let held = self.view.responses.load().content.size() + old + state.needed;
        Envelope::new(*wanted, *threads, held, Surroundings::read(memory, *reserved, *tls))
    }

    /// Applies the limits to the workers and the acceptor.
    fn enforce(&self, envelope: Envelope) {
        let before = self.versions.state.borrow_mut().envelope.replace(envelope);
        if before == Some(envelope) {
            return;
        }
        if before.is_none_or(|before| before.max_connections != envelope.max_connections) {
            envelope.log(self.versions.wanted, before.is_none());
        }
        let threads = self.versions.threads;
        let bounds = Bounds {
            kept: (envelope.kept / threads).max(2 * MAX_HEAD),
            sockets: envelope.sockets / threads as u64,
            cost: envelope.cost,
        };
        if let Some(tls) = &self.view.tls {
            tls.room.store(bounds.kept, Relaxed);
        }
        self.acceptor.max_connections.set(envelope.max_connections);
        self.acceptor.tell_all(|| Message::Limits(bounds));
    }
}

/// Waits for a condition, for at most a time. Returns whether it holds.
async fn within(most: Duration, is: impl Fn() -> bool) -> bool {
    let end = Instant::now() + most;
    while !is() {
        if Instant::now() > end {
            return false;
        }
        sleep(Duration::from_millis(1)).await;
    }
    true
}
