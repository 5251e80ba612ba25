//! The beginning of connections.

use mio::net::TcpStream;
use mio::{Interest, Token};

use super::super::connection::Connection;
use super::super::counters::Reason;
use super::{Arrival, Worker};
use crate::content::reason;

impl Worker {
    /// Takes in a connection that was accepted.
    pub fn accept(&mut self, Arrival { socket, outside, peer }: Arrival) {
        // A unix socket is used in the same way.
        let socket = TcpStream::from_std(socket.into());
        let key = self.connections.insert(Connection::new(socket, outside));
        self.phases.add(key, self.clock.tick());
        self.counters.0.accepted.add(1);
        if let Some(peer) = peer {
            self.peers.resize(self.peers.len().max(key + 1), peer);
            self.peers[key] = peer;
        }
        let socket = &mut self.connections[key].socket;
        let interest = Interest::READABLE | Interest::WRITABLE;
        if let Err(error) = self.poll.registry().register(socket, Token(key), interest) {
            self.complain(format_args!("cannot watch a connection: {}", reason(&error)));
            self.close(key, Reason::Shed);
        } else if self.draining {
            self.ready(key, false);
        }
    }
}
