//! The choice of the connection that makes room for a new one (K-84).

use super::super::counters::Reason;
use super::super::phases::{PHASES, Phase};
use super::super::sys;
use super::Worker;

/// Of this many longest-silent connections, one with nothing on its way is preferred.
const LOOKS: usize = 8;

impl Worker {
    /// Closes the first of those that are in `phase`, if there still is one, and reports.
    pub fn make_room(&mut self, phase: Phase) {
        let first = match phase {
            Phase::Idle => self.silent(),
            Phase::Write => self.slowest().map(|(_, key)| key),
            Phase::Head | Phase::Linger => self.phases.oldest(phase),
        };
        if let Some(key) = first {
            self.close(key, Reason::Evicted);
        }
        self.status.made_room();
    }

    /// The rank of the first connection in each phase, for the acceptor to compare; the least is first. It is the tick at which
    /// the connection entered the phase; for the slowest reader it is its rate, computed only if the acceptor waits.
    pub fn ranks(&self, waiting: bool) -> [Option<u64>; PHASES.len()] {
        PHASES.map(|phase| match phase {
            Phase::Write if waiting => self.slowest().map(|(rate, _)| rate),
            Phase::Write => None,
            _ => self.phases.oldest(phase).map(|key| self.phases.since(key).into()),
        })
    }

    /// The longest-silent connection; one that has just sent something is not silent. Of those that fell silent together, one
    /// whose peer has acknowledged everything goes first.
    fn silent(&self) -> Option<usize> {
        let is_silent = |&key: &usize| sys::readable(&self.connections[key].socket) == 0;
        let mut silent = self.phases.queue(Phase::Idle).filter(is_silent);
        let first = silent.next()?;
        let together = |&key: &usize| self.phases.since(key).wrapping_sub(self.phases.since(first)) <= 1;
        let mut others = silent.take(LOOKS - 1).take_while(together);
        let has_all = |&key: &usize| self.connections[key].unacknowledged() == 0;
        Some(first).filter(has_all).or_else(|| others.find(has_all)).or(Some(first))
    }

    fn slowest(&self) -> Option<(u64, usize)> {
        let now = self.clock.tick();
        let rate = |key: usize| self.connections[key].rate(now).map(|rate| (rate, key));
        self.phases.queue(Phase::Write).filter_map(rate).min()
    }
}
