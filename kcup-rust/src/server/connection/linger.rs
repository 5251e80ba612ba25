//! How a connection ends. A part of connection.rs.

use std::io::{ErrorKind, Read};
use std::net::Shutdown;
use std::time::Duration;

use socket2::SockRef;

use super::{Connection, Next, Phase, Reason};

/// How many bytes a closing connection may still send before it is cut (SPEC K-72).
pub const MOST: usize = 65536;

impl Connection {
    /// Ends our side, and waits for the peer to end its own, so that no reset overtakes the answer (RFC 9112 section 9.6).
    pub fn linger(&mut self, reason: Reason, buffer: &mut [u8]) -> Next {
        self.closing = Some(reason);
        if self.socket.shutdown(Shutdown::Write).is_err() {
            return Next::Close(reason);
        }
        match self.discard(buffer) {
            Next::Stay => Next::Enter(Phase::Linger),
            next => next,
        }
    }

    /// Why a connection that lingers does.
    pub fn reason(&self) -> Reason {
        self.closing.unwrap_or(Reason::Peer)
    }

    /// Reads what still comes, and forgets it.
    pub fn discard(&mut self, buffer: &mut [u8]) -> Next {
        loop {
            match self.socket.read(buffer) {
                Ok(length) if (1..self.linger_left).contains(&length) => self.linger_left -= length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Next::Stay,
                Err(error) if error.kind() == ErrorKind::Interrupted => (),
                Ok(_) | Err(_) => return Next::Close(self.reason()),
            }
        }
    }

    /// What the kernel still holds of an answer is thrown away with the connection.
    pub fn reset_on_close(&self) {
        // A failure leaves an orderly close.
        let _ = SockRef::from(&self.socket).set_linger(Some(Duration::ZERO));
    }
}
