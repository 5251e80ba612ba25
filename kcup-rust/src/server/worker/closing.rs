//! How a worker's connections end. A part of worker.rs.

use super::super::connection::Next;
use super::super::counters::Reason;
use super::super::phases::Phase;
use super::super::sys;
use super::Worker;

impl Worker {
    /// A connection's time in its phase is over.
    pub fn expire(&mut self, key: usize) {
        let now = self.clock.tick();
        let connection = &mut self.connections[key];
        let reason = match self.phases.of(key) {
            Phase::Idle => return self.retire(key, Reason::IdleTimeout),
            Phase::Write if connection.is_moving(now, self.limits.write) => {
                return self.phases.enter(key, Phase::Write, now);
            }
            Phase::Write => {
                connection.reset_on_close();
                Reason::WriteTimeout
            }
            Phase::Head => Reason::HeaderTimeout,
            Phase::Linger => connection.reason(),
        };
        self.close(key, reason);
    }

    /// Ends a silent connection, and lingers where its peer has not taken the whole of the last answer (SPEC K-72).
    pub fn retire(&mut self, key: usize, reason: Reason) {
        let connection = &mut self.connections[key];
        if sys::unacknowledged(&connection.socket) == 0 {
            return self.close(key, reason);
        }
        match connection.linger(reason, &mut self.buffer) {
            Next::Enter(phase) => self.phases.enter(key, phase, self.clock.tick()),
            _ => self.close(key, reason),
        }
    }

    /// Keeps the memory of incomplete heads within its bound, after this connection had its turn (SPEC K-86).
    pub fn shed(&mut self, key: usize) {
        while self.kept > self.limits.kept {
            self.close(self.phases.oldest(Phase::Head).unwrap_or(key), Reason::Shed);
        }
    }

    pub fn close(&mut self, key: usize, reason: Reason) {
        let mut connection = self.connections.remove(key);
        // Otherwise it would stay in the kernel, outside of every limit.
        if connection.claim.bytes > 0 && sys::unacknowledged(&connection.socket) > 0 {
            connection.reset_on_close();
        }
        self.account.set(&mut connection.claim, 0);
        self.kept -= connection.kept_bytes();
        self.phases.remove(key);
        self.counters.0.close(reason);
        self.status.closed();
    }
}
