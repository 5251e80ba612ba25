//! The peer's socket of a connection with TLS, which the engine looks at, too: what the peer has acknowledged is known there.

use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

use super::super::sys;

/// The peer's socket, and what is on its way between it and the engine's end. Nothing here is counted too low: each step raises
/// a count before the one behind it sinks.
#[derive(Debug)]
pub struct Outside {
    /// Of unix, too.
    pub socket: TcpStream,
    /// Bytes of a response that are neither in the pair any more nor in this socket yet.
    pub pending: AtomicU32,
    /// Whether bytes of the peer may be neither in this socket any more nor in the pair yet.
    pub busy: AtomicBool,
}

impl Outside {
    pub fn new(socket: TcpStream) -> Outside {
        Outside { socket, pending: AtomicU32::new(0), busy: AtomicBool::new(false) }
    }

    /// Bytes of responses that the peer has not acknowledged. Ask this after the pair.
    pub fn unacknowledged(&self) -> u32 {
        let pending = self.pending.load(SeqCst);
        pending + sys::unacknowledged(&self.socket)
    }

    /// Memory that holds them.
    pub fn held(&self) -> Option<u32> {
        Some(self.pending.load(SeqCst) + sys::held(&self.socket)?)
    }

    /// Whether bytes of the peer have not come to the pair. Ask this before the pair.
    pub fn is_unread(&self) -> bool {
        sys::readable(&self.socket) > 0 || self.busy.load(SeqCst)
    }
}
