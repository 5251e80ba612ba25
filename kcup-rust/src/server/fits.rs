//! Whether content fits into the memory limits (K-104). Sibling: kcup-go/server/fits.go.

use super::cgroup::Memory;
use super::envelope::CONNECTION;
use super::guard::MAX_HEAD;
use crate::config::Options;

/// What must be left beside the content: some connections, and for each worker two heads and a response.
const LEAST_CONNECTIONS: u64 = 64;
const LEAST_OF_WORKER: u64 = 2 * MAX_HEAD as u64 + (32 << 10);
/// What the process takes besides, from before it reads its content until it serves.
const STARTING: u64 = 1 << 20;

/// What says, before there is a server, whether so many bytes more may be taken for content.
pub fn has_room(options: &Options) -> impl Fn(u64) -> bool + Send + 'static {
    let (memory, least) = (Memory::open(), STARTING + least(options.threads));
    move |needed| memory.room() >= needed + least
}

pub fn least(threads: usize) -> u64 {
    LEAST_CONNECTIONS * CONNECTION + threads as u64 * LEAST_OF_WORKER
}
