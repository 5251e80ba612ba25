//! One peer: what is kept of it between events, and what an event makes of it. Sibling: kcup-go/server/connection.go.

use std::io::{ErrorKind, Read};
use std::net::Shutdown;
use std::time::Duration;

use mio::net::TcpStream;
use socket2::SockRef;

use super::codec::{Answer, Codec};
use super::guard::{Guard, Verdict};
use super::outgoing::{Outgoing, Written};
use super::phases::{Phase, Tick};
use super::sys;

/// How many bytes a closing connection may still send before it is cut (SPEC K-72).
const LINGER_BYTES: usize = 65536;
/// How many bytes are read at once.
pub const READ_BYTES: usize = 16384;

pub struct Connection {
    pub socket: TcpStream,
    /// Bytes that are not a whole head yet, or that wait behind an answer the socket has not taken.
    kept: Option<Box<Kept>>,
    outgoing: Option<Box<Outgoing>>,
    /// Whether the connection ends with the answer on its way.
    closing: bool,
    /// Whether the peer has ended its side: what was sent before is read to its end, which no event will announce again.
    ended: bool,
    /// Whether there may be more to read, and no event will say so.
    pub unread: bool,
    linger_left: usize,
}

struct Kept {
    bytes: Vec<u8>,
    guard: Guard,
}

/// What a worker lends to a connection while it handles an event.
pub struct Tools<'a> {
    pub codec: &'a mut Codec,
    pub buffer: &'a mut [u8],
    pub draining: bool,
    pub now: Tick,
}

/// What becomes of a connection after an event.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// It begins this phase now.
    Enter(Phase),
    /// Nothing happened that its clock should know.
    Stay,
    Close,
}

/// What reading, or answering what was read, came to.
enum Flow {
    /// The socket is read empty.
    Drained,
    /// There may be more to read.
    More,
    /// The socket takes no more of an answer.
    Blocked,
    /// The last answer is written.
    Finished,
    /// The peer is gone, or has ended its side and been answered.
    Broken,
}

impl Connection {
    pub fn new(socket: TcpStream) -> Connection {
        Connection {
            socket,
            kept: None,
            outgoing: None,
            closing: false,
            ended: false,
            unread: false,
            linger_left: LINGER_BYTES,
        }
    }

    /// Bytes of memory that are kept because a head is not whole.
    pub fn kept_bytes(&self) -> usize {
        self.kept.as_ref().map_or(0, |kept| kept.bytes.capacity())
    }

    /// Does what the socket allows. `ended` says that the peer has ended its side.
    pub fn ready(&mut self, phase: Phase, ended: bool, tools: &mut Tools) -> Next {
        self.ended |= ended;
        match phase {
            Phase::Linger => self.discard(tools.buffer),
            Phase::Write => match self.flush(tools.now) {
                Written::All if self.closing => self.linger(tools.buffer),
                Written::All => self.receive(phase, tools),
                Written::Blocked => Next::Stay,
                Written::Broken => Next::Close,
            },
            Phase::Idle | Phase::Head => self.receive(phase, tools),
        }
    }

    /// Whether the peer has taken some of the answer within the last `patience`; looks at the socket.
    pub fn is_moving(&mut self, now: Tick, patience: Tick) -> bool {
        let Some(outgoing) = &mut self.outgoing else {
            return false;
        };
        outgoing.is_moving(&self.socket, now, patience)
    }

    /// What the kernel still holds of an answer is thrown away with the connection.
    pub fn reset_on_close(&self) {
        // A failure leaves an orderly close.
        let _ = SockRef::from(&self.socket).set_linger(Some(Duration::ZERO));
    }

    fn flush(&mut self, now: Tick) -> Written {
        let Some(outgoing) = &mut self.outgoing else {
            return Written::All;
        };
        let written = outgoing.resume(&mut self.socket, now);
        if written == Written::All {
            self.outgoing = None;
        }
        written
    }

    /// Reads and answers, until the socket is empty, full or closed, or others should have a turn.
    fn receive(&mut self, phase: Phase, tools: &mut Tools) -> Next {
        let mut answered = phase == Phase::Write;
        if answered && self.kept.is_some() {
            match self.consume(0, &mut answered, tools) {
                Flow::Blocked => return Next::Enter(Phase::Write),
                Flow::Finished => return self.linger(tools.buffer),
                Flow::Broken => return Next::Close,
                Flow::Drained | Flow::More => (),
            }
        }
        let flow = self.read(&mut answered, tools);
        self.unread = matches!(flow, Flow::More);
        // A CRLF that may be forgiven is no part of a head (SPEC K-68).
        let head = self.kept.as_ref().filter(|kept| !kept.guard.is_fresh());
        match (flow, head) {
            (Flow::Blocked, _) => Next::Enter(Phase::Write),
            (Flow::Finished, _) => self.linger(tools.buffer),
            (Flow::Broken, _) => Next::Close,
            // The clock of silence runs from the last answer, that of a head from its first byte.
            (_, None) if phase == Phase::Idle && !answered => Next::Stay,
            (_, None) => Next::Enter(Phase::Idle),
            (_, Some(_)) if phase == Phase::Head && !answered => Next::Stay,
            (_, Some(_)) => Next::Enter(Phase::Head),
        }
    }

    /// One read, and a second one where the first may have left the peer's end unseen.
    fn read(&mut self, answered: &mut bool, tools: &mut Tools) -> Flow {
        loop {
            let length = match self.socket.read(tools.buffer) {
                Ok(0) => return Flow::Broken,
                Ok(length) => length,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Flow::Drained,
                    ErrorKind::Interrupted => continue,
                    _ => return Flow::Broken,
                },
            };
            match self.consume(length, answered, tools) {
                Flow::Drained if length == tools.buffer.len() => return Flow::More,
                Flow::Drained if self.ended || tools.draining => (),
                flow => return flow,
            }
        }
    }

    /// Answers every whole head in what is kept and the first `length` bytes of the buffer, and keeps the rest.
    fn consume(&mut self, length: usize, answered: &mut bool, tools: &mut Tools) -> Flow {
        let fresh = &tools.buffer[..length];
        let mut kept = self.kept.take();
        if let Some(kept) = &mut kept {
            kept.bytes.extend_from_slice(fresh);
        }
        let input = kept.as_ref().map_or(fresh, |kept| &kept.bytes);
        let mut guard = kept.as_ref().map_or(Guard::default(), |kept| kept.guard.clone());
        let mut at = 0;
        let flow = loop {
            if at == input.len() {
                break Flow::Drained;
            }
            let (written, keep_alive) = match guard.scan(&input[at..]) {
                Verdict::Partial => break Flow::Drained,
                Verdict::Complete(facts) => {
                    let head = &input[at + facts.skip..at + facts.length];
                    at += facts.length;
                    // While draining the last of what was sent closes the connection, and not one before it (K-18).
                    let last = tools.draining && at == input.len() && sys::readable(&self.socket) == 0;
                    let keep_alive = facts.keep_alive && !facts.body && !last;
                    self.send(tools.codec.answer(head, keep_alive), tools.now)
                }
                Verdict::Refused(status) => self.send(tools.codec.refuse(status), tools.now),
            };
            guard = Guard::default();
            *answered = true;
            self.closing = !keep_alive;
            match written {
                Written::All if keep_alive => (),
                Written::All => break Flow::Finished,
                Written::Blocked => break Flow::Blocked,
                Written::Broken => break Flow::Broken,
            }
        };
        if !self.closing {
            self.kept = rest(kept, fresh, at, guard);
        }
        flow
    }

    fn send(&mut self, answer: Answer, now: Tick) -> (Written, bool) {
        let written = Outgoing::start(&answer, &mut self.socket, now, &mut self.outgoing);
        (written, answer.keep_alive)
    }

    /// Ends our side, and waits for the peer to end its own, so that no reset overtakes the answer (RFC 9112 section 9.6).
    pub fn linger(&mut self, buffer: &mut [u8]) -> Next {
        if self.socket.shutdown(Shutdown::Write).is_err() {
            return Next::Close;
        }
        match self.discard(buffer) {
            Next::Stay => Next::Enter(Phase::Linger),
            next => next,
        }
    }

    fn discard(&mut self, buffer: &mut [u8]) -> Next {
        loop {
            match self.socket.read(buffer) {
                Ok(length) if (1..self.linger_left).contains(&length) => self.linger_left -= length,
                Ok(_) => return Next::Close,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Next::Stay,
                    ErrorKind::Interrupted => (),
                    _ => return Next::Close,
                },
            }
        }
    }
}

/// What is left to keep when the first `at` bytes, of what was kept or else of what is fresh, are used up.
fn rest(kept: Option<Box<Kept>>, fresh: &[u8], at: usize, guard: Guard) -> Option<Box<Kept>> {
    match kept {
        Some(mut kept) if at < kept.bytes.len() => {
            kept.bytes.drain(..at);
            kept.guard = guard;
            Some(kept)
        }
        None if at < fresh.len() => Some(Box::new(Kept { bytes: fresh[at..].to_vec(), guard })),
        _ => None,
    }
}
