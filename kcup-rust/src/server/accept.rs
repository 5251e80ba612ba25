//! Takes connections in and hands each to the worker that has the fewest.

mod room;

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::acceptfrom_with;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::listen::{Listener, set_accepted_options};
use super::status::AcceptorWaker;
use super::sys::FLAGS;
use super::tls::Terminators;
use super::worker::{Arrival, Handle, Message};
use crate::access_log::Peer;
use crate::content::reason;

/// The pause in accepting when the system is out of a resource (K-85).
const PAUSE: Duration = Duration::from_millis(100);
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// Errors of accept(2) that concern one connection, and no resource (K-85a).
const OF_ONE_CONNECTION: [Errno; 11] = [
    Errno::CONNABORTED,
    Errno::INTR,
    Errno::PROTO,
    Errno::NETDOWN,
    Errno::NOPROTOOPT,
    Errno::HOSTDOWN,
    Errno::NONET,
    Errno::HOSTUNREACH,
    Errno::OPNOTSUPP,
    Errno::NETUNREACH,
    Errno::PERM,
];

/// The listening socket, and the workers that its connections are handed to.
pub struct Acceptor {
    listener: AsyncFd<OwnedFd>,
    unix: bool,
    workers: Vec<Handle>,
    waker: Arc<AcceptorWaker>,
    /// The limit on open connections.
    pub max_connections: Cell<usize>,
    /// Whether workers need to know the client of a connection.
    named: bool,
    /// With TLS, the terminators.
    tls: Option<Terminators>,
    complained: Cell<Option<Instant>>,
    /// The time since which a client waits and no silent connection has made room.
    crowded: Cell<Option<Instant>>,
    /// The worker that was last asked to make room, and the number of its tries before that.
    asked: Cell<Option<(usize, usize)>>,
}

impl Acceptor {
    /// Call it inside a tokio runtime.
    pub fn new(
        listener: Listener,
        workers: Vec<Handle>,
        waker: Arc<AcceptorWaker>,
        named: bool,
        tls: Option<Terminators>,
    ) -> io::Result<Acceptor> {
        let Listener { socket, unix, .. } = listener;
        // SAFETY: an `OwnedFd` keeps its descriptor, the same one, until it is dropped.
        let listener = unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) }?;
        Ok(Acceptor {
            listener,
            unix,
            workers,
            waker,
            max_connections: Cell::new(usize::MAX),
            named,
            tls,
            complained: Cell::new(None),
            crowded: Cell::new(None),
            asked: Cell::new(None),
        })
    }

    /// Accepts for ever. Dropping the future between two connections loses none.
    pub async fn run(&self) {
        while let Ok(mut ready) = self.listener.readable().await {
            if self.is_full() {
                // Room is made only for a client that is still there; tokio only knows that there was one.
                if !is_waiting(self.listener.get_ref()) {
                    self.crowded.set(None);
                    ready.clear_ready();
                    continue;
                }
                self.make_room(self.max_connections.get() - 1).await;
            }
            match ready.try_io(|_| self.accept()) {
                Ok(Ok(arrival)) => self.hand_over(arrival),
                Ok(Err(error)) if self.is_short(&error) => self.make_room(open(&self.workers) - 1).await,
                Ok(Err(error)) => self.rest(&error).await,
                Err(_would_block) => self.crowded.set(None),
            }
        }
    }

    /// Tells the workers to drain, and accepts the connections that wait in the backlog.
    pub async fn drain(&self) {
        self.tell_all(|| Message::Drain);
        loop {
            match self.accept() {
                Ok(arrival) => self.hand_over(arrival),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => self.rest(&error).await,
            }
            // Clients that connect again and again must not stop the clock of the drain.
            tokio::task::yield_now().await;
        }
    }

    /// Closes the listener, and lets the workers end with their last connections.
    pub fn close(self) -> Vec<Handle> {
        let Acceptor { listener, workers, tls, .. } = self;
        drop(listener);
        if let Some(tls) = tls {
            tls.close();
        }
        workers.iter().for_each(|worker| worker.send(Message::Last));
        workers
    }

    /// Wakes every worker, to let go of old content.
    pub fn wake_all(&self) {
        self.workers.iter().for_each(Handle::wake);
    }

    /// Whether a client waits for a descriptor, and closing a connection would free one.
    fn is_short(&self, error: &io::Error) -> bool {
        let short = matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE));
        short && open(&self.workers) > 0 && is_waiting(self.listener.get_ref())
    }

    fn accept(&self) -> io::Result<Arrival> {
        self.tls.as_ref().map_or(Ok(()), Terminators::prepare)?;
        // Later the name of a client that has gone is not known.
        let (socket, address) = acceptfrom_with(self.listener.get_ref(), FLAGS)?;
        if self.unix {
            // If it fails, the kernel's own, larger buffers stay.
            let _ = set_accepted_options(&socket);
        }
        let address = address.and_then(|address| SocketAddr::try_from(address).ok());
        let peer = address.map_or(Peer::Unix, |address| Peer::Address(address.ip()));
        let (socket, outside) = match &self.tls {
            Some(tls) => tls.hand_over(socket),
            None => (socket, None),
        };
        Ok(Arrival { socket, outside, peer: self.named.then_some(peer) })
    }

    fn hand_over(&self, arrival: Arrival) {
        let fewest = self.workers.iter().min_by_key(|worker| worker.status.connections());
        let worker = fewest.expect("there is a worker");
        worker.status.handed();
        worker.send(Message::Connection(arrival));
    }

    /// Sends each worker a message.
    pub fn tell_all(&self, message: impl Fn() -> Message) {
        self.workers.iter().for_each(|worker| worker.send(message()));
    }

    async fn rest(&self, error: &io::Error) {
        if Errno::from_io_error(error).is_some_and(|error| OF_ONE_CONNECTION.contains(&error)) {
            return;
        }
        if self.complained.get().is_none_or(|last| last.elapsed() >= LOG_INTERVAL) {
            self.complained.set(Some(Instant::now()));
            log::warn!("cannot accept connections, trying again: {}", reason(error));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn is_waiting(listener: &OwnedFd) -> bool {
    let mut ready = [PollFd::new(listener, PollFlags::IN)];
    poll(&mut ready, Some(&Timespec::default())) == Ok(1)
}

/// The number of open connections.
pub fn open(workers: &[Handle]) -> usize {
    workers.iter().map(|worker| worker.status.connections()).sum()
}
