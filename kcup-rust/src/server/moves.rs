//! When peers last made progress (K-87b). Pure.

use super::phases::{TICKS, Tick};

const ENDS: usize = TICKS as usize + 1;

/// What was seen of one peer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Bytes that it had not acknowledged when it was last looked at, and those written since.
    pub unacked: u32,
    /// Bytes of those sent that it is known to have acknowledged.
    pub taken: u32,
    /// When it was first and last seen to move, as moves are counted.
    pub began: u32,
    pub moved: u32,
}

/// Counts the progress of one worker's peers: of two within the same tick it is known which was first.
#[derive(Debug, Default)]
pub struct Moves {
    count: u32,
    now: Tick,
    /// The count at the end of each of the ticks before; the oldest was over a second ago.
    ends: [u32; ENDS],
}

impl Moves {
    /// Sets the current tick.
    pub fn at(&mut self, now: Tick) {
        while self.now != now {
            self.ends[self.now as usize % ENDS] = self.count;
            self.now = self.now.wrapping_add(1);
        }
    }

    /// Begins to count for a connection that is sent bytes after all earlier ones are known to have been acknowledged.
    pub fn begin(&mut self, seen: &mut Seen) {
        self.count = self.count.wrapping_add(1);
        (seen.began, seen.moved) = (self.count, self.count);
    }

    /// Takes in how many bytes the peer has not acknowledged.
    pub fn saw(&mut self, seen: &mut Seen, unacked: u32) {
        if unacked < seen.unacked {
            self.count = self.count.wrapping_add(1);
            seen.moved = self.count;
            seen.taken = seen.taken.saturating_add(seen.unacked - unacked);
        }
        seen.unacked = unacked;
    }

    /// Whether the peer has acknowledged nothing for a second.
    pub fn is_still(&self, seen: &Seen) -> bool {
        self.ago(seen.moved) >= self.ago(self.ends[self.now as usize % ENDS])
    }

    /// The number of moves since then.
    pub fn ago(&self, then: u32) -> u32 {
        self.count.wrapping_sub(then)
    }
}
