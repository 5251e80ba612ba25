//! What the kernel may hold for a worker's connections (K-87, K-87b): an upper bound, kept by arithmetic alone, so that a
//! response costs no system call. What is true is asked only when the bound says that the share is used up. Pure.

use std::cmp::Reverse;

use super::moves::{Moves, Seen};

/// Send buffers as the kernel counts them: twice what setsockopt(2) is given. Each connection begins with the least, and
/// the most is that of docs/adr/0004.
pub const LEAST_BUFFER: u32 = 32 << 10;
pub const MOST_BUFFER: u32 = 512 << 10;
/// What the kernel keeps of requests that nobody reads, counted in the same way.
pub const RECEIVE_BUFFER: u32 = 16 << 10;

/// The kernel's bookkeeping for a response, in addition to one and a half times its bytes: as seen with small windows.
const OVERHEAD: u32 = 2 << 10;
/// With TLS, what a pair of sockets holds in front of the send buffer, and a record on its way between them.
pub const BEYOND: u32 = LEAST_BUFFER + (32 << 10);
/// Buffers of more than this take two packets of any size.
const PIECES_BELOW: u32 = 2 * LEAST_BUFFER;
/// The kernel checks a buffer's limit before it takes bytes, not after: this many more may go in.
const OVERSHOOT: u32 = 68 << 10;
/// The most that a connection with the least buffer holds, with the requests behind its response.
pub const LEAST_SHARE: u32 = LEAST_BUFFER + OVERSHOOT + RECEIVE_BUFFER;
/// One response may have a 16th of what is free, and only a 25th of that until its peer is known to read.
const PART: u64 = 16;
const FIRST_PART: u64 = 25;
/// A peer that has acknowledged this much is reading: its own kernel holds less for it.
const EVIDENCE: u32 = 256 << 10;

/// What one connection may cost the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    pub bytes: u32,
    /// The send buffer's size.
    pub buffer: u32,
    pub seen: Seen,
    /// What it may cost in addition to that buffer: with TLS.
    pub beyond: u32,
}

impl Default for Claim {
    fn default() -> Claim {
        Claim { bytes: 0, buffer: LEAST_BUFFER, seen: Seen::default(), beyond: 0 }
    }
}

impl Claim {
    /// How much is sent at once. If a buffer takes two of them, the peer acknowledges the first without delay, even if
    /// a packet may be as large as the buffer, as on the loopback interface.
    pub fn piece(&self) -> usize {
        match self.buffer {
            ..=PIECES_BELOW => self.buffer as usize / 2,
            _ => usize::MAX,
        }
    }
}

/// One worker's account.
#[derive(Debug)]
pub struct Account {
    /// What all connections may cost together.
    pub budget: u64,
    /// The part of it that open connections and kept heads take, if the same limit counts them.
    pub held: u64,
    claimed: u64,
    /// What the peers have done.
    pub moves: Moves,
}

impl Account {
    /// `budget` is in bytes.
    pub fn new(budget: u64) -> Account {
        Account { budget, held: 0, claimed: 0, moves: Moves::default() }
    }

    /// What the claims may come to together; room for one response is always there.
    pub fn share(&self) -> u64 {
        self.budget.saturating_sub(self.held).max(2 * u64::from(LEAST_SHARE))
    }

    /// The send buffer that a connection may have.
    pub fn allowance(&self, claim: &Claim) -> u32 {
        let free = (self.share() + u64::from(claim.bytes)).saturating_sub(self.claimed) / PART;
        let free = if claim.seen.taken < EVIDENCE { free / FIRST_PART } else { free };
        let free = free.clamp(LEAST_BUFFER.into(), MOST_BUFFER.into());
        1 << free.ilog2()
    }

    /// Charges bytes that were written to a connection.
    pub fn wrote(&mut self, claim: &mut Claim, bytes: usize) {
        if claim.bytes == 0 {
            self.moves.begin(&mut claim.seen);
        }
        claim.seen.unacked = claim.seen.unacked.saturating_add(bytes.min(u32::MAX as usize) as u32);
        let most = claim.buffer + OVERSHOOT + claim.beyond;
        let bytes = bytes.min(most as usize) as u32;
        let bytes = (claim.bytes + OVERHEAD + bytes + bytes / 2).min(most);
        self.set(claim, bytes.max(claim.bytes));
    }

    /// Charges a connection whose buffer is full, and whose requests wait behind that.
    pub fn blocked(&mut self, claim: &mut Claim) {
        self.set(claim, claim.bytes.max(claim.buffer + OVERSHOOT + RECEIVE_BUFFER + claim.beyond));
    }

    /// Sets what is claimed for a connection.
    pub fn set(&mut self, claim: &mut Claim, bytes: u32) {
        self.claimed = self.claimed - u64::from(claim.bytes) + u64::from(bytes);
        claim.bytes = bytes;
    }

    /// Whether the share is used up.
    pub fn is_over(&self) -> bool {
        self.claimed > self.share()
    }

    /// Whether so little is left that a connection has to be reset.
    pub fn is_tight(&self) -> bool {
        self.claimed > self.share() / 8 * 7
    }

    /// Whether as much is free as should be before the kernel is asked again.
    pub fn has_slack(&self) -> bool {
        self.claimed <= self.share() / 4 * 3
    }

    /// Sorts connections in the order in which they are reset: those that stand still, then the others, each by how long ago
    /// they last moved. Those that began first come last, as many as fit into half of the share: however many come at once,
    /// there is time to see whether the first of them read.
    pub fn order<T>(&self, owing: &mut [(Claim, T)]) {
        let moves = &self.moves;
        owing.sort_by_key(|(claim, _)| Reverse(moves.ago(claim.seen.moved)));
        let still = owing.partition_point(|(claim, _)| moves.is_still(&claim.seen));
        let moving = &mut owing[still..];
        moving.sort_by_key(|(claim, _)| Reverse(moves.ago(claim.seen.began)));
        let mut left = self.share() / 2;
        let fits = |(claim, _): &&(Claim, T)| {
            let rest = left.checked_sub(claim.bytes.into());
            left = rest.unwrap_or(left);
            rest.is_some()
        };
        let first = moving.iter().take_while(fits).count();
        moving.reverse();
        let others = moving.len() - first;
        moving[..others].sort_by_key(|(claim, _)| Reverse(moves.ago(claim.seen.moved)));
    }
}

#[cfg(test)]
mod tests;
