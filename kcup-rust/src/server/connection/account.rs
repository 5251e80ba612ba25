//! What the kernel holds for a connection.

use std::cmp::Reverse;

use rustix::net::sockopt::set_socket_send_buffer_size;

use super::super::account::{Account, LEAST_BUFFER, RECEIVE_BUFFER};
use super::super::phases::TICKS;
use super::super::sys;
use super::{Connection, Tick};

impl Connection {
    /// Bytes of a response that are still to be written.
    pub fn left(&self) -> usize {
        self.outgoing.as_ref().map_or(0, |outgoing| outgoing.left())
    }

    /// Before so many bytes are written: where the socket would not take them at once, it may have a larger buffer.
    pub fn make_way(&mut self, bytes: usize, account: &Account) {
        if bytes > self.claim.buffer as usize {
            self.set_buffer(account.allowance(&self.claim));
        }
    }

    /// Of `bytes` that were to be written all but those that are left were.
    pub fn wrote(&mut self, bytes: usize, account: &mut Account) {
        let left = self.left();
        account.wrote(&mut self.claim, bytes - left);
    }

    /// Asks the kernel what it holds, and takes back a buffer that the times no longer allow.
    pub fn settle(&mut self, account: &mut Account, now: Tick) {
        let held = sys::held(&self.socket).unwrap_or(self.claim.bytes);
        // Nobody reads the requests of a connection whose response is blocked.
        let unread = if self.outgoing.is_some() { RECEIVE_BUFFER } else { 0 };
        if held + unread < self.claim.bytes {
            self.moved = now;
        }
        account.set(&mut self.claim, held + unread);
        self.set_buffer(LEAST_BUFFER);
    }

    /// The order in which connections are reset for want of memory: by when the peer was last seen to acknowledge something.
    /// Where that differs by less than a second who has taken more of its response goes later: those that read now and then,
    /// in spite of those that have just come and do not read at all. `since` is when its phase began.
    pub fn standing(&mut self, since: Tick, now: Tick) -> (Reverse<Tick>, u64, Reverse<Tick>) {
        let ago = |then: Tick| now.wrapping_sub(then);
        let (age, taken) = match &mut self.outgoing {
            Some(outgoing) => {
                let (moved, taken) = outgoing.look(&self.socket, now).taken();
                (ago(moved), taken)
            }
            None => (ago(since).min(ago(self.moved)), u64::MAX),
        };
        (Reverse(age / TICKS), taken / u64::from(LEAST_BUFFER), Reverse(age))
    }

    fn set_buffer(&mut self, buffer: u32) {
        // The kernel doubles it. A failure leaves what was.
        let set = |buffer| set_socket_send_buffer_size(&self.socket, buffer as usize / 2);
        if buffer != self.claim.buffer && set(buffer).is_ok() {
            self.claim.buffer = buffer;
        }
    }
}
