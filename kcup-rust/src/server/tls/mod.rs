//! TLS (SPEC section 14): the engine serves one end of a pair of sockets as any other connection, and at the other end a
//! terminator speaks TLS with the peer. See docs/adr/0012.

mod certificate;
mod outside;
mod session;
mod terminator;

use std::cell::{Cell, RefCell};
use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::thread;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use rustix::net::{AddressFamily, SocketType, socketpair, sockopt};
use tokio::sync::mpsc;

use super::account::RECEIVE_BUFFER;
use super::listen::set_accepted_options;
use super::sys::FLAGS;
use crate::content::{cannot, reason};

pub use certificate::{Certificate, first};
pub use outside::Outside;
pub use terminator::Terminator;
use terminator::{Arrival, Handle};

/// Handshakes by their result (K-154).
#[derive(Debug, Default)]
pub struct Handshakes {
    pub ok: AtomicU64,
    pub failed: AtomicU64,
    pub timeout: AtomicU64,
}

/// What all terminators share, and others read.
#[derive(Debug)]
pub struct Tls {
    certificate: ArcSwap<Certificate>,
    pub handshakes: Handshakes,
    /// The bytes that a terminator may hold of handshakes and records that are not whole.
    pub room: AtomicUsize,
}

impl Tls {
    pub fn new(certificate: Certificate) -> Tls {
        Tls {
            certificate: ArcSwap::from_pointee(certificate),
            handshakes: Handshakes::default(),
            room: AtomicUsize::new(usize::MAX),
        }
    }

    /// The one of handshakes that begin now.
    pub fn certificate(&self) -> Arc<Certificate> {
        self.certificate.load_full()
    }

    /// Lets handshakes use another one from now on (K-156).
    pub fn replace(&self, certificate: Certificate) {
        self.certificate.store(Arc::new(certificate));
    }
}

/// Both ends of a pair of sockets: the engine's, and the terminator's.
type Pair = (OwnedFd, OwnedFd);

/// The terminators, for the acceptor to hand connections to.
pub struct Terminators {
    handles: Vec<Handle>,
    next: Cell<usize>,
    /// A pair for the next connection, made before it is accepted: if there is no descriptor for it, the connection waits.
    spare: RefCell<Option<Pair>>,
}

impl Terminators {
    /// As many as there are workers, and the terminators themselves, whose threads are not started yet.
    pub fn new(
        tls: &Arc<Tls>,
        threads: usize,
        limit: Duration,
    ) -> Result<(Terminators, Vec<Terminator>), String> {
        let made: io::Result<Vec<_>> = (0..threads).map(|_| Terminator::new(tls.clone(), limit)).collect();
        let (terminators, handles) = made.map_err(cannot("start a terminator"))?.into_iter().unzip();
        Ok((Terminators { handles, next: Cell::new(0), spare: RefCell::new(None) }, terminators))
    }

    /// Sees that there is a pair for the next connection.
    pub fn prepare(&self) -> io::Result<()> {
        let mut spare = self.spare.borrow_mut();
        if spare.is_none() {
            let pair = socketpair(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?;
            // If it fails, the kernel's own, larger buffers stay.
            let _ = set_accepted_options(&pair.0);
            let _ = sockopt::set_socket_send_buffer_size(&pair.1, RECEIVE_BUFFER as usize / 2);
            *spare = Some(pair);
        }
        Ok(())
    }

    /// Hands an accepted socket to a terminator. Returns the engine's end of the pair that was prepared.
    pub fn hand_over(&self, socket: OwnedFd) -> (OwnedFd, Option<Arc<Outside>>) {
        let (ours, theirs) = self.spare.take().expect("a pair was prepared");
        let outside = Arc::new(Outside::new(TcpStream::from(socket)));
        let arrival =
            Arrival { outside: outside.clone(), inside: UnixStream::from(theirs), accepted: Instant::now() };
        let turn = self.next.get();
        self.next.set((turn + 1) % self.handles.len());
        self.handles[turn].send(arrival);
        (ours, Some(outside))
    }

    /// Lets the terminators end with their last connections.
    pub fn close(self) {
        self.handles.into_iter().for_each(Handle::close);
    }
}

/// Starts the threads of terminators, each of which holds a sender until it has ended.
pub fn start(terminators: Vec<Terminator>, failed: &mpsc::Sender<String>) -> Result<(), String> {
    for (number, terminator) in terminators.into_iter().enumerate() {
        let failed = failed.clone();
        let run = move || {
            if let Err(error) = terminator.run() {
                let _ = failed.try_send(format!("a terminator failed: {}", reason(&error)));
            }
        };
        let thread = thread::Builder::new().name(format!("tls-{number}"));
        thread.spawn(run).map_err(cannot("start a terminator"))?;
    }
    Ok(())
}
