//! Handling an event of a connection: reading requests, and responding to them.

use std::io::{ErrorKind, Read};

use super::super::account::Account;
use super::super::codec::{self, Response};
use super::super::counters::Counter;
use super::super::guard::{Guard, Verdict};
use super::super::outgoing::{Outgoing, Written};
use super::super::phases::{Phase, Tick};
use super::super::sys;
use super::{Connection, Kept, Next, Reason, Tools};

/// The result of reading and responding.
enum Flow {
    /// The socket is read empty.
    Drained,
    /// There may be more to read or to respond to, after the turn of others.
    More,
    /// The socket takes no more of a response.
    Blocked,
    /// The socket may take more, after the turn of others.
    Paused,
    /// The last response is written.
    Finished(Reason),
    /// The peer has ended its side, and has its responses.
    Ended,
    /// The peer is gone.
    Broken,
}

impl Connection {
    /// Reads and writes as far as the socket allows. `ended` says that the peer has ended its side.
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

    /// Reads and responds until the socket is empty, full or closed, or the turn is over. `again` says that the bytes kept may
    /// hold whole heads.
    fn receive(&mut self, phase: Phase, again: bool, tools: &mut Tools) -> Next {
        let mut responded = phase == Phase::Write;
        let mut flow = Flow::Drained;
        if again && self.kept.is_some() {
            flow = self.consume(0, &mut responded, tools);
        }
        if let Flow::Drained = flow {
            flow = self.read(&mut responded, tools);
        }
        self.again = matches!(flow, Flow::More | Flow::Paused);
        // A CRLF before a head is no part of it (K-68).
        let head = self.kept.as_ref().filter(|kept| !kept.guard.is_fresh());
        match (flow, head) {
            (Flow::Blocked | Flow::Paused, _) => Next::Enter(Phase::Write),
            (Flow::Finished(reason), _) => self.linger(reason, tools.buffer),
            (Flow::Ended, _) => self.end(tools.buffer),
            (Flow::Broken, _) => Next::Close(Reason::Peer),
            (_, Some(_)) if phase == Phase::Head && !responded => Next::Stay,
            // One that waits for its next turn is not silent.
            (_, Some(_)) | (Flow::More, None) => Next::Enter(Phase::Head),
            // The clock of silence starts with the last response, that of a head with its first byte.
            (_, None) if phase == Phase::Idle && !responded => Next::Stay,
            (_, None) => Next::Enter(Phase::Idle),
        }
    }

    fn flush(&mut self, tools: &mut Tools) -> Written {
        let left = self.left();
        self.make_way(left, tools.account);
        let Some(outgoing) = &mut self.outgoing else {
            return Written::All;
        };
        let written = outgoing.resume(&mut self.socket, self.claim.piece(), &tools.counters.bytes);
        if written == Written::All {
            self.outgoing = None;
        }
        self.wrote(left, tools.account);
        if self.left() < left {
            self.look(tools.account);
        }
        written
    }

    /// Reads once, and again if the peer may have ended its side after those bytes.
    fn read(&mut self, responded: &mut bool, tools: &mut Tools) -> Flow {
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
            match self.consume(length, responded, tools) {
                Flow::Drained if length == tools.buffer.len() => return Flow::More,
                Flow::Drained if self.ended || tools.draining => (),
                flow => return flow,
            }
        }
    }

    /// Responds to every whole head in the bytes kept and the first `length` bytes of the buffer, and keeps the rest.
    fn consume(&mut self, length: usize, responded: &mut bool, tools: &mut Tools) -> Flow {
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
            let (responses, now) = (tools.responses, tools.clock.now());
            let (response, head) = match guard.scan(&input[at..]) {
                Verdict::Partial => break Flow::Drained,
                Verdict::Complete(facts) => {
                    let head = &input[at + facts.skip..at + facts.length];
                    at += facts.length;
                    // During a drain the last request that was sent closes the connection (K-18).
                    let empty = || at == input.len() && !self.expects() && sys::readable(&self.socket) == 0;
                    let last = tools.last || tools.draining && empty();
                    let keep_alive = facts.keep_alive && !facts.body && !last;
                    (codec::response(head, keep_alive, responses, now, tools.head), Some(head))
                }
                Verdict::Refused(status) => (codec::refusal(status, responses, now, tools.head), None),
            };
            tools.counters.count_response(head, response.status());
            if let (Some(lines), Some(peer)) = (&mut tools.lines, tools.peer) {
                lines.add(peer, head, response.status(), response.body.bytes.len(), tools.clock.tick());
            }
            let ending = if head.is_some() { Reason::Answered } else { Reason::Refused };
            self.closing = (!response.keep_alive).then_some(ending);
            let written = self.write(&response, tools.clock.tick(), tools.account, &tools.counters.bytes);
            guard = Guard::default();
            tools.turn -= 1;
            *responded = true;
            match (written, self.closing) {
                (Written::All, None) => (),
                (Written::All, Some(reason)) => break Flow::Finished(reason),
                (Written::Blocked, _) => break Flow::Blocked,
                (Written::Paused, _) => break Flow::Paused,
                (Written::Broken, _) => break Flow::Broken,
            }
        };
        if self.closing.is_none() {
            self.kept = rest(kept, fresh, at, guard);
        }
        flow
    }

    /// Writes a response as far as the socket takes it, and charges that.
    fn write(&mut self, response: &Response, now: Tick, account: &mut Account, taken: &Counter) -> Written {
        let length = response.head.len() + response.body.bytes.len();
        self.make_way(length, account);
        let pace = (now, self.claim.piece());
        let written = Outgoing::start(
            response,
            (&mut self.socket, self.outside.as_deref()),
            pace,
            taken,
            &mut self.outgoing,
        );
        self.wrote(length, account);
        if self.outgoing.is_some() {
            self.look(account);
        }
        if written == Written::Blocked {
            account.blocked(&mut self.claim);
        }
        written
    }
}

/// The bytes to keep after the first `at` bytes, of those kept or otherwise of the fresh ones, are used up.
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
