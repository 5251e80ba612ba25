//! Reading one file, or a stream; a part of load.rs.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, Take, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{poll, PollFd, PollFlags};
use rustix::fs::OFlags;
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::super::{Digest, Filling, Shared};
use super::{for_variants, worded, Room, NO_MEMORY};
use crate::config::Options;

/// How many bytes are read at once.
pub const BUFFER: usize = 64 << 10;

/// A file that changes while it is read is read again so often, and so much later (K-103).
const REREADS: usize = 10;
const PAUSE: Duration = Duration::from_millis(100);
const NOT_REGULAR: &str = "it is not a regular file";

/// How long ago a write must have begun to be taken for over: it sets the file's time then, and only then.
const FRESH: Duration = Duration::from_secs(2);

/// Reads a regular file, whose size `read` is told, until it has not changed meanwhile. The time is that of its modification.
pub fn steady<T>(
    path: &Path,
    read: impl Fn(&mut Regular, u64) -> Result<T, String>,
) -> Result<(T, SystemTime), String> {
    for attempt in 0..=REREADS {
        if attempt > 0 {
            thread::sleep(PAUSE);
        }
        // Before it is opened, so that a FIFO's writer is not led to believe in a reader; and what was opened, too.
        judged(path.metadata())?;
        let file = open(path).map_err(|error| worded(&error))?;
        let before = judged(file.metadata())?;
        // Beyond the end that it had, a file that grows could lead on for ever. One of /proc says 0.
        let end = if before.len() > 0 { before.len() + 1 } else { u64::MAX };
        let mut file = Regular { from: file.take(end), seen: is_fresh(&before).then(Sha256::new) };
        let got = read(&mut file, before.len())?;
        let is_still = file.is_still(end).map_err(|error| worded(&error))?;
        let after = judged(file.from.get_ref().metadata())?;
        if is_still && file.from.limit() > 0 && written(&before) == written(&after) {
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
        Ok(metadata) if !metadata.is_file() => Err(NOT_REGULAR.into()),
        metadata => metadata.map_err(|error| worded(&error)),
    }
}

/// Whether a write may be under way that shows in nothing but the bytes. A file that says it has none is the kernel's.
fn is_fresh(metadata: &Metadata) -> bool {
    let age = metadata.modified().ok().and_then(|modified| modified.elapsed().ok());
    metadata.len() > 0 && age.is_none_or(|age| age < FRESH)
}

/// A regular file that is being read.
pub struct Regular {
    from: Take<File>,
    /// The hash of what was read, where a second look is due.
    seen: Option<Sha256>,
}

impl Regular {
    /// Looks again, if that is due, at what was read since there was this much to read.
    fn is_still(&mut self, end: u64) -> io::Result<bool> {
        let Some(seen) = self.seen.take() else {
            return Ok(true);
        };
        let mut file = self.from.get_ref();
        file.rewind()?;
        let mut now = Sha256::new();
        io::copy(&mut file.take(end - self.from.limit()), &mut now)?;
        Ok(now.finalize() == seen.finalize())
    }
}

impl Read for Regular {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.from.read(buffer).map_err(|error| match error.kind() {
            // /proc/kmsg: whatever it says, its end never comes.
            ErrorKind::WouldBlock => io::Error::other(NOT_REGULAR),
            _ => error,
        })?;
        if let Some(seen) = &mut self.seen {
            seen.update(&buffer[..length]);
        }
        Ok(length)
    }
}

/// What a write changes.
fn written(metadata: &Metadata) -> [i64; 5] {
    let size = metadata.size() as i64;
    [size, metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()]
}

/// Reads what is no regular file, or was opened by somebody else.
pub fn stream(mut from: &File, options: &Options, enough: u64, room: Room) -> Result<(Shared, bool), String> {
    let metadata = from.metadata().map_err(|error| worded(&error))?;
    // Its beginning may have been read by somebody else.
    let size = match from.stream_position() {
        Ok(position) if metadata.is_file() => metadata.len().saturating_sub(position),
        _ => 0,
    };
    let started = Instant::now();
    read_all(from, size, options, enough, room, || wait(from, started, options.stdin_read_timeout))
}

/// Reads to the end, or until there is `enough`; and says whether there is no room for variants. The size is a hint, since
/// files of /proc say 0: for so many bytes `room` is asked before they are read, for others when they have come. `wait` is
/// called before each read.
pub fn read_all(
    from: impl Read,
    size: u64,
    options: &Options,
    enough: u64,
    room: Room,
    wait: impl Fn() -> Result<(), String>,
) -> Result<(Shared, bool), String> {
    let most = options.max_content_bytes;
    judge_size(size, most)?;
    let size = size.min(enough);
    let variants = for_variants(size, options);
    let mut plain = size > 0 && !room(size + variants);
    if plain && (variants == 0 || !room(size)) {
        return Err(NO_MEMORY.into());
    }
    let mut filling = Filling::new().map_err(|error| worded(&error))?;
    each(from.take(enough), most, wait, |bytes| {
        let length = filling.length + bytes.len() as u64;
        match length > size && !room(bytes.len() as u64) {
            true => Err(io::ErrorKind::OutOfMemory.into()),
            false => filling.write_all(bytes),
        }
    })?;
    if filling.length > size {
        let variants = for_variants(filling.length, options);
        plain = variants > 0 && !room(variants);
    }
    Ok((filling.seal().map_err(|error| worded(&error))?, plain))
}

/// The digest of what `read_all` would read, unless that is nothing.
pub fn digest(from: impl Read, size: u64, most: u64) -> Result<Option<Digest>, String> {
    judge_size(size, most)?;
    let mut hash = Sha256::new();
    let length = each(
        from,
        most,
        || Ok(()),
        |bytes| {
            hash.update(bytes);
            Ok(())
        },
    )?;
    Ok((length > 0).then(|| hash.finalize().into()))
}

fn judge_size(size: u64, most: u64) -> Result<(), String> {
    match size > most {
        true => Err(format!("it is larger than {most} bytes (raise --max-content-bytes)")),
        false => Ok(()),
    }
}

fn each(
    mut from: impl Read,
    most: u64,
    wait: impl Fn() -> Result<(), String>,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<u64, String> {
    let mut buffer = vec![0; BUFFER];
    let mut length = 0;
    loop {
        wait()?;
        match from.read(&mut buffer) {
            Ok(0) => return Ok(length),
            Ok(read) => {
                length += read as u64;
                judge_size(length, most)?;
                take(&buffer[..read]).map_err(|error| worded(&error))?;
            }
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => (),
            Err(error) => return Err(worded(&error)),
        }
    }
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
