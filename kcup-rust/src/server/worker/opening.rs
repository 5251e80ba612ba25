//! The beginning of connections.

use mio::net::TcpStream;
use mio::{Interest, Token};

use super::super::connection::Connection;
use super::super::counters::Reason;
use super::closing::log_end;
use super::{Arrival, Worker};
use crate::content::reason;

impl Worker {
    /// Takes in a connection that was accepted.
    pub fn accept(&mut self, Arrival { socket, peer }: Arrival) {
        // A unix socket is used in the same way.
        let mut socket = TcpStream::from_std(socket.into());
        let entry = self.connections.vacant_entry();
        let key = entry.key();
        let interest = Interest::READABLE | Interest::WRITABLE;
        let registry = self.poll.registry();
        self.counters.0.accepted.add(1);
        if let Err(error) = registry.register(&mut socket, Token(key), interest) {
            self.complain(format_args!("cannot watch a connection: {}", reason(&error)));
            self.counters.0.close(Reason::Shed);
            log_end(peer, Reason::Shed);
            return self.status.closed();
        }
        entry.insert(Connection::new(socket));
        self.phases.add(key, self.clock.tick());
        if let Some(peer) = peer {
            self.peers.resize(self.peers.len().max(key + 1), peer);
            self.peers[key] = peer;
        }
        if self.draining {
            self.ready(key, false);
        }
    }
}
