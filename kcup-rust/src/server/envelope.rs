//! The limits of this process, decided from its cgroup's memory limit, its descriptors and the content it holds, so that too
//! many clients never lead to the kernel's OOM killer (K-85b, K-89, K-104).

use std::fs;

use log::Level;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::account::LEAST_SHARE;
use super::cgroup::Memory;
use super::guard::MAX_HEAD;
use crate::config::Options;
use crate::content::counted;

/// The cost of one silent connection, in bytes: the kernel's socket, its dentry and its place in an epoll set, and our
/// record. Linux 6.1 charges 1.6 to 2 KiB to the cgroup; 6.12 also charges the socket object, at accept(2): 3.9 KiB. See docs/adr/0004.
pub const CONNECTION: u64 = 4096;
/// The same with TLS: of the pair of sockets, of the library, and of a record or a handshake that is not whole. See docs/adr/0012.
pub const TLS_CONNECTION: u64 = 24576;
/// The program, its runtime and its workers at rest.
const RESTING: u64 = 4 << 20;
/// The most and the least bytes kept of incomplete heads: two heads always are.
const MOST_KEPT: u64 = 64 << 20;
const LEAST_KEPT: u64 = 32 << 10;
/// What the kernel may hold for connections if there is no limit.
const MOST_SOCKETS: u64 = 256 << 20;
/// Descriptors that are neither connections nor open yet: the service manager's socket; of content two old ones and one
/// that is read, with two files each, and the file it is read from; and what looks at /proc.
const DESCRIPTORS: u64 = 1 + 3 * 2 + 1 + 3;
/// Those of a connection with TLS: the peer's socket, and a pair.
const DESCRIPTORS_WITH_TLS: u64 = 3;
/// Descriptors of each worker, and of each terminator.
const DESCRIPTORS_OF_A_WORKER: u64 = 2;
/// The connections of the admin listener (K-115).
pub const ADMIN_CONNECTIONS: usize = 64;

/// The memory that content must leave: for some connections, and for each worker two heads and a response.
const LEAST_CONNECTIONS: u64 = 64;
const LEAST_OF_WORKER: u64 = 2 * MAX_HEAD as u64 + LEAST_SHARE as u64;
/// The memory that the process itself takes between reading the content and serving.
const STARTING: u64 = 1 << 20;
/// The descriptors needed to start: more than are open at rest, so that some are left for connections.
const LEAST_DESCRIPTORS: u64 = 32;

/// The limits that follow from the surroundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    pub max_connections: usize,
    /// Bytes of incomplete heads, over all workers.
    pub kept: usize,
    /// Bytes that the kernel may hold for connections, over all workers,
    pub sockets: u64,
    /// and the part of that which each open connection takes: 0 if buffers have a limit of their own.
    pub cost: u64,
    /// Whether memory decided on `max_connections`, rather than the option or descriptors.
    short: bool,
    /// Whether the least that is promised fits (K-104).
    pub fits: bool,
}

/// The cost of one silent connection, in bytes.
pub fn connection(tls: bool) -> u64 {
    if tls { TLS_CONNECTION } else { CONNECTION }
}

/// The number of event loops for connections.
pub fn loops(options: &Options) -> usize {
    options.threads * if options.tls.is_some() { 2 } else { 1 }
}

/// The number of descriptors that are no connections, including those that are not open yet.
pub fn descriptors(loops: usize, admin: usize) -> u64 {
    // Without /proc the descriptors that we were given are not known.
    let open = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    DESCRIPTORS + DESCRIPTORS_OF_A_WORKER * loops as u64 + (open + admin) as u64
}

/// The limits that the surroundings set.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// The smallest memory limit of this process's cgroups, in bytes.
    pub memory: Option<u64>,
    /// Whether socket buffers are a part of it,
    pub charged: bool,
    /// or have a limit of their own.
    pub sockets: Option<u64>,
    /// The number of descriptors for connections.
    pub descriptors: Option<u64>,
    /// The cost of one silent connection, in bytes.
    pub connection: u64,
}

impl Surroundings {
    /// Reads the limits: `others` are descriptors of no connection.
    pub fn read(memory: &Memory, others: u64, tls: bool) -> Surroundings {
        let descriptors = getrlimit(Resource::Nofile).current.map(|most| most.saturating_sub(others));
        let each = if tls { DESCRIPTORS_WITH_TLS } else { 1 };
        Surroundings {
            memory: memory.limit(),
            charged: memory.is_charged(),
            sockets: memory.sockets,
            descriptors: descriptors.map(|most| most / each),
            connection: connection(tls),
        }
    }
}

impl Envelope {
    /// `contents` is the size of all versions of the content that are held, or will be. Pure.
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
        // If buffers are charged, they share the rest with the connections and their heads. An eighth is left for bytes that
        // come between two looks at the account.
        let (sockets, cost) = match surroundings.charged {
            true => (free / 8 * 7, surroundings.connection),
            false => (sockets, 0),
        };
        let affordable = (free / 4 * 3 / surroundings.connection).max(1);
        let max_connections = connections.min(affordable);
        let left = free.saturating_sub(max_connections * surroundings.connection);
        Envelope {
            max_connections: max_connections as usize,
            kept: (left / 4).clamp(LEAST_KEPT, MOST_KEPT) as usize,
            sockets,
            cost,
            short: affordable < connections,
            fits: free >= least(threads, surroundings.connection),
        }
    }

    /// Logs the limits that are lowered, and why; the first time it warns if memory is short.
    pub fn log(&self, wanted: usize, first: bool) {
        let Envelope { max_connections, kept, sockets, short, .. } = *self;
        let connections = counted(max_connections as u64, "connection");
        match max_connections < wanted {
            true if short => log::log!(
                if first { Level::Warn } else { Level::Info },
                "at most {connections}, not {wanted}: the memory limit allows no more"
            ),
            true => log::info!("at most {connections}, not {wanted}: the limit on open files allows no more"),
            false if !first => log::info!("at most {connections} again"),
            false => (),
        }
        let (kept, sockets) = (kept / 1024, sockets / 1024);
        log::debug!(
            "limits: {connections}, {kept} KiB for incomplete heads, {sockets} KiB for what the kernel holds"
        );
    }
}

/// Says, before there is a server, whether there is memory for this many bytes more of content.
pub fn has_memory(options: &Options) -> impl Fn(u64) -> bool + Send + 'static {
    let least = least(options.threads, connection(options.tls.is_some()));
    let (memory, least) = (Memory::open(), STARTING + least);
    move |needed| memory.available() >= needed + least
}

/// Raises the limit on open files as far as allowed, and fails if it is too low: libraries would fail without a reason. Call
/// it before anything is opened.
pub fn may_have_descriptors(options: &Options) -> Result<(), String> {
    let of_admin = if options.admin.is_some() { ADMIN_CONNECTIONS as u64 } else { 0 };
    let needed = LEAST_DESCRIPTORS + DESCRIPTORS_OF_A_WORKER * loops(options) as u64 + of_admin;
    let maximum = getrlimit(Resource::Nofile).maximum;
    // If this is not allowed, the soft limit counts.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    match getrlimit(Resource::Nofile).current {
        Some(allowed) if allowed < needed => Err(format!(
            "cannot start: {needed} descriptors are needed, and {allowed} are allowed (raise the limit on open files)"
        )),
        _ => Ok(()),
    }
}

/// The memory that content must leave free.
pub fn least(threads: usize, connection: u64) -> u64 {
    LEAST_CONNECTIONS * connection + threads as u64 * LEAST_OF_WORKER
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(content: u64, memory: Option<u64>, descriptors: u64) -> Envelope {
        let descriptors = Some(descriptors);
        Envelope::new(
            20_000,
            2,
            content,
            Surroundings { memory, charged: false, sockets: None, descriptors, connection: CONNECTION },
        )
    }

    #[test]
    fn nothing_is_taken_away_where_nothing_is_short() {
        for (memory, kept) in [(None, 64 << 20), (Some(128 << 20), ((124 << 20) - 66 - 20_000 * 4096) / 4)] {
            let envelope = envelope(66, memory, 1 << 20);
            assert_eq!((envelope.max_connections, envelope.short, envelope.fits), (20_000, false, true));
            assert_eq!((envelope.kept, envelope.sockets), (kept, 256 << 20));
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
    fn the_parts_of_a_memory_that_is_short() {
        let affordable = (6 << 20) / CONNECTION as usize;
        for (wanted, short) in [(affordable - 1, false), (affordable, false), (affordable + 1, true)] {
            let memory = Some(RESTING + (8 << 20));
            let surroundings = Surroundings {
                memory,
                charged: true,
                sockets: None,
                descriptors: None,
                connection: CONNECTION,
            };
            let envelope = Envelope::new(wanted, 2, 0, surroundings);
            let kept = ((8 << 20) - wanted.min(affordable) * CONNECTION as usize) / 4;
            let parts = (envelope.max_connections, envelope.kept, envelope.short);
            assert_eq!(parts, (wanted.min(affordable), kept, short));
        }
        // K-104: 64 connections, and for each worker two heads and a response.
        let least = 64 * 4096 + 2 * (2 * 16_384 + 118_784);
        for (free, fits) in [(least - 1, false), (least, true)] {
            assert_eq!(envelope(0, Some(RESTING + free), 1 << 20).fits, fits);
        }
        assert_eq!(envelope(0, Some(RESTING), 1 << 20).kept, LEAST_KEPT as usize);
    }

    #[test]
    fn what_the_kernel_holds_has_a_part_where_it_is_charged() {
        for (charged, sockets, want) in [
            (true, Some(1 << 20), (96 << 20) / 8 * 7),
            (false, Some(1 << 20), (1 << 20) / 4 * 3),
            (false, None, MOST_SOCKETS),
        ] {
            let surroundings = Surroundings {
                memory: Some(100 << 20),
                charged,
                sockets,
                descriptors: None,
                connection: CONNECTION,
            };
            let envelope = Envelope::new(20_000, 1, 0, surroundings);
            assert_eq!(envelope.sockets, want);
            assert_eq!(envelope.max_connections, 18_432);
            let open = envelope.cost * envelope.max_connections as u64;
            assert_eq!(envelope.sockets.saturating_sub(open) < (48 << 20), charged || sockets.is_some());
        }
    }
}
