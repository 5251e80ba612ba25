//! When peers last made progress, and which connections are reset when the share is used up (SPEC K-87b). Pure.

use std::cmp::Reverse;

use super::account::{Account, Claim};
use super::phases::{Tick, TICKS};

const ENDS: usize = TICKS as usize + 1;

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
    pub fn begin(&mut self, claim: &mut Claim) {
        self.count = self.count.wrapping_add(1);
        (claim.began, claim.moved) = (self.count, self.count);
    }

    /// Takes in how many bytes the peer has not acknowledged.
    pub fn saw(&mut self, claim: &mut Claim, unacked: u32) {
        if unacked < claim.unacked {
            self.count = self.count.wrapping_add(1);
            claim.moved = self.count;
            claim.taken = claim.taken.saturating_add(claim.unacked - unacked);
        }
        claim.unacked = unacked;
    }

    /// Whether the peer has acknowledged nothing for a second.
    pub fn is_still(&self, claim: &Claim) -> bool {
        self.ago(claim.moved) >= self.ago(self.ends[self.now as usize % ENDS])
    }

    /// The number of moves since then.
    fn ago(&self, then: u32) -> u32 {
        self.count.wrapping_sub(then)
    }
}

impl Account {
    /// Sorts connections in the order in which they are reset: those that stand still, then the others, each by how long ago
    /// they last moved. Those that began first come last, as many as fit into half of the share: however many come at once,
    /// there is time to see whether the first of them read.
    pub fn order<T>(&self, owing: &mut [(Claim, T)]) {
        let moves = &self.moves;
        owing.sort_by_key(|(claim, _)| Reverse(moves.ago(claim.moved)));
        let still = owing.partition_point(|(claim, _)| moves.is_still(claim));
        let moving = &mut owing[still..];
        moving.sort_by_key(|(claim, _)| Reverse(moves.ago(claim.began)));
        let mut left = self.share() / 2;
        let fits = |(claim, _): &&(Claim, T)| {
            let rest = left.checked_sub(claim.bytes.into());
            left = rest.unwrap_or(left);
            rest.is_some()
        };
        let first = moving.iter().take_while(fits).count();
        moving.reverse();
        let others = moving.len() - first;
        moving[..others].sort_by_key(|(claim, _)| Reverse(moves.ago(claim.moved)));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Vectors {
        case: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        name: String,
        share: u64,
        steps: Vec<String>,
        want: String,
    }

    #[test]
    fn order_of_resets() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance/vectors/resets.toml");
        let vectors: Vectors = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        for Case { name, share, steps, want } in vectors.case {
            let (mut account, mut claims) = (Account::new(share), BTreeMap::<&str, Claim>::new());
            for step in &steps {
                let words: Vec<&str> = step.split(' ').collect();
                let number = || words.last().unwrap().parse::<u32>().unwrap();
                if words[0] == "ticks" {
                    account.moves.at(account.moves.now + number());
                    continue;
                }
                let claim = claims.entry(words[0]).or_default();
                match words[1] {
                    "sends" => account.wrote(claim, number() as usize),
                    "owes" => account.moves.saw(claim, number()),
                    _ => account.set(claim, 0),
                }
            }
            let held = claims.into_iter().filter(|(_, claim)| claim.bytes > 0);
            let mut owing: Vec<_> = held.map(|(name, claim)| (claim, name)).collect();
            account.order(&mut owing);
            let names: Vec<&str> = owing.into_iter().map(|(_, name)| name).collect();
            assert_eq!(names.join(" "), want, "{name}");
        }
    }
}
