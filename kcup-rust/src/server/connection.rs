//! One peer: what is kept of it between events, and what an event makes of it. Sibling: kcup-go/server/connection.go.

mod account;
mod kept;
mod linger;

use std::io::{ErrorKind, Read};
use std::sync::{Arc, Weak};

use mio::net::TcpStream;

use super::account::{Account, Claim};
use super::codec::Codec;
use super::counters::{Counter, Counts, Reason};
use super::guard::{Guard, Verdict};
use super::outgoing::{Outgoing, Written};
use super::phases::{Phase, Tick};
use super::sys;
use crate::content::Content;
use crate::ops::access_log::Lines;
use kept::{rest, Kept};
use linger::Linger;

/// So many responses a connection has in a turn (SPEC K-88).
pub const TURN: usize = 16;
/// How many bytes are read at once.
pub const READ_BYTES: usize = 16384;

pub struct Connection {
    pub socket: TcpStream,
    /// Bytes that are not a whole head yet, or that wait behind an answer the socket has not taken.
    kept: Option<Box<Kept>>,
    outgoing: Option<Box<Outgoing>>,
    pub claim: Claim,
    /// When less was last seen to be held than was claimed.
    moved: Tick,
    /// Why the connection ends with the answer on its way, or lingers; nothing if it does not.
    closing: Option<Reason>,
    /// Whether the peer has ended its side: what was sent before is read to its end, which no event will announce again.
    pub ended: bool,
    /// Whether there may be more to do, and no event will say so.
    pub again: bool,
    linger: Option<Linger>,
    /// Whether the peer has ever sent anything.
    pub spoken: bool,
}

/// What a worker lends to a connection while it handles an event.
pub struct Tools<'a> {
    pub codec: &'a mut Codec,
    pub buffer: &'a mut [u8],
    pub account: &'a mut Account,
    pub counters: &'a Counts<Counter>,
    pub lines: Option<&'a mut Lines>,
    /// What the worker calls the connection.
    pub key: usize,
    pub draining: bool,
    /// Whether each response is the last.
    pub last: bool,
    pub now: Tick,
    /// Responses that the connection may have yet in this turn.
    pub turn: usize,
}

/// What becomes of a connection after an event.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// It begins this phase now.
    Enter(Phase),
    /// Nothing happened that its clock should know.
    Stay,
    Close(Reason),
}

/// What reading, or answering what was read, came to.
enum Flow {
    /// The socket is read empty.
    Drained,
    /// There may be more to read, or to answer, and others have their turn first.
    More,
    /// The socket takes no more of an answer.
    Blocked,
    /// The socket may take more, and others have their turn first.
    Paused,
    /// The last answer is written.
    Finished(Reason),
    /// The peer has ended its side, and was answered.
    Ended,
    /// The peer is gone.
    Broken,
}

impl Connection {
    pub fn new(socket: TcpStream) -> Connection {
        Connection {
            socket,
            kept: None,
            outgoing: None,
            claim: Claim::default(),
            moved: 0,
            closing: None,
            ended: false,
            again: false,
            linger: None,
            spoken: false,
        }
    }

    /// Bytes of memory that are kept because a head is not whole.
    pub fn kept_bytes(&self) -> usize {
        self.kept.as_ref().map_or(0, |kept| kept.bytes.capacity())
    }

    /// Does what the socket allows. `ended` says that the peer has ended its side.
    pub fn ready(&mut self, phase: Phase, ended: bool, tools: &mut Tools) -> Next {
        self.ended |= ended;
        let again = std::mem::take(&mut self.again);
        match phase {
            Phase::Linger => self.discard(tools.buffer),
            Phase::Write => match (self.flush(tools), self.closing) {
                (Written::All, Some(reason)) => self.linger(reason, tools.buffer),
                (Written::All, None) => self.receive(phase, true, tools),
                (Written::Blocked, _) => Next::Stay,
                (Written::Paused, _) => {
                    self.again = true;
                    Next::Stay
                }
                (Written::Broken, _) => Next::Close(Reason::Peer),
            },
            Phase::Idle | Phase::Head => self.receive(phase, again, tools),
        }
    }

    /// Whether the peer has taken enough of the response within the last `patience`; looks at the socket.
    pub fn is_moving(&mut self, now: Tick, patience: Tick) -> bool {
        let Some(outgoing) = &mut self.outgoing else {
            return false;
        };
        outgoing.look(&self.socket, now).is_enough(now, patience)
    }

    /// Whether a response waits that is of this content.
    pub fn reads(&self, content: &Weak<Content>) -> bool {
        self.outgoing.as_ref().is_some_and(|outgoing| Arc::as_ptr(&outgoing.content) == content.as_ptr())
    }

    /// How fast the peer takes a response that waits for it, in bytes a second.
    pub fn rate(&self, now: Tick) -> Option<u64> {
        self.outgoing.as_ref().map(|outgoing| outgoing.progress().rate(now))
    }

    fn flush(&mut self, tools: &mut Tools) -> Written {
        let left = self.left();
        self.make_way(left, tools.account);
        let Some(outgoing) = &mut self.outgoing else {
            return Written::All;
        };
        let written =
            outgoing.resume(&mut self.socket, (tools.now, self.claim.piece()), &tools.counters.bytes);
        if written == Written::All {
            self.outgoing = None;
        }
        self.wrote(left, tools.account);
        written
    }

    /// Reads and answers, until the socket is empty, full or closed, or others should have a turn. `again` says that what is
    /// kept may hold whole heads.
    fn receive(&mut self, phase: Phase, again: bool, tools: &mut Tools) -> Next {
        let mut answered = phase == Phase::Write;
        let mut flow = Flow::Drained;
        if again && self.kept.is_some() {
            flow = self.consume(0, &mut answered, tools);
        }
        if let Flow::Drained = flow {
            flow = self.read(&mut answered, tools);
        }
        self.again = matches!(flow, Flow::More | Flow::Paused);
        // A CRLF that may be forgiven is no part of a head (SPEC K-68).
        let head = self.kept.as_ref().filter(|kept| !kept.guard.is_fresh());
        match (flow, head) {
            (Flow::Blocked | Flow::Paused, _) => Next::Enter(Phase::Write),
            (Flow::Finished(reason), _) => self.linger(reason, tools.buffer),
            (Flow::Ended, _) => self.end(tools.buffer),
            (Flow::Broken, _) => Next::Close(Reason::Peer),
            (_, Some(_)) if phase == Phase::Head && !answered => Next::Stay,
            // One that waits for its next turn is not silent.
            (_, Some(_)) | (Flow::More, None) => Next::Enter(Phase::Head),
            // The clock of silence runs from the last answer, that of a head from its first byte.
            (_, None) if phase == Phase::Idle && !answered => Next::Stay,
            (_, None) => Next::Enter(Phase::Idle),
        }
    }

    /// One read, and a second one where the first may have left the peer's end unseen.
    fn read(&mut self, answered: &mut bool, tools: &mut Tools) -> Flow {
        loop {
            let length = match self.socket.read(tools.buffer) {
                Ok(0) => return Flow::Ended,
                Ok(length) => length,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Flow::Drained,
                    ErrorKind::Interrupted => continue,
                    _ => return Flow::Broken,
                },
            };
            self.spoken = true;
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
            if tools.turn == 0 {
                break Flow::More;
            }
            let (answer, head) = match guard.scan(&input[at..]) {
                Verdict::Partial => break Flow::Drained,
                Verdict::Complete(facts) => {
                    let head = &input[at + facts.skip..at + facts.length];
                    at += facts.length;
                    // While draining the last of what was sent closes the connection, and not one before it (K-18).
                    let empty = || at == input.len() && sys::readable(&self.socket) == 0;
                    let last = tools.last || tools.draining && empty();
                    let keep_alive = facts.keep_alive && !facts.body && !last;
                    (tools.codec.answer(head, keep_alive), Some(head))
                }
                Verdict::Refused(status) => (tools.codec.refuse(status), None),
            };
            tools.counters.answer(head, answer.status());
            if let Some(lines) = &mut tools.lines {
                lines.add(tools.key, head, answer.status(), answer.body.bytes.len(), tools.now);
            }
            let ending = if head.is_some() { Reason::Answered } else { Reason::Refused };
            self.closing = (!answer.keep_alive).then_some(ending);
            let length = answer.head.len() + answer.body.bytes.len();
            self.make_way(length, tools.account);
            let taken = &tools.counters.bytes;
            let written = Outgoing::start(
                &answer,
                &mut self.socket,
                (tools.now, self.claim.piece()),
                taken,
                &mut self.outgoing,
            );
            self.wrote(length, tools.account);
            guard = Guard::default();
            tools.turn -= 1;
            *answered = true;
            match (written, self.closing) {
                (Written::All, None) => (),
                (Written::All, Some(reason)) => break Flow::Finished(reason),
                (Written::Blocked, _) => {
                    tools.account.blocked(&mut self.claim);
                    break Flow::Blocked;
                }
                (Written::Paused, _) => break Flow::Paused,
                (Written::Broken, _) => break Flow::Broken,
            }
        };
        if self.closing.is_none() {
            self.kept = rest(kept, fresh, at, guard);
        }
        flow
    }
}
