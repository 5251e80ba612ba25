//! Whether content fits into the memory limits (K-104), and we into that on descriptors (K-85b).
//! Sibling: kcup-go/server/fits.go.

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

use super::cgroup::Memory;
use super::envelope::{ADMIN_CONNECTIONS, CONNECTION};
use super::guard::MAX_HEAD;
use crate::config::Options;

/// What must be left beside the content: some connections, and for each worker two heads and a response.
const LEAST_CONNECTIONS: u64 = 64;
const LEAST_OF_WORKER: u64 = 2 * MAX_HEAD as u64 + (32 << 10);
/// What the process takes besides, from before it reads its content until it serves.
const STARTING: u64 = 1 << 20;
/// Descriptors without which nothing is begun: more than are open at rest, so that some are left for connections.
const DESCRIPTORS: u64 = 32;
const DESCRIPTORS_OF_WORKER: u64 = 2;

/// What says, before there is a server, whether so many bytes more may be taken for content.
pub fn has_room(options: &Options) -> impl Fn(u64) -> bool + Send + 'static {
    let (memory, least) = (Memory::open(), STARTING + least(options.threads));
    move |needed| memory.room() >= needed + least
}

/// Takes all descriptors that may be had, and says what is wrong where they are too few: libraries give up then that do not
/// say why. Call it before anything is opened.
pub fn may_have_descriptors(options: &Options) -> Result<(), String> {
    let of_admin = if options.admin.is_some() { ADMIN_CONNECTIONS as u64 } else { 0 };
    let needed = DESCRIPTORS + DESCRIPTORS_OF_WORKER * options.threads as u64 + of_admin;
    let maximum = getrlimit(Resource::Nofile).maximum;
    // Where this is not allowed the soft limit is what counts.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    match getrlimit(Resource::Nofile).current {
        Some(allowed) if allowed < needed => Err(format!(
            "cannot start: {needed} descriptors are needed, and {allowed} are allowed (raise the limit on open files)"
        )),
        _ => Ok(()),
    }
}

pub fn least(threads: usize) -> u64 {
    LEAST_CONNECTIONS * CONNECTION + threads as u64 * LEAST_OF_WORKER
}
