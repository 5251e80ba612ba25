//! Who makes room for a new connection (SPEC K-84). A part of worker.rs.

use super::super::counters::Reason;
use super::super::phases::{Phase, PHASES};
use super::super::sys;
use super::Worker;

/// So many of the longest-silent connections are looked at for one that has nothing on its way.
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

    /// What an acceptor compares workers by, phase by phase; the least is first. It is the tick since which the oldest is
    /// there, but for the slowest, who has to be looked for: only when somebody waits.
    pub fn ranks(&self, waiting: bool) -> [Option<u64>; PHASES.len()] {
        PHASES.map(|phase| match phase {
            Phase::Write if waiting => self.slowest().map(|(rate, _)| rate),
            Phase::Write => None,
            _ => self.phases.oldest(phase).map(|key| self.phases.since(key).into()),
        })
    }

    /// One that has sent something meanwhile is not silent. Of those that fell silent together one whose peer has all it was
    /// sent goes first.
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
