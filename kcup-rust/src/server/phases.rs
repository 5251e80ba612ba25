//! The life of a connection as four phases, and the clock of each.
//!
//! Every phase has one fixed time limit, so a queue in order of entry is also in order of deadline: the next deadline
//! is found by looking at four queue heads, and no connection or request needs a timer of its own. Pure.

use std::iter;

/// Time in tenths of a second since the worker started. It wraps after 13 years.
pub type Tick = u32;

/// Ticks in a second.
pub const TICKS: Tick = 10;

const NONE: u32 = u32::MAX;

/// The phases of a connection. A connection is in exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Between requests, with nothing read: the connection holds nothing but its record. This is what "parked" means.
    Idle,
    /// A part of a request head has come.
    Head,
    /// The rest of a response waits for room in the socket.
    Write,
    /// Our side has ended; what still comes is discarded.
    Linger,
}

/// All phases, in the order of [`Phase`].
pub const PHASES: [Phase; 4] = [Phase::Idle, Phase::Head, Phase::Write, Phase::Linger];

#[derive(Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
    since: Tick,
    phase: Phase,
}

#[derive(Clone, Copy)]
struct Queue {
    first: u32,
    last: u32,
    limit: Tick,
    length: usize,
}

/// Connections by key, each in exactly one phase.
pub struct Phases {
    links: Vec<Link>,
    queues: [Queue; PHASES.len()],
}

impl Phases {
    /// `limits` are in the order of [`Phase`].
    pub fn new(limits: [Tick; PHASES.len()]) -> Self {
        let queue = |limit| Queue { first: NONE, last: NONE, limit, length: 0 };
        Phases { links: Vec::new(), queues: limits.map(queue) }
    }

    /// Gives a phase another limit.
    pub fn limit(&mut self, phase: Phase, limit: Tick) {
        self.queues[phase as usize].limit = limit;
    }

    /// Adds a connection that has just been accepted.
    pub fn add(&mut self, key: usize, now: Tick) {
        if key >= self.links.len() {
            let blank = Link { previous: NONE, next: NONE, since: now, phase: Phase::Idle };
            self.links.resize(key + 1, blank);
        }
        self.append(key, Phase::Idle, now);
    }

    /// Moves a connection to the end of a phase's queue: its time in that phase starts now.
    pub fn enter(&mut self, key: usize, phase: Phase, now: Tick) {
        self.unlink(key);
        self.append(key, phase, now);
    }

    /// Removes a connection that was closed. Its key may be added again.
    pub fn remove(&mut self, key: usize) {
        self.unlink(key);
    }

    /// The phase of a connection.
    pub fn of(&self, key: usize) -> Phase {
        self.links[key].phase
    }

    /// When a connection entered its phase.
    pub fn since(&self, key: usize) -> Tick {
        self.links[key].since
    }

    /// The connection that has been in a phase for longest.
    pub fn oldest(&self, phase: Phase) -> Option<usize> {
        let first = self.queues[phase as usize].first;
        (first != NONE).then_some(first as usize)
    }

    /// The connections in a phase, from the one that has been there longest.
    pub fn queue(&self, phase: Phase) -> impl Iterator<Item = usize> + '_ {
        let next =
            |&key: &usize| Some(self.links[key].next).filter(|&next| next != NONE).map(|next| next as usize);
        iter::successors(self.oldest(phase), next)
    }

    /// How many connections are in a phase.
    pub fn count(&self, phase: Phase) -> usize {
        self.queues[phase as usize].length
    }

    /// A connection whose time in its phase is over. Strictly over: ticks are cut off, so an equal count may be early.
    pub fn expired(&self, now: Tick) -> Option<usize> {
        PHASES.into_iter().find_map(|phase| {
            let key = self.oldest(phase)?;
            (now.wrapping_sub(self.links[key].since) > self.queues[phase as usize].limit).then_some(key)
        })
    }

    /// How many ticks from `now` the next connection expires, if there is one.
    pub fn next(&self, now: Tick) -> Option<Tick> {
        let left = |phase| {
            let spent = now.wrapping_sub(self.links[self.oldest(phase)?].since);
            Some((self.queues[phase as usize].limit + 1).saturating_sub(spent))
        };
        PHASES.into_iter().filter_map(left).min()
    }

    fn append(&mut self, key: usize, phase: Phase, now: Tick) {
        let queue = &mut self.queues[phase as usize];
        queue.length += 1;
        let last = std::mem::replace(&mut queue.last, key as u32);
        match last {
            NONE => queue.first = key as u32,
            last => self.links[last as usize].next = key as u32,
        }
        self.links[key] = Link { previous: last, next: NONE, since: now, phase };
    }

    fn unlink(&mut self, key: usize) {
        let Link { previous, next, phase, .. } = self.links[key];
        let queue = &mut self.queues[phase as usize];
        queue.length -= 1;
        match previous {
            NONE => queue.first = next,
            previous => self.links[previous as usize].next = next,
        }
        match next {
            NONE => queue.last = previous,
            next => self.links[next as usize].previous = previous,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases() -> Phases {
        Phases::new([750, 100, 5, 10])
    }

    #[test]
    fn the_oldest_is_the_one_that_entered_first() {
        let mut phases = phases();
        for key in [2, 0, 1] {
            phases.add(key, 0);
        }
        assert_eq!((phases.oldest(Phase::Idle), phases.count(Phase::Idle)), (Some(2), 3));
        phases.enter(2, Phase::Idle, 5);
        assert!(phases.queue(Phase::Idle).eq([0, 1, 2]));
        phases.remove(0);
        phases.enter(2, Phase::Head, 6);
        assert_eq!((phases.oldest(Phase::Idle), phases.count(Phase::Idle)), (Some(1), 1));
        assert_eq!((phases.of(2), phases.since(2)), (Phase::Head, 6));
    }

    #[test]
    fn a_connection_expires_after_its_limit_and_never_at_it() {
        let mut phases = phases();
        phases.add(0, 7);
        phases.enter(0, Phase::Head, 7);
        assert_eq!(phases.expired(107), None);
        assert_eq!(phases.expired(108), Some(0));
        assert_eq!(phases.next(7), Some(101));
        assert_eq!(phases.next(200), Some(0));
        phases.limit(Phase::Head, 50);
        assert_eq!((phases.next(7), phases.expired(58)), (Some(51), Some(0)));
    }

    #[test]
    fn a_clock_that_wraps_expires_nothing_early() {
        let mut phases = phases();
        phases.add(0, Tick::MAX - 3);
        assert_eq!(phases.expired(10), None);
        assert_eq!(phases.expired(750), Some(0));
    }

    #[test]
    fn an_emptied_queue_can_be_used_again() {
        let mut phases = phases();
        phases.add(0, 0);
        phases.remove(0);
        assert_eq!((phases.oldest(Phase::Idle), phases.next(0)), (None, None));
        phases.add(0, 1);
        assert_eq!(phases.oldest(Phase::Idle), Some(0));
    }
}
