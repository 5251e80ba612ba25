//! Keeps what the kernel holds within the worker's share (K-87).

use super::super::counters::Reason;
use super::Worker;

impl Worker {
    /// Asks the kernel what it really holds, connection by connection, until enough is free again. If that is not
    /// enough, it resets connections, first those whose peers have acknowledged nothing for longest (see
    /// `Account::order`).
    pub fn reconcile(&mut self) {
        self.account.budget = self.bounds.sockets;
        self.account.held = self.bounds.cost * self.connections.len() as u64;
        if self.bounds.cost > 0 {
            self.account.held += self.kept as u64;
        }
        if !self.account.is_over() {
            return;
        }
        let end = self.connections.capacity();
        for key in (self.cursor..end).chain(0..self.cursor) {
            if let Some(connection) = self.connections.get_mut(key).filter(|one| one.claim.bytes > 0) {
                connection.reconcile(&mut self.account);
            }
            if self.account.has_slack() {
                self.cursor = key + 1;
                return;
            }
        }
        if self.account.is_tight() {
            self.reset_in_order();
        }
    }

    fn reset_in_order(&mut self) {
        let owing = self.connections.iter().filter(|(_, connection)| connection.claim.bytes > 0);
        let mut owing: Vec<_> = owing.map(|(key, connection)| (connection.claim, key)).collect();
        self.account.order(&mut owing);
        for (_, key) in owing {
            if self.account.has_slack() {
                return;
            }
            self.connections[key].reset_on_close();
            self.close(key, Reason::Memory);
        }
    }
}
