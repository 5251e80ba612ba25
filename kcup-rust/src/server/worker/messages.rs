//! The messages from the acceptor to a worker.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};

use mio::{Poll, Token, Waker};

use super::super::counters::Reason;
use super::super::phases::{Phase, TICKS, Tick};
use super::super::status::{AcceptorWaker, Status};
use super::super::tls::Outside;
use super::Worker;
use crate::access_log::Peer;
use crate::respond::Responses;

/// Marks the event of a message.
pub const WAKE: Token = Token(usize::MAX);
/// The time that an accepted connection has for its first byte during a drain.
const GRACE: Tick = TICKS;

/// A connection that was accepted.
pub struct Arrival {
    pub socket: OwnedFd,
    /// With TLS, the peer's socket: the other is one end of a pair.
    pub outside: Option<Arc<Outside>>,
    /// The client, if there is an access log, or a log of the end of connections.
    pub peer: Option<Peer>,
}

/// A worker as the acceptor sees it.
pub struct Handle {
    messages: Sender<Message>,
    waker: Waker,
    pub status: Arc<Status>,
}

// A worker that has ended needs no messages: it has drained, or it has failed.
impl Handle {
    /// A handle, and its worker's ends of it.
    pub fn new(acceptor: Arc<AcceptorWaker>) -> io::Result<(Handle, Poll, Receiver<Message>)> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        let (messages, mailbox) = channel();
        Ok((Handle { messages, waker, status: Arc::new(Status::new(acceptor)) }, poll, mailbox))
    }

    /// Sends a message, and wakes the worker.
    pub fn send(&self, message: Message) {
        let _ = self.messages.send(message);
        self.wake();
    }

    /// Wakes the worker, without a message.
    pub fn wake(&self) {
        let _ = self.waker.wake();
    }
}

/// A message from the acceptor to a worker.
pub enum Message {
    Connection(Arrival),
    /// Close the connection that is first to make room of those in this phase, and report.
    MakeRoom(Phase),
    /// Reset the connections that still read this content (K-105).
    Recall(Weak<Responses>),
    /// The limits are these now.
    Limits(Bounds),
    /// Drain: respond to the requests that were sent, also by connections of later messages.
    Drain,
    /// No more connections follow: end with the last one.
    Last,
    /// The drain has taken too long: end.
    Cut,
}

/// The time limits of connections.
#[derive(Clone, Copy)]
pub struct Limits {
    /// The longest silence between requests, in ticks,
    pub idle: Tick,
    /// the longest time for a head,
    pub header: Tick,
    /// and the longest time in which a peer takes too little of a response.
    pub write: Tick,
}

/// The limits of one worker, which change with the content.
#[derive(Clone, Copy)]
pub struct Bounds {
    /// Bytes kept of incomplete heads.
    pub kept: usize,
    /// Bytes that the kernel may hold for connections,
    pub sockets: u64,
    /// and the part of that which each open connection takes.
    pub cost: u64,
}

/// The limits until the first message.
impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { kept: usize::MAX, sockets: 1 << 40, cost: 0 }
    }
}

/// The messages that are handled at the end of a turn.
#[derive(Default)]
pub struct Read {
    pub arrived: Vec<Arrival>,
    pub wanted: Option<Phase>,
}

impl Worker {
    /// Handles the messages that have come, but for those that have to wait for the events of the turn.
    pub fn read_messages(&mut self) -> Read {
        let mut read = Read::default();
        while let Ok(message) = self.mailbox.try_recv() {
            match message {
                Message::Connection(arrival) => read.arrived.push(arrival),
                Message::MakeRoom(phase) => read.wanted = Some(phase),
                Message::Recall(old) => self.recall(&old),
                Message::Limits(bounds) => self.bounds = bounds,
                Message::Drain => self.drain(),
                Message::Last => self.last_message = true,
                Message::Cut => self.cut = true,
            }
        }
        read
    }

    fn recall(&mut self, old: &Weak<Responses>) {
        let readers = self.connections.iter().filter(|(_, connection)| connection.reads(old));
        let readers: Vec<usize> = readers.map(|(key, _)| key).collect();
        for key in readers {
            self.connections[key].reset_on_close();
            self.close(key, Reason::Replaced);
        }
    }

    /// Warns, but not more than once a second.
    pub fn complain(&mut self, what: fmt::Arguments) {
        let now = self.clock.tick();
        if self.complained.is_none_or(|last| now.wrapping_sub(last) >= TICKS) {
            self.complained = Some(now);
            log::warn!("{what}");
        }
    }

    /// Responds to requests that silent connections have just sent, and closes those that have sent nothing; but one that has
    /// never sent a byte has some time for it (K-18b).
    fn drain(&mut self) {
        self.draining = true;
        self.phases.limit(Phase::Idle, GRACE);
        let now = self.clock.tick();
        self.graced_until = Some(now + GRACE);
        let keys: Vec<usize> = self.phases.queue(Phase::Idle).collect();
        for key in keys {
            self.phases.enter(key, Phase::Idle, now);
            self.ready(key, false);
        }
    }
}
