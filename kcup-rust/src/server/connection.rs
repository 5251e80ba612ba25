//! A connection: its state between events.

mod account;
mod linger;
mod receive;

use std::sync::{Arc, Weak};

use mio::net::TcpStream;

use super::account::{Account, BEYOND, Claim};
use super::clock::Clock;
use super::counters::{Counter, Counts, Reason};
use super::guard::Guard;
use super::outgoing::Outgoing;
use super::phases::{Phase, Tick};
use super::sys;
use super::tls::Outside;
use crate::access_log::{Lines, Peer};
use crate::respond::Responses;
use linger::Linger;

/// The most responses to a connection in one turn (K-88).
pub const TURN: usize = 16;
/// The number of bytes read at once.
pub const READ_BYTES: usize = 16384;

/// One connection. While it is silent, it holds nothing but this record.
pub struct Connection {
    /// With TLS, the peer's socket; `socket` is then one end of a pair. Dropped before that is closed: see `tls::Session`.
    outside: Option<Arc<Outside>>,
    pub socket: TcpStream,
    /// Bytes that were read and not used.
    kept: Option<Box<Kept>>,
    outgoing: Option<Box<Outgoing>>,
    pub claim: Claim,
    /// Why the connection ends after the current response, or lingers; `None` if it does not.
    closing: Option<Reason>,
    /// Whether the peer has ended its side. No further event announces the bytes that it sent before.
    pub ended: bool,
    /// Whether there may be more to do without another event.
    pub again: bool,
    linger: Option<Linger>,
    /// Whether the peer has ever sent anything.
    pub spoken: bool,
}

/// Bytes that are not a whole head yet, or that wait for the response before theirs, and the state of their guard.
struct Kept {
    bytes: Vec<u8>,
    guard: Guard,
}

/// The parts of a worker that a connection uses while it handles an event.
pub struct Tools<'a> {
    pub responses: &'a Arc<Responses>,
    pub clock: &'a Clock,
    /// Holds the head of a response.
    pub head: &'a mut Vec<u8>,
    pub buffer: &'a mut [u8],
    pub account: &'a mut Account,
    pub counters: &'a Counts<Counter>,
    pub lines: Option<&'a mut Lines>,
    /// The connection's peer, if the access log names it.
    pub peer: Option<Peer>,
    pub draining: bool,
    /// Whether each response is the last.
    pub last: bool,
    /// The number of responses left in this turn.
    pub turn: usize,
}

/// The result of an event for the connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// It enters this phase now.
    Enter(Phase),
    /// It stays in its phase, whose clock goes on.
    Stay,
    Close(Reason),
}

impl Connection {
    pub fn new(socket: TcpStream, outside: Option<Arc<Outside>>) -> Connection {
        let beyond = if outside.is_some() { BEYOND } else { 0 };
        Connection {
            outside,
            socket,
            kept: None,
            outgoing: None,
            claim: Claim { beyond, ..Claim::default() },
            closing: None,
            ended: false,
            again: false,
            linger: None,
            spoken: false,
        }
    }

    /// The memory, in bytes, of the bytes that are kept.
    pub fn kept_bytes(&self) -> usize {
        self.kept.as_ref().map_or(0, |kept| kept.bytes.capacity())
    }

    /// Whether the peer has taken enough of the response within the last `timeout`. Asks the kernel.
    pub fn is_moving(&mut self, now: Tick, timeout: Tick, account: &mut Account) -> bool {
        self.look(account);
        self.outgoing.as_mut().is_some_and(|outgoing| outgoing.progress.is_enough(now, timeout))
    }

    /// Whether bytes of the peer are on their way to the socket: with TLS they have to be deciphered first.
    pub fn expects(&self) -> bool {
        self.outside.as_ref().is_some_and(|outside| outside.is_unread()) && sys::readable(&self.socket) == 0
    }

    /// Whether a response that waits is of this content.
    pub fn reads(&self, old: &Weak<Responses>) -> bool {
        self.outgoing.as_ref().is_some_and(|outgoing| Arc::as_ptr(&outgoing.responses) == old.as_ptr())
    }

    /// The rate at which the peer takes a response that waits for it, in bytes a second.
    pub fn rate(&self, now: Tick) -> Option<u64> {
        self.outgoing.as_ref().map(|outgoing| outgoing.progress.rate(now))
    }
}
