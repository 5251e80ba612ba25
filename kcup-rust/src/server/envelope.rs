//! How much this process may hold, decided once from its cgroup's memory limit, so that the answer to too many peers is
//! never the kernel's OOM killer. Sibling: kcup-go/server/envelope.go.

use super::cgroup::Memory;

/// What one silent connection costs, in bytes: the kernel's socket, its dentry and its place in an epoll set, and our
/// record. Measured with 16,384 connections in a memory cgroup; see docs/adr/0004.
const CONNECTION: u64 = 2048;
/// The program, its runtime and its workers at rest.
const RESTING: u64 = 4 << 20;
/// More than this is never kept of incomplete heads; at least two heads always are.
const MOST_KEPT: u64 = 64 << 20;
const LEAST_KEPT: u64 = 32 << 10;
/// Descriptors that are not connections: standard streams, listener, signals, what waits for events, cgroups' files, the
/// content's while it is read, the service manager's socket.
const DESCRIPTORS: u64 = 24;
/// And those of each worker.
const DESCRIPTORS_OF_A_WORKER: u64 = 2;
/// What `--admin` has, some connections among them.
const DESCRIPTORS_OF_ADMIN: u64 = 16;

/// The limits that follow from the surroundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    pub max_connections: usize,
    /// Bytes of incomplete heads, over all workers.
    pub kept: usize,
    /// Whether memory, and not what was asked for or descriptors, decided on `max_connections`.
    short: bool,
}

/// What the surroundings allow.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// The smallest memory limit of this process's cgroups, in bytes.
    pub memory: Option<u64>,
    /// How many descriptors it may have open.
    pub descriptors: Option<u64>,
}

impl Surroundings {
    /// Reads the limits, after raising the soft one on descriptors to the hard one.
    pub fn read(memory: &Memory, admin: bool) -> Surroundings {
        use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: maximum, maximum };
        // Where this is not allowed the soft limit is what counts.
        let _ = setrlimit(Resource::Nofile, raised);
        let taken = if admin { DESCRIPTORS_OF_ADMIN } else { 0 };
        let descriptors = getrlimit(Resource::Nofile).current.map(|most| most.saturating_sub(taken));
        Surroundings { memory: memory.limit(), descriptors }
    }
}

impl Envelope {
    /// `content` is the size of the bytes and their variants. Pure.
    pub fn new(wanted: usize, threads: usize, content: u64, surroundings: Surroundings) -> Envelope {
        let others = DESCRIPTORS + DESCRIPTORS_OF_A_WORKER * threads as u64;
        let descriptors = surroundings.descriptors.unwrap_or(u64::MAX).saturating_sub(others);
        let connections = (wanted as u64).min(descriptors.max(1));
        let Some(memory) = surroundings.memory else {
            return Envelope {
                max_connections: connections as usize,
                kept: MOST_KEPT as usize,
                short: false,
            };
        };
        // A reload needs room for new content besides: where there is none it fails (K-104).
        let free = memory.saturating_sub(RESTING + content);
        let affordable = (free / 4 * 3 / CONNECTION).max(1);
        let max_connections = connections.min(affordable);
        let left = free.saturating_sub(max_connections * CONNECTION);
        Envelope {
            max_connections: max_connections as usize,
            kept: (left / 4).clamp(LEAST_KEPT, MOST_KEPT) as usize,
            short: affordable < connections,
        }
    }

    /// Says what was decided, and warns where it is memory that is short.
    pub fn log(&self, wanted: usize) {
        let Envelope { max_connections, kept, short } = self;
        let kept = kept / 1024;
        match short {
            true => log::warn!("memory for {max_connections} connections, not --max-connections {wanted}; {kept} KiB for incomplete heads"),
            false => log::info!("at most {max_connections} connections, {kept} KiB for incomplete heads"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(content: u64, memory: Option<u64>, descriptors: u64) -> Envelope {
        let descriptors = Some(descriptors);
        Envelope::new(20_000, 2, content, Surroundings { memory, descriptors })
    }

    #[test]
    fn nothing_is_taken_away_where_nothing_is_short() {
        for memory in [None, Some(100 << 20)] {
            let envelope = envelope(66, memory, 1 << 20);
            assert_eq!((envelope.max_connections, envelope.short), (20_000, false));
        }
    }

    #[test]
    fn few_descriptors_mean_few_connections() {
        assert_eq!(envelope(66, None, 1024).max_connections, 996);
        assert_eq!(envelope(66, None, 10).max_connections, 1);
    }

    #[test]
    fn the_parts_fit_the_memory_together() {
        for memory in (8u64..512).map(|mib| mib << 20) {
            let Envelope { max_connections, kept, short } = envelope(1 << 20, Some(memory), 1 << 20);
            let total = max_connections as u64 * CONNECTION + kept as u64 + RESTING + (1 << 20);
            assert!(total <= memory, "{memory}: {max_connections} connections, {kept} kept");
            assert_eq!(short, max_connections < 20_000);
        }
    }
}
