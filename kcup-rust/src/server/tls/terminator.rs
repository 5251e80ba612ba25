//! An event loop with the TLS of some connections. Neither the acceptor nor a worker waits for it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use rustls::ServerConnection;
use slab::Slab;

use super::super::sys::readable;
use super::Tls;
use super::outside::Outside;
use super::session::{Next, RECORD, Session};

const WAKE: Token = Token(usize::MAX);
const EVENTS: usize = 256;
/// What a handshake has after a pause.
const MOMENT: Duration = Duration::from_millis(100);

/// A connection that was accepted: the peer's socket, and this side's end of the pair.
pub struct Arrival {
    pub outside: Arc<Outside>,
    pub inside: UnixStream,
    pub accepted: Instant,
}

/// A terminator as the acceptor sees it. When it is dropped, the terminator ends with its last connection.
pub struct Handle {
    arrivals: Sender<Arrival>,
    waker: Arc<Waker>,
}

impl Handle {
    pub fn send(&self, arrival: Arrival) {
        // One that has ended has failed, and the server with it.
        let _ = self.arrivals.send(arrival);
        let _ = self.waker.wake();
    }

    /// Lets it end with its last connection.
    pub fn close(self) {
        let Handle { arrivals, waker } = self;
        drop(arrivals);
        let _ = waker.wake();
    }
}

pub struct Terminator {
    poll: Poll,
    mailbox: Receiver<Arrival>,
    tls: Arc<Tls>,
    sessions: Slab<Box<Session>>,
    /// When the time for a handshake began, of all that may not be over, in this order.
    handshakes: VecDeque<(Instant, usize)>,
    /// The time that a handshake may take.
    limit: Duration,
    again: Vec<usize>,
    /// Bytes of handshakes and records that are not whole.
    heard: usize,
    buffer: Box<[u8]>,
    /// Without it, the last wake-up would vanish with the handle.
    _waker: Arc<Waker>,
    /// Whether nobody sends any more.
    last: bool,
}

impl Terminator {
    pub fn new(tls: Arc<Tls>, limit: Duration) -> io::Result<(Terminator, Handle)> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKE)?);
        let (arrivals, mailbox) = channel();
        let terminator = Terminator {
            poll,
            mailbox,
            tls,
            sessions: Slab::new(),
            handshakes: VecDeque::new(),
            limit,
            again: Vec::new(),
            heard: 0,
            buffer: vec![0; RECORD].into_boxed_slice(),
            _waker: waker.clone(),
            last: false,
        };
        Ok((terminator, Handle { arrivals, waker }))
    }

    /// Works until nobody sends connections any more, and the last one is over.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        while !(self.last && self.sessions.is_empty()) {
            match self.poll.poll(&mut events, self.timeout()) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => (),
            }
            // First: what has come in a pause of ours is still there, and shows.
            self.expire();
            for key in std::mem::take(&mut self.again) {
                self.turn(key);
            }
            for event in events.iter().filter(|event| event.token() != WAKE) {
                self.turn(event.token().0 / 2);
            }
            self.read_messages();
        }
        Ok(())
    }

    /// The time until a handshake has taken too long.
    fn timeout(&self) -> Option<Duration> {
        if !self.again.is_empty() {
            return Some(Duration::ZERO);
        }
        // A millisecond more: the kernel's clock for this has no other parts.
        let (accepted, _) = self.handshakes.front()?;
        Some(self.limit.saturating_sub(accepted.elapsed()) + Duration::from_millis(1))
    }

    fn read_messages(&mut self) {
        loop {
            match self.mailbox.try_recv() {
                Ok(arrival) => self.take(arrival),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.last = true;
                    return;
                }
            }
        }
    }

    /// Takes in a connection. One that cannot be watched, or have memory, is closed, which the engine sees.
    fn take(&mut self, Arrival { outside, inside, accepted }: Arrival) {
        let Ok(tls) = ServerConnection::new(self.tls.certificate().config.clone()) else {
            return;
        };
        let entry = self.sessions.vacant_entry();
        let key = entry.key();
        let both = Interest::READABLE | Interest::WRITABLE;
        let watched = [outside.socket.as_raw_fd(), inside.as_raw_fd()]
            .iter()
            .zip([2 * key, 2 * key + 1])
            .try_for_each(|(descriptor, token)| {
                self.poll.registry().register(&mut SourceFd(descriptor), Token(token), both)
            });
        if watched.is_err() {
            return;
        }
        entry.insert(Box::new(Session::new(outside, inside, tls, accepted)));
        self.handshakes.push_back((accepted, key));
        self.turn(key);
    }

    /// Gives a connection its turn, and ends it if it is over.
    fn turn(&mut self, key: usize) {
        let Some(session) = self.sessions.get_mut(key) else {
            return;
        };
        let (handshaking, heard) = (session.is_handshaking(), session.heard);
        let next = if session.is_abandoned() { Next::End } else { session.turn(&mut self.buffer) };
        if handshaking && !session.is_handshaking() {
            self.tls.handshakes.ok.fetch_add(1, Relaxed);
        }
        self.heard = self.heard + session.heard - heard;
        match next {
            Next::Wait => (),
            Next::Again => self.again.push(key),
            Next::End => {
                if session.is_handshaking() && !session.is_abandoned() {
                    self.tls.handshakes.failed.fetch_add(1, Relaxed);
                }
                self.end(key);
            }
        }
        self.shed();
    }

    /// Keeps the memory of handshakes and records that are not whole within its bound: the largest goes (K-158).
    fn shed(&mut self) {
        while self.heard > self.tls.room.load(Relaxed) {
            let largest = self.sessions.iter().max_by_key(|(_, session)| session.heard);
            let Some((key, session)) = largest else { return };
            if session.is_handshaking() {
                self.tls.handshakes.failed.fetch_add(1, Relaxed);
            }
            self.end(key);
        }
    }

    /// Ends a connection. Its engine's end, if there still is one, sees that.
    fn end(&mut self, key: usize) {
        let mut session = self.sessions.remove(key);
        self.heard -= session.heard;
        if session.is_abandoned() {
            session.finish(&mut self.buffer);
        }
        session.outside.pending.store(0, SeqCst);
        // The engine may hold it a little longer.
        let _ = self.poll.registry().deregister(&mut SourceFd(&session.outside.socket.as_raw_fd()));
    }

    /// Ends handshakes that have taken too long. If something has come that was not read, all of us may have been stopped for a
    /// while (K-89): such a handshake gets a moment more.
    fn expire(&mut self) {
        while let Some((began, key)) = self.handshakes.front().copied() {
            let session = self.sessions.get_mut(key);
            let session = session.filter(|session| session.accepted == began && session.is_handshaking());
            if session.is_some() && began.elapsed() < self.limit {
                return;
            }
            self.handshakes.pop_front();
            match session {
                Some(session) if !session.late && readable(&session.outside.socket) > 0 => {
                    session.late = true;
                    session.accepted = began + MOMENT;
                    self.handshakes.push_front((session.accepted, key));
                }
                Some(_) => {
                    self.tls.handshakes.timeout.fetch_add(1, Relaxed);
                    self.end(key);
                }
                None => (),
            }
        }
    }
}
