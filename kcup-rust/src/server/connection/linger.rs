//! The end of a connection.

use std::io::{ErrorKind, Read};
use std::net::Shutdown;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

use super::super::account::Account;
use super::super::outgoing::unacknowledged;
use super::{Connection, Next, Phase, Reason};

/// The most bytes that are discarded of a closing connection (K-72).
const MOST: usize = 65536;

/// A connection whose own side has ended.
pub struct Linger {
    /// Bytes that may still be discarded.
    left: usize,
    /// Whether it has lingered for a second.
    waited: bool,
}

impl Connection {
    /// Ends our side, and waits for the peer to end its own, so that no reset overtakes the response (RFC 9112 section 9.6).
    pub fn linger(&mut self, reason: Reason, buffer: &mut [u8]) -> Next {
        self.closing = Some(reason);
        if self.socket.shutdown(Shutdown::Write).is_err() {
            return Next::Close(reason);
        }
        self.linger = Some(Linger { left: MOST, waited: false });
        match self.discard(buffer) {
            Next::Stay => Next::Enter(Phase::Linger),
            next => next,
        }
    }

    /// Handles a peer that has ended its side. It may not have read all of its response yet.
    pub fn end(&mut self, buffer: &mut [u8]) -> Next {
        match self.unacknowledged() {
            0 => Next::Close(Reason::Peer),
            _ => self.linger(Reason::Peer, buffer),
        }
    }

    /// Why the connection lingers.
    pub fn reason(&self) -> Reason {
        self.closing.unwrap_or(Reason::Peer)
    }

    /// Reads and discards the bytes that still come.
    pub fn discard(&mut self, buffer: &mut [u8]) -> Next {
        let (reason, socket) = (self.reason(), &mut self.socket);
        while let Some(linger) = self.linger.as_mut().filter(|linger| linger.left > 0) {
            match socket.read(buffer) {
                Ok(0) => linger.left = 0,
                Ok(length) => linger.left = linger.left.saturating_sub(length),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Next::Stay,
                Err(error) if error.kind() == ErrorKind::Interrupted => (),
                Err(_) => return Next::Close(reason),
            }
        }
        match self.unacknowledged() {
            0 => Next::Close(reason),
            _ => Next::Stay,
        }
    }

    /// Whether it lingers for another second, because the peer still takes its response. Nothing more is read then.
    pub fn lingers_on(&mut self, account: &mut Account) -> bool {
        self.look(account);
        let Some(linger) = &mut self.linger else {
            return false;
        };
        let waited = std::mem::replace(&mut linger.waited, true);
        linger.left = 0;
        self.unacknowledged() > 0 && !(waited && account.moves.is_still(&self.claim.seen))
    }

    /// Bytes of responses that the peer has not acknowledged.
    pub fn unacknowledged(&self) -> u32 {
        // The end of our side counts as a byte.
        let end = u32::from(self.linger.is_some());
        if self.claim.bytes == 0 {
            0
        } else {
            unacknowledged(&self.socket, self.outside.as_deref()).saturating_sub(end)
        }
    }

    /// Makes the kernel discard the rest of a response when the connection is closed.
    pub fn reset_on_close(&self) {
        // A failure leaves an orderly close.
        let _ = set_socket_linger(&self.socket, Some(Duration::ZERO));
        if let Some(outside) = &self.outside {
            let _ = set_socket_linger(&outside.socket, Some(Duration::ZERO));
        }
    }
}
