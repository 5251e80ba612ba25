//! How much this process may hold, decided from its cgroup's memory limit and the contents that are held, so that the answer
//! to too many peers is never the kernel's OOM killer. Sibling: kcup-go/server/envelope.go.

use std::fs;

use super::cgroup::Memory;
use super::fits;

/// What one silent connection costs, in bytes: the kernel's socket, its dentry and its place in an epoll set, and our
/// record. Linux 6.1 charges 1.6 to 2 KiB to the cgroup; 6.12 also the socket object, at
/// accept(2), which makes 3.9 KiB. See docs/adr/0004.
pub const CONNECTION: u64 = 4096;
/// The program, its runtime and its workers at rest.
const RESTING: u64 = 4 << 20;
/// More than this is never kept of incomplete heads; at least two heads always are.
const MOST_KEPT: u64 = 64 << 20;
const LEAST_KEPT: u64 = 32 << 10;
/// What the kernel may hold for connections where no limit says so.
const MOST_SOCKETS: u64 = 256 << 20;
/// Descriptors that are neither connections nor open yet: the service manager's socket; of content two old ones and one
/// that is read, with two files each, and the file it is read from; and what looks at /proc.
const DESCRIPTORS: u64 = 1 + 3 * 2 + 1 + 3;
/// And those of each worker.
const DESCRIPTORS_OF_A_WORKER: u64 = 2;
/// How many the admin listener holds (SPEC K-115).
pub const ADMIN_CONNECTIONS: usize = 64;

/// The limits that follow from the surroundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    pub max_connections: usize,
    /// Bytes of incomplete heads, over all workers.
    pub kept: usize,
    /// Bytes that the kernel may hold for connections, over all workers,
    pub sockets: u64,
    /// and how much of that one is that only is open: nothing where buffers are counted apart.
    pub cost: u64,
    /// Whether memory, and not what was asked for or descriptors, decided on `max_connections`.
    short: bool,
    /// Whether what is promised at least fits (K-104).
    pub fits: bool,
}

/// How many descriptors are no connections, those among them that are not open yet.
pub fn descriptors(threads: usize, admin: usize) -> u64 {
    // Without /proc nothing is known of what we were given.
    let open = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    DESCRIPTORS + DESCRIPTORS_OF_A_WORKER * threads as u64 + (open + admin) as u64
}

/// What the surroundings allow.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// The smallest memory limit of this process's cgroups, in bytes.
    pub memory: Option<u64>,
    /// Whether socket buffers are a part of it,
    pub charged: bool,
    /// or have a limit of their own.
    pub sockets: Option<u64>,
    /// How many descriptors there are for connections.
    pub descriptors: Option<u64>,
}

impl Surroundings {
    /// Reads the limits: `others` are descriptors of no connection.
    pub fn read(memory: &Memory, others: u64) -> Surroundings {
        use rustix::process::{getrlimit, Resource};
        let descriptors = getrlimit(Resource::Nofile).current.map(|most| most.saturating_sub(others));
        Surroundings {
            memory: memory.limit(),
            charged: memory.is_charged(),
            sockets: memory.sockets,
            descriptors,
        }
    }
}

impl Envelope {
    /// `contents` is the size of all bytes and variants that are held, or will be. Pure.
    pub fn new(wanted: usize, threads: usize, contents: u64, surroundings: Surroundings) -> Envelope {
        let connections = (wanted as u64).min(surroundings.descriptors.unwrap_or(u64::MAX).max(1));
        let sockets = surroundings.sockets.map_or(MOST_SOCKETS, |limit| limit / 4 * 3);
        let Some(memory) = surroundings.memory else {
            return Envelope {
                max_connections: connections as usize,
                kept: MOST_KEPT as usize,
                sockets,
                cost: 0,
                short: false,
                fits: true,
            };
        };
        let free = memory.saturating_sub(RESTING + contents);
        // Where buffers are charged they share what is left with the connections and their heads; the eighth is for what
        // comes between two looks at the account.
        let (sockets, cost) = match surroundings.charged {
            true => (free / 8 * 7, CONNECTION),
            false => (sockets, 0),
        };
        let affordable = (free / 4 * 3 / CONNECTION).max(1);
        let max_connections = connections.min(affordable);
        let left = free.saturating_sub(max_connections * CONNECTION);
        Envelope {
            max_connections: max_connections as usize,
            kept: (left / 4).clamp(LEAST_KEPT, MOST_KEPT) as usize,
            sockets,
            cost,
            short: affordable < connections,
            fits: free >= fits::least(threads),
        }
    }

    /// Says what was decided; the first time it warns where it is memory that is short.
    pub fn log(&self, wanted: usize, first: bool) {
        let Envelope { max_connections, kept, sockets, .. } = self;
        let (kept, sockets) = (kept / 1024, sockets / 1024);
        let parts = format!("{kept} KiB for incomplete heads, {sockets} KiB for what the kernel holds");
        match self.short && first {
            true => log::warn!(
                "memory for {max_connections} connections, not --max-connections {wanted}; {parts}"
            ),
            false => log::info!("at most {max_connections} connections, {parts}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(content: u64, memory: Option<u64>, descriptors: u64) -> Envelope {
        let descriptors = Some(descriptors);
        Envelope::new(20_000, 2, content, Surroundings { memory, charged: false, sockets: None, descriptors })
    }

    #[test]
    fn nothing_is_taken_away_where_nothing_is_short() {
        for memory in [None, Some(128 << 20)] {
            let envelope = envelope(66, memory, 1 << 20);
            assert_eq!((envelope.max_connections, envelope.short), (20_000, false));
        }
    }

    #[test]
    fn few_descriptors_mean_few_connections() {
        assert_eq!(envelope(66, None, 996).max_connections, 996);
        assert_eq!(envelope(66, None, 0).max_connections, 1);
    }

    #[test]
    fn the_parts_fit_the_memory_together() {
        for memory in (8u64..512).map(|mib| mib << 20) {
            let Envelope { max_connections, kept, short, .. } = envelope(1 << 20, Some(memory), 1 << 20);
            let total = max_connections as u64 * CONNECTION + kept as u64 + RESTING + (1 << 20);
            assert!(!envelope(memory - RESTING, Some(memory), 1 << 20).fits);
            assert!(total <= memory, "{memory}: {max_connections} connections, {kept} kept");
            assert_eq!(short, max_connections < 20_000);
        }
    }

    #[test]
    fn what_the_kernel_holds_has_a_part_where_it_is_charged() {
        for (charged, sockets, want) in [
            (true, Some(1 << 20), (96 << 20) / 8 * 7),
            (false, Some(1 << 20), (1 << 20) / 4 * 3),
            (false, None, MOST_SOCKETS),
        ] {
            let surroundings = Surroundings { memory: Some(100 << 20), charged, sockets, descriptors: None };
            let envelope = Envelope::new(20_000, 1, 0, surroundings);
            assert_eq!(envelope.sockets, want);
            assert_eq!(envelope.max_connections, 18_432);
            let open = envelope.cost * envelope.max_connections as u64;
            assert_eq!(envelope.sockets.saturating_sub(open) < (48 << 20), charged || sockets.is_some());
        }
    }
}
