//! The contents that are held, and the limits that they leave (K-89, K-104, K-105). Sibling: kcup-go/server/versions.go.

use std::cell::RefCell;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::cgroup::Memory;
use super::envelope::{descriptors, least, Envelope, Surroundings, ADMIN_CONNECTIONS};
use super::guard::MAX_HEAD;
use super::worker::{Bounds, Mail};
use super::Server;
use crate::config::Options;
use crate::respond::Responses;

/// So many versions before the current one are held for responses under way.
const MOST_OLD: usize = 2;
/// How long a version that nobody reads takes to be let go of, and the longest wait for room that is being made.
const LET_GO: Duration = Duration::from_millis(50);
const MAKE_ROOM: Duration = Duration::from_secs(1);

pub struct Versions {
    memory: Memory,
    /// What was asked for.
    wanted: usize,
    threads: usize,
    /// Descriptors that are no connections.
    reserved: u64,
    state: RefCell<State>,
    /// Says that there is old content, or a limit that not all connections are within.
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// The old contents that somebody may still hold, oldest first, and what they take.
    old: Vec<(Weak<Responses>, u64)>,
    /// What a reload that is under way needs.
    needed: u64,
    envelope: Option<Envelope>,
}

impl State {
    /// Those that somebody still holds.
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
            reserved: descriptors(threads, admin),
            state: RefCell::default(),
            changed: Notify::new(),
        }
    }

    fn old(&self) -> usize {
        self.state.borrow_mut().old().len()
    }

    /// With `current` bytes in service.
    fn envelope(&self, current: u64) -> Envelope {
        let mut state = self.state.borrow_mut();
        let old: u64 = state.old().iter().map(|(_, size)| size).sum();
        let surroundings = Surroundings::read(&self.memory, self.reserved);
        Envelope::new(self.wanted, self.threads, current + old + state.needed, surroundings)
    }
}

impl Server {
    /// Serves other content from the next request on (K-100).
    pub async fn replace(&self, responses: Responses) {
        let before = self.view.responses.swap(Arc::new(responses));
        let old = (Arc::downgrade(&before), before.content.size());
        drop(before);
        self.versions.state.borrow_mut().old.push(old);
        // A worker that sleeps would hold what was there before.
        self.acceptor.wake_all();
        if !within(LET_GO, || self.versions.old() <= MOST_OLD).await {
            self.recall().await;
        }
        self.abandon();
    }

    /// Is asked before a reload reads, with what it needs at its peak beside all that is held, and says whether there is room
    /// for that (K-104). Whoever reads old content, and connections over the limits that are left, make some.
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

    /// How many bytes may be taken for speed alone.
    pub fn spare(&self) -> u64 {
        self.versions.memory.spare()
    }

    /// The end of a reload.
    pub fn abandon(&self) {
        self.versions.state.borrow_mut().needed = 0;
        self.review();
    }

    /// Computes the limits again.
    pub fn review(&self) {
        self.enforce(self.envelope());
        self.versions.changed.notify_one();
    }

    /// Keeps the limits those of now while old content is held, and connections within them; for ever.
    pub async fn tend(&self) {
        loop {
            self.versions.changed.notified().await;
            while self.acceptor.is_over() || self.versions.old() > 0 {
                sleep(MAKE_ROOM / 2).await;
                self.enforce(self.envelope());
                self.settle().await;
            }
        }
    }

    /// Takes the limits that are left when what is needed is there, and asks the kernel, too.
    async fn fits(&self, needed: u64) -> bool {
        let envelope = self.envelope();
        if !envelope.fits {
            return false;
        }
        self.enforce(envelope);
        self.settle().await;
        self.versions.memory.room() >= needed + least(self.versions.threads)
    }

    /// Resets the connections that still read the oldest content; says whether there was one.
    async fn recall(&self) -> bool {
        let oldest = self.versions.state.borrow_mut().old().first().map(|(content, _)| content.clone());
        let Some(oldest) = oldest else {
            return false;
        };
        self.acceptor.tell_all(|| Mail::Recall(oldest.clone()));
        if !within(MAKE_ROOM, || oldest.strong_count() == 0).await {
            // A worker that does not read its mail is not waited for again.
            self.versions.state.borrow_mut().old.remove(0);
        }
        true
    }

    /// Lets connections over the limit make room.
    async fn settle(&self) {
        let _ = timeout(MAKE_ROOM, self.acceptor.make_room(self.acceptor.max_connections.get())).await;
    }

    fn envelope(&self) -> Envelope {
        self.versions.envelope(self.view.responses.load().content.size())
    }

    /// Makes an envelope that of the workers and the acceptor.
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
        self.acceptor.max_connections.set(envelope.max_connections);
        self.acceptor.tell_all(|| Mail::Limits(bounds));
    }
}

/// Waits until something is so, for at most so long, and says whether it is.
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
