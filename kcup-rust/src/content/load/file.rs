//! Reading one file, or a stream; a part of load.rs.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{poll, PollFd, PollFlags};
use rustix::fs::OFlags;
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::super::{Digest, Filling, Shared};
use super::worded;
use crate::config::Options;

/// How many bytes are read at once.
const BUFFER: usize = 64 << 10;

const NO_MEMORY: &str = "there is not enough memory for it";

/// A file that changes while it is read is read again so often, and so much later (K-103).
const REREADS: usize = 10;
const PAUSE: Duration = Duration::from_millis(100);

/// Reads a regular file, whose size `read` is told, until it has not changed meanwhile. The time is that of its modification.
pub fn steady<T>(
    path: &Path,
    read: impl Fn(&File, u64) -> Result<T, String>,
) -> Result<(T, SystemTime), String> {
    for attempt in 0..=REREADS {
        if attempt > 0 {
            thread::sleep(PAUSE);
        }
        // Before it is opened, so that a FIFO's writer is not led to believe in a reader; and what was opened, too.
        judged(path.metadata())?;
        let file = open(path).map_err(|error| worded(&error))?;
        let before = judged(file.metadata())?;
        let got = read(&file, before.len())?;
        let after = judged(file.metadata())?;
        if written(&before) == written(&after) {
            return Ok((got, after.modified().map_err(|error| worded(&error))?));
        }
    }
    Err("it keeps changing while it is read".into())
}

/// Without waiting for a FIFO's writer: that is for a reader who gives up in time.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)
}

fn judged(metadata: io::Result<Metadata>) -> Result<Metadata, String> {
    match metadata {
        Ok(metadata) if metadata.is_dir() => Err(worded(&Errno::ISDIR.into())),
        Ok(metadata) if !metadata.is_file() => Err("it is not a regular file".into()),
        metadata => metadata.map_err(|error| worded(&error)),
    }
}

/// What a write changes.
fn written(metadata: &Metadata) -> [i64; 5] {
    let size = metadata.size() as i64;
    [size, metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()]
}

/// Reads what is no regular file, or was opened by somebody else.
pub fn stream(from: &File, options: &Options) -> Result<Shared, String> {
    let metadata = from.metadata().map_err(|error| worded(&error))?;
    let size = metadata.is_file().then_some(metadata.len());
    let started = Instant::now();
    let ready = || wait(from, started, options.stdin_read_timeout);
    read_all(from, size, options.max_content_bytes, ready, |_| true)
}

/// Reads to the end, but no more than `most` bytes. The size is a hint, since files of /proc say 0. `ready` is asked before
/// each read, and `has_room` before memory is taken: whether there is so much of it.
pub fn read_all(
    from: &File,
    size: Option<u64>,
    most: u64,
    ready: impl Fn() -> Result<(), String>,
    has_room: impl Fn(u64) -> bool,
) -> Result<Shared, String> {
    if size.is_some_and(|size| size > most) {
        return Err(too_large(most));
    }
    let fault = |error: io::Error| match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOMEM | Errno::NOSPC) => NO_MEMORY.into(),
        _ => worded(&error),
    };
    let mut filling = Filling::new().map_err(fault)?;
    let mut buffer = vec![0; BUFFER];
    let room = size.unwrap_or(0);
    loop {
        ready()?;
        if !has_room(room.max(filling.length)) {
            return Err(NO_MEMORY.into());
        }
        match rustix::io::read(from, &mut buffer) {
            Ok(0) => return filling.seal().map_err(fault),
            Ok(read) if filling.length + read as u64 > most => return Err(too_large(most)),
            Ok(read) => filling.add(&buffer[..read]).map_err(fault)?,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(worded(&error.into())),
        }
    }
}

/// The digest of what `read_all` would read of a regular file, unless that is nothing.
pub fn digest(mut from: &File, size: u64, most: u64) -> Result<Option<Digest>, String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; BUFFER];
    let mut length = 0;
    loop {
        match from.read(&mut buffer) {
            _ if size.max(length) > most => return Err(too_large(most)),
            Ok(0) => return Ok((length > 0).then(|| hash.finalize().into())),
            Ok(read) => {
                hash.update(&buffer[..read]);
                length += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) => return Err(worded(&error)),
        }
    }
}

fn too_large(most: u64) -> String {
    format!("it is larger than {most} bytes (raise --max-content-bytes)")
}

/// Until there is something to read, or the end; but no longer than `limit` after `started`.
fn wait(from: &File, started: Instant, limit: Duration) -> Result<(), String> {
    loop {
        let left = limit.saturating_sub(started.elapsed());
        let ready = match left.try_into() {
            Ok(left) => poll(&mut [PollFd::new(from, PollFlags::IN)], Some(&left)),
            Err(_) => Err(Errno::INVAL),
        };
        match ready {
            _ if left.is_zero() => {
                let seconds = limit.as_secs();
                return Err(format!(
                    "not at its end after {seconds} seconds (raise --stdin-read-timeout-seconds)"
                ));
            }
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(worded(&error.into())),
        }
    }
}
