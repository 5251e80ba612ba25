//! The end of connections.

use super::super::connection::Next;
use super::super::counters::{REASONS, Reason};
use super::super::phases::Phase;
use super::super::sys;
use super::Worker;

impl Worker {
    /// Handles a connection whose time in its phase is over.
    pub fn expire(&mut self, key: usize) {
        let (now, phase) = (self.clock.tick(), self.phases.of(key));
        let connection = &mut self.connections[key];
        let reason = match phase {
            // The process may have been paused: bytes that came meanwhile came in time (K-89).
            Phase::Idle | Phase::Head if sys::readable(&connection.socket) > 0 => {
                return self.ready(key, false);
            }
            // With TLS they may be on their way yet.
            Phase::Idle | Phase::Head if connection.expects() => return self.phases.enter(key, phase, now),
            Phase::Idle if self.draining => return self.retire(key, Reason::Drained),
            Phase::Idle => return self.retire(key, Reason::IdleTimeout),
            Phase::Write if connection.is_moving(now, self.limits.write, &mut self.account) => {
                return self.phases.enter(key, phase, now);
            }
            Phase::Write => {
                connection.reset_on_close();
                Reason::WriteTimeout
            }
            Phase::Head => Reason::HeaderTimeout,
            Phase::Linger if connection.lingers_on(&mut self.account) => {
                return self.phases.enter(key, phase, now);
            }
            Phase::Linger => connection.reason(),
        };
        self.close(key, reason);
    }

    /// Ends a silent connection, which lingers if its peer has not acknowledged all of the last response (K-72).
    pub fn retire(&mut self, key: usize, reason: Reason) {
        let connection = &mut self.connections[key];
        if connection.unacknowledged() == 0 {
            return self.close(key, reason);
        }
        match connection.linger(reason, &mut self.buffer) {
            Next::Enter(phase) => self.phases.enter(key, phase, self.clock.tick()),
            _ => self.close(key, reason),
        }
    }

    /// Keeps the memory of incomplete heads within its bound, after a connection had its turn (K-86).
    pub fn shed(&mut self, turn: Option<usize>) {
        while self.kept > self.bounds.kept {
            let turn = turn.filter(|&key| self.connections.contains(key));
            let Some(first) = self.phases.oldest(Phase::Head).or(turn) else {
                return;
            };
            self.close(first, Reason::Shed);
        }
    }

    /// Closes a connection, at once and in every account.
    pub fn close(&mut self, key: usize, reason: Reason) {
        let mut connection = self.connections.remove(key);
        // Otherwise the kernel would hold the rest of the response, outside of every limit.
        if connection.unacknowledged() > 0 {
            connection.reset_on_close();
        }
        self.account.set(&mut connection.claim, 0);
        self.kept -= connection.kept_bytes();
        self.phases.remove(key);
        self.counters.0.close(reason);
        self.log_end(key, REASONS[reason as usize]);
        self.status.closed();
    }

    /// Logs the end of a connection (K-119).
    pub fn log_end(&self, key: usize, reason: &str) {
        match self.peers.get(key) {
            Some(peer) => log::debug!("connection from {peer} closed: {reason}"),
            None => log::debug!("connection closed: {reason}"),
        }
    }
}
