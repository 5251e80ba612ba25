//! One event loop: the connections of one thread, and nothing that another thread waits for.
//! Sibling: kcup-go/server/worker.go.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::Receiver;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, Cache};
use mio::event::Event;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token, Waker};
use slab::Slab;

use super::clock::Clock;
use super::codec::Codec;
use super::connection::{Connection, Next, Tools, READ_BYTES};
use super::phases::{Phase, Phases, Tick, TICKS};
use super::status::Status;
use super::sys;
use crate::content::Content;

const WAKE: Token = Token(usize::MAX);
const EVENTS: usize = 256;

/// What the acceptor tells a worker.
pub enum Mail {
    Connection(OwnedFd),
    /// Close the connection that has been silent longest, and report.
    Evict,
    /// Answer what was sent, also by the connections of later mail.
    Drain,
    /// There will be no more mail: end with the last connection.
    Last,
}

/// How often a full socket is looked at for progress: often enough that SPEC K-83's second is kept.
const WRITE_LOOK: Tick = TICKS / 5;
/// How long a closing connection may linger (SPEC K-72).
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
    /// Bytes kept of incomplete heads.
    pub kept: usize,
}

pub struct Worker {
    poll: Poll,
    mailbox: Receiver<Mail>,
    status: Arc<Status>,
    content: Cache<Arc<ArcSwap<Content>>, Arc<Content>>,
    connections: Slab<Connection>,
    phases: Phases,
    limits: Limits,
    clock: Clock,
    codec: Codec,
    buffer: Box<[u8]>,
    /// Connections that may have more to read than they were given time for.
    again: Vec<usize>,
    kept: usize,
    draining: bool,
    /// Whether the acceptor has nothing more to tell.
    last_mail: bool,
}

/// Mail that is for the end of a turn.
#[derive(Default)]
struct Read {
    arrived: Vec<OwnedFd>,
    evict: bool,
}

/// What a worker waits on, and what wakes it for its mail.
pub fn poll() -> io::Result<(Poll, Waker)> {
    let poll = Poll::new()?;
    let waker = Waker::new(poll.registry(), WAKE)?;
    Ok((poll, waker))
}

impl Worker {
    pub fn new(
        poll: Poll,
        mailbox: Receiver<Mail>,
        status: Arc<Status>,
        content: Arc<ArcSwap<Content>>,
        limits: Limits,
        clock: Clock,
    ) -> Worker {
        Worker {
            codec: Codec::new(content.load_full(), &clock),
            content: Cache::new(content),
            poll,
            mailbox,
            status,
            connections: Slab::new(),
            phases: Phases::new([limits.idle, limits.header, WRITE_LOOK, LINGER]),
            limits,
            clock,
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            again: Vec::new(),
            kept: 0,
            draining: false,
            last_mail: false,
        }
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
        let ticks = self.phases.next(self.clock.tick())?;
        Some(Duration::from_secs(1) * ticks / TICKS)
    }

    fn turn(&mut self, events: &Events) {
        self.clock.update();
        self.codec.refresh(self.content.load(), &self.clock);
        // First, so that nothing that comes after a drain began is answered as if it had not.
        let mail = self.read_mail();
        for key in std::mem::take(&mut self.again) {
            self.ready(key, false);
        }
        for event in events.iter().filter(|event| event.token() != WAKE) {
            self.event(event.token().0, event);
        }
        // After the events, which may be for a connection whose key is free by now.
        for socket in mail.arrived {
            self.accept(socket);
        }
        if mail.evict {
            self.evict();
        }
        while let Some(key) = self.phases.expired(self.clock.tick()) {
            self.expire(key);
        }
        self.publish();
    }

    fn event(&mut self, key: usize, event: &Event) {
        // Every new socket reports that it can be written to; only a blocked answer asks for it.
        if event.is_readable() || self.connections.contains(key) && self.phases.of(key) == Phase::Write {
            self.ready(key, event.is_read_closed());
        }
    }

    fn read_mail(&mut self) -> Read {
        let mut read = Read::default();
        while let Ok(mail) = self.mailbox.try_recv() {
            match mail {
                Mail::Connection(socket) => read.arrived.push(socket),
                Mail::Evict => read.evict = true,
                Mail::Drain => self.drain(),
                Mail::Last => self.last_mail = true,
            }
        }
        read
    }

    fn accept(&mut self, socket: OwnedFd) {
        // One of a unix listener is used in the same way.
        let mut socket = TcpStream::from_std(socket.into());
        let entry = self.connections.vacant_entry();
        let key = entry.key();
        let interest = Interest::READABLE | Interest::WRITABLE;
        let registry = self.poll.registry();
        if let Err(error) = registry.register(&mut socket, Token(key), interest) {
            log::warn!("cannot watch a connection: {error}");
            return self.status.closed();
        }
        entry.insert(Connection::new(socket));
        self.phases.add(key, self.clock.tick());
        if self.draining {
            self.ready(key, false);
        }
    }

    /// Closes the connection that has been silent longest (SPEC K-84). One that has sent something meanwhile is not.
    fn evict(&mut self) {
        while let Some(key) = self.phases.oldest(Phase::Idle) {
            if sys::readable(&self.connections[key].socket) == 0 {
                self.retire(key);
                break;
            }
            self.ready(key, false);
        }
        self.status.evicted();
    }

    /// Lets a connection do what its socket allows.
    fn ready(&mut self, key: usize, ended: bool) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let kept = connection.kept_bytes();
        let phase = self.phases.of(key);
        let mut tools = Tools {
            codec: &mut self.codec,
            buffer: &mut self.buffer,
            draining: self.draining,
            now: self.clock.tick(),
        };
        let next = connection.ready(phase, ended, &mut tools);
        self.kept = self.kept + connection.kept_bytes() - kept;
        let unread = std::mem::take(&mut connection.unread);
        if unread {
            self.again.push(key);
        }
        match next {
            Next::Enter(phase) => self.phases.enter(key, phase, self.clock.tick()),
            Next::Stay => (),
            Next::Close => return self.close(key),
        }
        if self.draining && !unread && self.phases.of(key) == Phase::Idle {
            self.retire(key);
        }
        // SPEC K-86.
        while self.kept > self.limits.kept {
            self.close(self.phases.oldest(Phase::Head).unwrap_or(key));
        }
    }

    /// A connection's time in its phase is over.
    fn expire(&mut self, key: usize) {
        let now = self.clock.tick();
        match self.phases.of(key) {
            Phase::Idle => return self.retire(key),
            Phase::Write if self.connections[key].is_moving(now, self.limits.write) => {
                return self.phases.enter(key, Phase::Write, now);
            }
            Phase::Write => self.connections[key].reset_on_close(),
            Phase::Head | Phase::Linger => (),
        }
        self.close(key);
    }

    /// Ends a silent connection, and lingers where its peer has not taken the whole of the last answer (SPEC K-72).
    fn retire(&mut self, key: usize) {
        let connection = &mut self.connections[key];
        if sys::unacknowledged(&connection.socket) == 0 {
            return self.close(key);
        }
        match connection.linger(&mut self.buffer) {
            Next::Enter(phase) => self.phases.enter(key, phase, self.clock.tick()),
            _ => self.close(key),
        }
    }

    fn close(&mut self, key: usize) {
        let connection = self.connections.remove(key);
        self.kept -= connection.kept_bytes();
        self.phases.remove(key);
        self.status.closed();
    }

    /// Answers what the silent connections have sent meanwhile, and closes those that have sent nothing.
    fn drain(&mut self) {
        self.draining = true;
        let keys: Vec<usize> = self.connections.iter().map(|(key, _)| key).collect();
        for key in keys {
            if self.phases.of(key) == Phase::Idle {
                self.ready(key, false);
            }
        }
    }

    fn publish(&self) {
        let oldest = self.phases.oldest(Phase::Idle);
        let oldest = oldest.map(|key| self.phases.since(key));
        self.status.publish(oldest);
    }
}
