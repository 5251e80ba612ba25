//! An answer on its way into a socket. Sibling: kcup-go/server/outgoing.go.

use std::io::{ErrorKind, IoSlice, Write};

use bytes::{Buf, Bytes};
use mio::net::TcpStream;

use super::codec::Answer;
use super::phases::Tick;
use super::sys;

/// How far a write got.
#[derive(Debug, PartialEq, Eq)]
pub enum Written {
    All,
    /// The socket is full.
    Blocked,
    /// The peer is gone.
    Broken,
}

/// What a full socket has not taken yet.
pub struct Outgoing {
    head: Vec<u8>,
    body: Bytes,
    /// When the peer was last seen to take something, and how many bytes were in the kernel's hands then.
    moved: Tick,
    queued: u32,
}

impl Outgoing {
    /// Writes an answer with one system call. What the socket does not take is left in `rest`.
    pub fn start(
        answer: &Answer,
        socket: &mut TcpStream,
        now: Tick,
        rest: &mut Option<Box<Outgoing>>,
    ) -> Written {
        let Ok(written) = write(socket, answer.head, &answer.body) else {
            return Written::Broken;
        };
        if written == answer.head.len() + answer.body.len() {
            return Written::All;
        }
        let head = written.min(answer.head.len());
        *rest = Some(Box::new(Outgoing {
            head: answer.head[head..].to_vec(),
            body: answer.body.slice(written - head..),
            moved: now,
            queued: sys::unacknowledged(socket),
        }));
        Written::Blocked
    }

    /// Goes on, with one system call: where the socket does not take all, an event says when it has room again.
    pub fn resume(&mut self, socket: &mut TcpStream, now: Tick) -> Written {
        let Ok(written) = write(socket, &self.head, &self.body) else {
            return Written::Broken;
        };
        if written == self.head.len() + self.body.len() {
            return Written::All;
        }
        if written > 0 {
            let head = written.min(self.head.len());
            self.head.drain(..head);
            self.body.advance(written - head);
            self.moved = now;
            self.queued = sys::unacknowledged(socket);
        }
        Written::Blocked
    }

    /// Whether the peer has taken some of the answer within the last `patience`. A full socket becomes writable only
    /// when much of it is free again, so the kernel is asked what the peer has acknowledged.
    pub fn is_moving(&mut self, socket: &TcpStream, now: Tick, patience: Tick) -> bool {
        let queued = sys::unacknowledged(socket);
        if queued < self.queued {
            self.queued = queued;
            self.moved = now;
        }
        now.wrapping_sub(self.moved) <= patience
    }
}

/// How many bytes the socket took; none when it is full.
fn write(mut socket: &TcpStream, head: &[u8], body: &[u8]) -> Result<usize, ()> {
    loop {
        match socket.write_vectored(&[IoSlice::new(head), IoSlice::new(body)]) {
            Ok(written) => return Ok(written),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => return Ok(0),
                ErrorKind::Interrupted => (),
                _ => return Err(()),
            },
        }
    }
}
