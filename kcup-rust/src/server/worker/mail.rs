//! The messages from the acceptor to a worker.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Weak};

use mio::{Poll, Token, Waker};

use super::super::counters::Reason;
use super::super::phases::{Phase, Tick, TICKS};
use super::super::status::{Room, Status};
use super::Worker;
use crate::access_log::Peer;
use crate::respond::Responses;

/// Marks the event of a mail.
pub const WAKE: Token = Token(usize::MAX);
/// The time that an accepted connection has for its first byte during a drain.
const GRACE: Tick = TICKS;

/// A connection that was accepted.
pub struct Arrival {
    pub socket: OwnedFd,
    /// The client, if there is an access log.
    pub peer: Option<Peer>,
}

/// A worker as the acceptor sees it.
pub struct Handle {
    pub mail: Sender<Mail>,
    pub waker: Waker,
    pub status: Arc<Status>,
}

// A worker that has ended needs no mail: it has drained, or it has failed.
impl Handle {
    /// A handle, and its worker's ends of it.
    pub fn new(room: Arc<Room>) -> io::Result<(Handle, Poll, Receiver<Mail>)> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        let (mail, mailbox) = channel();
        Ok((Handle { mail, waker, status: Arc::new(Status::new(room)) }, poll, mailbox))
    }

    pub fn send(&self, mail: Mail) {
        let _ = self.mail.send(mail);
        self.wake();
    }

    pub fn wake(&self) {
        let _ = self.waker.wake();
    }
}

pub enum Mail {
    Connection(Arrival),
    /// Close the connection that is first to make room of those in this phase, and report.
    MakeRoom(Phase),
    /// Reset the connections that still read this content (K-105).
    Recall(Weak<Responses>),
    /// The limits are these now.
    Limits(Bounds),
    /// Drain: respond to the requests that were sent, also by connections of later mail.
    Drain,
    /// No more mail follows: end with the last connection.
    Last,
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

/// The limits until the first mail.
impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { kept: usize::MAX, sockets: 1 << 40, cost: 0 }
    }
}

/// Mail that is handled at the end of a turn.
#[derive(Default)]
pub struct Read {
    pub arrived: Vec<Arrival>,
    pub wanted: Option<Phase>,
}

impl Worker {
    pub fn read_mail(&mut self) -> Read {
        let mut read = Read::default();
        while let Ok(mail) = self.mailbox.try_recv() {
            match mail {
                Mail::Connection(arrival) => read.arrived.push(arrival),
                Mail::MakeRoom(phase) => read.wanted = Some(phase),
                Mail::Recall(old) => self.recall(&old),
                Mail::Limits(bounds) => self.bounds = bounds,
                Mail::Drain => self.drain(),
                Mail::Last => self.last_mail = true,
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
