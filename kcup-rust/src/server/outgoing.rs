//! A response on its way into a socket.

mod progress;

use std::io::IoSlice;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use mio::net::TcpStream;
use rustix::fs::sendfile;
use rustix::io::{Errno, writev};
use rustix::net::{SendFlags, send};

use super::codec::Response;
use super::counters::Counter;
use super::phases::Tick;
use super::sys;
use super::tls::Outside;
use crate::content::Shared;
use crate::respond::{Body, Responses};
use progress::Progress;

/// Bodies of this many bytes are sent from their file, which saves copying them but takes a second system call for the head.
/// docs/adr/0006 has the measurements.
const SENDFILE_FROM: usize = 32 << 10;

/// The most bytes of a body that are written in a turn (K-88).
const TURN: usize = 1 << 20;

/// The result of a write.
#[derive(Debug, PartialEq, Eq)]
pub enum Written {
    All,
    /// The socket is full.
    Blocked,
    /// The socket may take more, and others have their turn first.
    Paused,
    /// The peer is gone.
    Broken,
}

impl Written {
    fn of(written: usize, head: &[u8], body: &[u8]) -> Written {
        match written.saturating_sub(head.len()) {
            _ if written == head.len() + body.len() => Written::All,
            TURN => Written::Paused,
            _ => Written::Blocked,
        }
    }
}

/// The part of a response that a full socket has not taken.
pub struct Outgoing {
    head: Vec<u8>,
    body: Bytes,
    /// The shared bytes that the body is a slice of.
    of: Option<Shared>,
    /// The version of the content that it is of, which is held for as long as it is read.
    pub responses: Arc<Responses>,
    pub progress: Progress,
}

impl Outgoing {
    /// Writes a response, and counts the bytes that the socket takes. The others are left in `rest`.
    pub fn start(
        response: &Response,
        (socket, outside): (&mut TcpStream, Option<&Outside>),
        (now, piece): (Tick, usize),
        counter: &Counter,
        rest: &mut Option<Box<Outgoing>>,
    ) -> Written {
        let Response { head, body, responses, .. } = *response;
        let Ok(written) = write(socket, head, body, piece, counter) else {
            return Written::Broken;
        };
        let done = Written::of(written, head, body.bytes);
        if done == Written::All {
            return done;
        }
        let of_head = written.min(head.len());
        let left = &body.bytes[written - of_head..];
        *rest = Some(Box::new(Outgoing {
            head: head[of_head..].to_vec(),
            body: body.of.map_or_else(|| Bytes::copy_from_slice(left), |shared| shared.slice_ref(left)),
            of: body.of.cloned(),
            responses: responses.clone(),
            progress: Progress::new(written as u64, unacknowledged(socket, outside), now),
        }));
        done
    }

    /// Goes on writing. If the socket does not take everything, an event follows when it has room again.
    pub fn resume(&mut self, socket: &mut TcpStream, piece: usize, counter: &Counter) -> Written {
        let body = Body { bytes: &self.body, of: self.of.as_ref() };
        let Ok(written) = write(socket, &self.head, body, piece, counter) else {
            return Written::Broken;
        };
        let done = Written::of(written, &self.head, &self.body);
        if done == Written::All {
            return done;
        }
        if written > 0 {
            let head = written.min(self.head.len());
            self.head.drain(..head);
            self.body.advance(written - head);
            self.progress.wrote(written as u64);
        }
        done
    }

    /// Bytes that the socket has not taken.
    pub fn left(&self) -> usize {
        self.head.len() + self.body.len()
    }
}

/// Bytes that were written to a connection's socket, and that the peer has not acknowledged.
pub fn unacknowledged(socket: &TcpStream, outside: Option<&Outside>) -> u32 {
    // In the order in which the bytes go, so that none is missed.
    sys::unacknowledged(socket) + outside.map_or(0, Outside::unacknowledged)
}

/// Writes to the socket, of the body at most a turn's bytes, `piece` by piece. Returns how many bytes it took.
fn write(socket: &TcpStream, head: &[u8], body: Body, piece: usize, counter: &Counter) -> Result<usize, ()> {
    let file =
        body.of.filter(|_| body.bytes.len() >= SENDFILE_FROM).and_then(|shared| shared.offset(body.bytes));
    let part = body.bytes.len().min(TURN);
    let Some((file, mut offset)) = file else {
        return taken(counter, || writev(socket, &[IoSlice::new(head), IoSlice::new(&body.bytes[..part])]));
    };
    let mut sent = match head {
        [] => 0,
        // The kernel holds the head back until the body's first bytes come.
        _ => taken(counter, || send(socket, head, SendFlags::MORE | SendFlags::NOSIGNAL))?,
    };
    let all = head.len() + part;
    // A signal cuts sendfile(2) short while the socket has room, which no event would announce: only a full socket ends this.
    while (head.len()..all).contains(&sent) {
        match taken(counter, || sendfile(socket, file, Some(&mut offset), piece.min(all - sent)))? {
            0 => break,
            more => sent += more,
        }
    }
    Ok(sent)
}

/// Counts the bytes that a system call wrote. It may be interrupted, or find the socket full.
fn taken(counter: &Counter, mut call: impl FnMut() -> Result<usize, Errno>) -> Result<usize, ()> {
    loop {
        match call() {
            Ok(written) => {
                counter.add(written as u64);
                return Ok(written);
            }
            Err(Errno::AGAIN) => return Ok(0),
            Err(Errno::INTR) => (),
            Err(_) => return Err(()),
        }
    }
}
