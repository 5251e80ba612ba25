//! An event loop, with the connections of one thread. No other thread waits for it.

mod closing;
mod messages;
mod opening;
mod reconcile;
mod room;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, Cache};
use mio::event::Event;
use mio::{Events, Poll};
use slab::Slab;

use super::account::Account;
use super::clock::Clock;
use super::connection::{Connection, Next, READ_BYTES, TURN, Tools};
use super::counters::{Counters, Reason};
use super::phases::{Phase, Phases, TICKS, Tick};
use super::status::{AcceptorWaker, Status};
use crate::access_log::{Lines, Peer};
use crate::respond::Responses;

use messages::WAKE;
pub use messages::{Arrival, Bounds, Handle, Limits, Message};

const EVENTS: usize = 256;
/// The greatest age of a batch of the access log.
pub const BATCH_AGE: Tick = TICKS / 5;

/// The interval at which a full socket is checked for progress, short enough for the second of K-83.
const WRITE_LOOK: Tick = TICKS / 5;
/// The interval at which a closing connection is checked (K-72).
const LINGER: Tick = TICKS;

pub struct Worker {
    poll: Poll,
    mailbox: Receiver<Message>,
    status: Arc<Status>,
    counters: Arc<Counters>,
    lines: Option<Lines>,
    responses: Cache<Arc<ArcSwap<Responses>>, Arc<Responses>>,
    connections: Slab<Connection>,
    phases: Phases,
    limits: Limits,
    bounds: Bounds,
    clock: Clock,
    /// Holds the head of a response.
    head: Vec<u8>,
    buffer: Box<[u8]>,
    /// Connections that may have more to do, in another turn.
    again: Vec<usize>,
    /// The time of the last warning.
    complained: Option<Tick>,
    /// Indexed by the connections' keys; empty if nothing that is logged names them.
    peers: Vec<Peer>,
    kept: usize,
    account: Account,
    /// The key at which the account is reconciled next.
    cursor: usize,
    draining: bool,
    /// The time until which pipelined requests are served during a drain.
    graced_until: Option<Tick>,
    /// Whether the acceptor has sent its last message.
    last_message: bool,
    /// Whether the drain has taken too long.
    cut: bool,
}

impl Worker {
    /// `start` is the same for all workers, so that their ticks can be compared.
    pub fn new(
        acceptor: Arc<AcceptorWaker>,
        counters: Arc<Counters>,
        lines: Option<Lines>,
        responses: Arc<ArcSwap<Responses>>,
        limits: Limits,
        start: Instant,
    ) -> io::Result<(Worker, Handle)> {
        let (handle, poll, mailbox) = Handle::new(acceptor)?;
        let worker = Worker {
            responses: Cache::new(responses),
            poll,
            mailbox,
            status: handle.status.clone(),
            counters,
            lines,
            connections: Slab::new(),
            phases: Phases::new([limits.idle, limits.header, WRITE_LOOK, LINGER]),
            limits,
            bounds: Bounds::default(),
            clock: Clock::new(start),
            head: Vec::new(),
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            again: Vec::new(),
            complained: None,
            peers: Vec::new(),
            kept: 0,
            account: Account::new(0),
            cursor: 0,
            draining: false,
            graced_until: None,
            last_message: false,
            cut: false,
        };
        Ok((worker, handle))
    }

    /// Serves until it has drained.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        while !(self.cut || self.last_message && self.connections.is_empty()) {
            match self.poll.poll(&mut events, self.timeout()) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => self.turn(&events),
            }
        }
        self.connections.iter().for_each(|(key, _)| self.log_end(key, "cut"));
        self.publish();
        Ok(())
    }

    /// The time until the next clock runs out.
    fn timeout(&self) -> Option<Duration> {
        if !self.again.is_empty() {
            return Some(Duration::ZERO);
        }
        let now = self.clock.tick();
        let lines = self.lines.as_ref().and_then(|lines| lines.due(now));
        let ticks = self.phases.next(now).into_iter().chain(lines).min()?;
        Some(Duration::from_secs(1) * ticks / TICKS)
    }

    fn turn(&mut self, events: &Events) {
        self.clock.update();
        self.account.moves.at(self.clock.tick());
        // Lets go of old content.
        self.responses.load();
        if let Some(lines) = &mut self.lines {
            lines.refresh(self.clock.now().unix);
        }
        // First, so that a request that comes after a drain began is treated accordingly.
        let messages = self.read_messages();
        for key in std::mem::take(&mut self.again) {
            self.ready(key, false);
        }
        for event in events.iter().filter(|event| event.token() != WAKE) {
            self.event(event.token().0, event);
        }
        // After the events, which may be of a closed connection whose key is free by now.
        for arrival in messages.arrived {
            self.accept(arrival);
        }
        if let Some(phase) = messages.wanted {
            self.make_room(phase);
        }
        // The bounds may have changed.
        self.shed(None);
        self.reconcile();
        while let Some(key) = self.phases.expired(self.clock.tick()) {
            self.expire(key);
        }
        self.publish();
    }

    fn event(&mut self, key: usize, event: &Event) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        // It has had its turn already.
        if connection.again {
            connection.ended |= event.is_read_closed();
            return;
        }
        // Every new socket reports that it is writable, which matters only to a blocked response.
        if event.is_readable() || self.phases.of(key) == Phase::Write {
            self.ready(key, event.is_read_closed());
        }
    }

    /// Lets a connection read and write as far as its socket allows.
    fn ready(&mut self, key: usize, ended: bool) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let kept = connection.kept_bytes();
        let phase = self.phases.of(key);
        let mut tools = Tools {
            responses: self.responses.load(),
            clock: &self.clock,
            head: &mut self.head,
            buffer: &mut self.buffer,
            account: &mut self.account,
            counters: &self.counters.0,
            lines: self.lines.as_mut(),
            peer: self.peers.get(key).copied(),
            draining: self.draining,
            last: self.graced_until.is_some_and(|end| self.clock.tick() > end),
            turn: TURN,
        };
        let next = connection.ready(phase, ended, &mut tools);
        self.kept = self.kept + connection.kept_bytes() - kept;
        let again = connection.again;
        if again {
            self.again.push(key);
        }
        match next {
            Next::Enter(phase) => self.phases.enter(key, phase, self.clock.tick()),
            Next::Stay => (),
            Next::Close(reason) => return self.close(key, reason),
        }
        let connection = &self.connections[key];
        let may_speak = !connection.spoken || connection.expects();
        if self.draining && !again && !may_speak && self.phases.of(key) == Phase::Idle {
            self.retire(key, Reason::Drained);
        }
        self.shed(Some(key));
        self.reconcile();
    }

    fn publish(&mut self) {
        let now = self.clock.tick();
        if let Some(lines) = self.lines.as_mut().filter(|lines| self.draining || lines.due(now) == Some(0)) {
            lines.hand_over();
        }
        self.counters.0.parked.set(self.phases.count(Phase::Idle) as u64);
        self.status.publish(|waiting| self.ranks(waiting));
    }
}
