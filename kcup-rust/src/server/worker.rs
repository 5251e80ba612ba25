//! One event loop: the connections of one thread, and nothing that another thread waits for.
//! Sibling: kcup-go/server/worker.go.

mod closing;
mod mail;
mod room;
mod settling;

use std::io;
use std::sync::mpsc::Receiver;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, Cache};
use mio::event::Event;
use mio::{Events, Poll};
use slab::Slab;

use super::account::Account;
use super::clock::Clock;
use super::connection::{Connection, Next, Tools, READ_BYTES, TURN};
use super::counters::{Counters, Reason};
use super::phases::{Phase, Phases, Tick, TICKS};
use super::status::{Room, Status};
use crate::access_log::Lines;
use crate::respond::Responses;

use mail::WAKE;
pub use mail::{Arrival, Bounds, Handle, Mail};

const EVENTS: usize = 256;
/// How old a batch of the access log may become.
pub const BATCH_AGE: Tick = TICKS / 5;

/// How often a full socket is looked at for progress: often enough that SPEC K-83's second is kept.
const WRITE_LOOK: Tick = TICKS / 5;
/// How often a closing connection is looked at (SPEC K-72).
const LINGER: Tick = TICKS;

/// What one worker may use.
#[derive(Clone, Copy)]
pub struct Limits {
    /// In ticks, like those that follow: how long a connection may be silent,
    pub idle: Tick,
    /// how long a head may take,
    pub header: Tick,
    /// and how long a peer may accept nothing of an answer.
    pub write: Tick,
}

pub struct Worker {
    poll: Poll,
    mailbox: Receiver<Mail>,
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
    /// Connections that may have more to do than they were given time for.
    again: Vec<usize>,
    /// When something was last complained about.
    complained: Option<Tick>,
    kept: usize,
    account: Account,
    /// Where the account was last settled.
    settled: usize,
    draining: bool,
    /// Up to when a drain lets a pipeline go on.
    graced_until: Option<Tick>,
    /// Whether the acceptor has nothing more to tell.
    last_mail: bool,
}

impl Worker {
    /// `start` is the same for all workers, so that their ticks can be compared.
    pub fn new(
        room: Arc<Room>,
        counters: Arc<Counters>,
        lines: Option<Lines>,
        responses: Arc<ArcSwap<Responses>>,
        limits: Limits,
        start: Instant,
    ) -> io::Result<(Worker, Handle)> {
        let (handle, poll, mailbox) = Handle::new(room)?;
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
            kept: 0,
            account: Account::new(0),
            settled: 0,
            draining: false,
            graced_until: None,
            last_mail: false,
        };
        Ok((worker, handle))
    }

    /// Serves until it has drained.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        while !(self.last_mail && self.connections.is_empty()) {
            match self.poll.poll(&mut events, self.timeout()) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => self.turn(&events),
            }
        }
        self.publish();
        Ok(())
    }

    /// How long nothing may happen before a clock runs out.
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
        // Lets go of old content.
        self.responses.load();
        if let Some(lines) = &mut self.lines {
            lines.refresh(self.clock.now().unix);
        }
        // First, so that nothing that comes after a drain began is answered as if it had not.
        let mail = self.read_mail();
        for key in std::mem::take(&mut self.again) {
            self.ready(key, false);
        }
        for event in events.iter().filter(|event| event.token() != WAKE) {
            self.event(event.token().0, event);
        }
        // After the events, which may be for a connection whose key is free by now.
        for arrival in mail.arrived {
            self.accept(arrival);
        }
        if let Some(phase) = mail.wanted {
            self.make_room(phase);
        }
        // The bounds may be others now.
        self.shed(None);
        self.settle();
        while let Some(key) = self.phases.expired(self.clock.tick()) {
            self.expire(key);
        }
        self.publish();
    }

    fn event(&mut self, key: usize, event: &Event) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        // It has had its turn.
        if connection.again {
            connection.ended |= event.is_read_closed();
            return;
        }
        // Every new socket reports that it can be written to; only a blocked answer asks for it.
        if event.is_readable() || self.phases.of(key) == Phase::Write {
            self.ready(key, event.is_read_closed());
        }
    }

    /// Lets a connection do what its socket allows.
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
            key,
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
        let is_new = !self.connections[key].spoken;
        if self.draining && !again && !is_new && self.phases.of(key) == Phase::Idle {
            self.retire(key, Reason::Drained);
        }
        self.shed(Some(key));
        self.settle();
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
