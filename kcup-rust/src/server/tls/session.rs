//! One connection: between its peer, with whom it speaks TLS, and the engine, which has the other end of a pair of sockets.

use std::io::{BufRead, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Instant;

use rustls::ServerConnection;

use super::outside::Outside;

/// The most bytes of a response in one record.
pub const RECORD: usize = 16 << 10;
/// A turn's most steps, each of which may move a record in either direction.
const TURN: usize = 16;
/// The most bytes that a handshake may take: there are no client certificates.
const LONGEST_HANDSHAKE: usize = 16 << 10;

/// One connection with TLS.
pub struct Session {
    pub outside: Arc<Outside>,
    pub inside: UnixStream,
    tls: ServerConnection,
    /// When the time for the handshake began.
    pub accepted: Instant,
    /// Whether the handshake has had a moment more, after a pause of ours.
    pub late: bool,
    /// Bytes that the peer has sent of a handshake or record that is not whole, or a few more.
    pub heard: usize,
    /// Bytes of responses that were taken from the engine and that the peer's socket has not taken.
    unsent: usize,
    /// Whether the peer has ended its side, and whether the engine knows.
    peer_ended: bool,
    told: bool,
    /// Whether the engine has ended its side, and whether the peer knows.
    engine_ended: bool,
    closed: bool,
}

/// The result of a turn.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing more can be done without an event.
    Wait,
    /// There may be more to do, after the turn of others.
    Again,
    /// It is over.
    End,
}

/// It is over.
struct Over;

/// Whether anything was moved.
type Moved = Result<bool, Over>;

impl Session {
    pub fn new(
        outside: Arc<Outside>,
        inside: UnixStream,
        tls: ServerConnection,
        accepted: Instant,
    ) -> Session {
        Session {
            outside,
            inside,
            tls,
            accepted,
            late: false,
            heard: 0,
            unsent: 0,
            peer_ended: false,
            told: false,
            engine_ended: false,
            closed: false,
        }
    }

    pub fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// Whether the engine has closed its end: nobody else has the peer's socket then.
    pub fn is_abandoned(&self) -> bool {
        Arc::strong_count(&self.outside) == 1
    }

    /// Moves what can be moved, in both directions.
    pub fn turn(&mut self, buffer: &mut [u8]) -> Next {
        for _ in 0..TURN {
            let moved = self.receive().and_then(|received| Ok(self.send(buffer)? | received));
            match moved {
                Ok(true) => (),
                Ok(false) => return Next::Wait,
                Err(Over) => return Next::End,
            }
        }
        Next::Again
    }

    /// Sends what the peer's socket takes at once, and ends. Call it when the engine is gone: if it wanted a reset, it has told
    /// the socket so.
    pub fn finish(&mut self, buffer: &mut [u8]) {
        if !self.is_handshaking() {
            let _ = self.send(buffer);
            self.tls.send_close_notify();
        }
        let _ = self.flush();
    }

    /// From the peer to the engine.
    fn receive(&mut self) -> Moved {
        self.outside.busy.store(true, SeqCst);
        let moved = self.listen();
        self.outside.busy.store(false, SeqCst);
        moved
    }

    fn listen(&mut self) -> Moved {
        if !self.deliver()? {
            return Ok(false);
        }
        if self.peer_ended {
            return Ok(false);
        }
        let handshaking = self.is_handshaking();
        match self.tls.read_tls(&mut (&self.outside.socket)) {
            Ok(0) => self.peer_ended = true,
            Ok(length) => self.understand(length)?,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => (),
            Err(_) => return Err(Over),
        }
        if self.peer_ended && self.is_handshaking() {
            return Err(Over);
        }
        if handshaking && !self.is_handshaking() {
            self.heard = 0;
        }
        self.deliver()?;
        Ok(true)
    }

    /// Takes in bytes of the peer.
    fn understand(&mut self, length: usize) -> Result<(), Over> {
        self.heard += length;
        match self.tls.process_new_packets() {
            Ok(_) if self.is_handshaking() && self.heard > LONGEST_HANDSHAKE => Err(Over),
            Ok(state) => {
                if state.plaintext_bytes_to_read() > 0 {
                    self.heard = 0;
                }
                self.peer_ended |= state.peer_has_closed();
                Ok(())
            }
            Err(_) => {
                // The alert that says why.
                let _ = self.flush();
                let _ = self.outside.socket.shutdown(Shutdown::Write);
                Err(Over)
            }
        }
    }

    /// Gives the engine what has been deciphered, then the end. Returns whether it took everything.
    fn deliver(&mut self) -> Result<bool, Over> {
        loop {
            let mut reader = self.tls.reader();
            let bytes = match reader.fill_buf() {
                Ok([]) => break,
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // The peer ended its side without close_notify.
                Err(_) => break,
            };
            match (&self.inside).write(bytes) {
                Ok(length) => reader.consume(length),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => (),
                Err(_) => return Err(Over),
            }
        }
        if self.peer_ended && !self.told {
            self.told = true;
            self.inside.shutdown(Shutdown::Write).map_err(|_| Over)?;
        }
        Ok(true)
    }

    /// From the engine to the peer.
    fn send(&mut self, buffer: &mut [u8]) -> Moved {
        let flushed = self.flush()?;
        if !flushed || self.is_handshaking() || self.closed {
            return Ok(false);
        }
        if self.engine_ended {
            self.closed = true;
            self.outside.socket.shutdown(Shutdown::Write).map_err(|_| Over)?;
            return Ok(false);
        }
        // First, so that there is no moment in which the bytes are nowhere.
        self.pending(RECORD);
        let moved = match (&self.inside).read(&mut buffer[..RECORD]) {
            Ok(0) => {
                self.engine_ended = true;
                self.tls.send_close_notify();
                Ok(true)
            }
            Ok(length) => {
                self.unsent = length;
                self.tls.writer().write_all(&buffer[..length]).map(|()| true).map_err(|_| Over)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(true),
            Err(_) => Err(Over),
        };
        self.pending(self.unsent);
        let moved = moved?;
        self.flush()?;
        Ok(moved)
    }

    /// Writes what is enciphered. Returns whether all of it was taken.
    fn flush(&mut self) -> Result<bool, Over> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut (&self.outside.socket)) {
                Ok(length) => self.unsent = self.unsent.saturating_sub(length),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.pending(self.unsent);
                    return Ok(false);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => (),
                Err(_) => return Err(Over),
            }
        }
        self.unsent = 0;
        self.pending(0);
        Ok(true)
    }

    fn pending(&self, bytes: usize) {
        self.outside.pending.store(bytes as u32, SeqCst);
    }
}
