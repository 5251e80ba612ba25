//! What the kernel holds for a connection.

use rustix::net::sockopt::set_socket_send_buffer_size;

use super::super::account::{Account, LEAST_BUFFER, RECEIVE_BUFFER};
use super::super::outgoing::unacknowledged;
use super::super::sys;
use super::Connection;

impl Connection {
    /// Bytes of a response that are still to be written.
    pub fn left(&self) -> usize {
        self.outgoing.as_ref().map_or(0, |outgoing| outgoing.left())
    }

    /// Gives the socket a larger buffer if it would not take `bytes` at once and there is room.
    pub fn make_way(&mut self, bytes: usize, account: &Account) {
        if bytes > self.claim.buffer as usize {
            self.set_buffer(account.allowance(&self.claim));
        }
    }

    /// Charges what was written: `bytes` less those that are left.
    pub fn wrote(&mut self, bytes: usize, account: &mut Account) {
        let left = self.left();
        account.wrote(&mut self.claim, bytes - left);
    }

    /// Asks the kernel what it holds, and takes back a buffer that the times no longer allow.
    pub fn reconcile(&mut self, account: &mut Account) {
        self.look(account);
        let beyond = self.outside.as_ref().map_or(Some(0), |outside| outside.held());
        let held =
            sys::held(&self.socket).zip(beyond).map_or(self.claim.bytes, |(held, beyond)| held + beyond);
        // Nobody reads the requests of a connection whose response is blocked.
        let unread = if self.outgoing.is_some() { RECEIVE_BUFFER } else { 0 };
        account.set(&mut self.claim, held + unread);
        self.set_buffer(LEAST_BUFFER);
    }

    /// Asks how much of what was sent the peer has not acknowledged. A full socket becomes writable only when much of it is
    /// free again.
    pub fn look(&mut self, account: &mut Account) {
        let unacked = unacknowledged(&self.socket, self.outside.as_deref());
        account.moves.saw(&mut self.claim.seen, unacked);
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.progress.saw(unacked);
        }
    }

    fn set_buffer(&mut self, buffer: u32) {
        // The kernel doubles it. A failure leaves what was.
        let set = |buffer| match &self.outside {
            Some(outside) => set_socket_send_buffer_size(&outside.socket, buffer as usize / 2),
            None => set_socket_send_buffer_size(&self.socket, buffer as usize / 2),
        };
        if buffer != self.claim.buffer && set(buffer).is_ok() {
            self.claim.buffer = buffer;
        }
    }
}
