//! Reading one file, or a stream, into memory.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, Take, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};

use super::compress::memory_for_variants;
use super::reason::counted;
use super::shared::{Filling, Shared};
use crate::config::Options;

/// Says whether there is memory for this many bytes more (K-104).
pub type HasMemory<'a> = &'a dyn Fn(u64) -> bool;

/// The number of bytes read at once.
pub const BUFFER: usize = 64 << 10;

/// A file that changes while it is read is read again this often, at these intervals (K-103).
pub const REREADS: usize = 10;
pub const REREAD_PAUSE: Duration = Duration::from_millis(100);
const NOT_REGULAR: &str = "it is not a regular file";

/// A file modified less than this ago may still be being written: a write sets the file's time only when it begins.
const FRESH: Duration = Duration::from_secs(2);

/// Calls `read` with a regular file and its size until the file has not changed meanwhile. Returns its modification time
/// too.
pub fn steady<T>(
    path: &Path,
    read: impl Fn(&mut Regular, u64) -> io::Result<T>,
) -> io::Result<(T, SystemTime)> {
    for attempt in 0..=REREADS {
        if attempt > 0 {
            thread::sleep(REREAD_PAUSE);
        }
        // Before it is opened, so that a FIFO's writer does not mistake us for a reader; and again what was opened.
        judge(&path.metadata()?)?;
        let file = open(path)?;
        let before = file.metadata()?;
        judge(&before)?;
        // A file that grows is not followed beyond the end it had. A file of /proc says 0.
        let end = if before.len() > 0 { before.len() + 1 } else { u64::MAX };
        let mut file = Regular { from: file.take(end), seen: is_fresh(&before).then(Sha256::new) };
        let got = read(&mut file, before.len())?;
        let is_still = file.is_still(end)?;
        let after = file.from.get_ref().metadata()?;
        if is_still && file.from.limit() > 0 && version(&before) == version(&after) {
            return Ok((got, after.modified()?));
        }
    }
    Err(io::Error::other("it keeps changing while it is read"))
}

/// Opens a file without waiting for a FIFO's writer: the reader gives up in time itself.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)
}

fn judge(metadata: &Metadata) -> io::Result<()> {
    match metadata {
        directory if directory.is_dir() => Err(ErrorKind::IsADirectory.into()),
        file if file.is_file() => Ok(()),
        _ => Err(io::Error::other(NOT_REGULAR)),
    }
}

/// Whether a write may be under way that changes nothing but the bytes. A file without a size is the kernel's own.
fn is_fresh(metadata: &Metadata) -> bool {
    let age = metadata.modified().ok().and_then(|modified| modified.elapsed().ok());
    metadata.len() > 0 && age.is_none_or(|age| age < FRESH)
}

/// A regular file that is being read.
pub struct Regular {
    from: Take<File>,
    /// The hash of the bytes read, if they have to be compared with a second reading.
    seen: Option<Sha256>,
}

impl Regular {
    /// Reads the file again, if that is necessary, and compares. `end` is the limit that the first reading began with.
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
            // /proc/kmsg claims to be a regular file, but its end never comes.
            ErrorKind::WouldBlock => io::Error::other(NOT_REGULAR),
            _ => error,
        })?;
        if let Some(seen) = &mut self.seen {
            seen.update(&buffer[..length]);
        }
        Ok(length)
    }
}

/// The properties of a file that a write changes.
fn version(metadata: &Metadata) -> [i64; 5] {
    let size = metadata.size() as i64;
    [size, metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()]
}

/// Reads a regular file of at most `most` bytes whole. Fails if it is empty.
pub fn small(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let read = |file: &mut Regular, size: u64| {
        let too_large = || io::Error::other(format!("it is larger than {}", counted(most, "byte")));
        let mut bytes = Vec::new();
        if size <= most {
            file.take(most + 1).read_to_end(&mut bytes)?;
        }
        if size.max(bytes.len() as u64) > most { Err(too_large()) } else { Ok(bytes) }
    };
    let (bytes, _) = steady(path, read)?;
    if bytes.is_empty() { Err(io::Error::other(super::source::EMPTY)) } else { Ok(bytes) }
}

/// Reads a stream: standard input, or a file that is not a regular one.
pub fn stream(
    mut from: &File,
    options: &Options,
    enough: u64,
    has_memory: HasMemory,
) -> io::Result<(Shared, bool)> {
    let metadata = from.metadata()?;
    // Standard input may be a regular file of which another process has read a part.
    let size = match from.stream_position() {
        Ok(position) if metadata.is_file() => metadata.len().saturating_sub(position),
        _ => 0,
    };
    let started = Instant::now();
    let wait = || wait(from, started, options.stdin_read_timeout);
    read_all(from, size, options, enough, has_memory, wait)
}

/// Reads to the end, or until there is `enough`. Also returns whether there is no memory for variants.
///
/// `size` is a hint, since files of /proc say 0: memory for that many bytes is asked for before they are read, for others
/// when they have come. `wait` is called before each read.
pub fn read_all(
    from: impl Read,
    size: u64,
    options: &Options,
    enough: u64,
    has_memory: HasMemory,
    wait: impl Fn() -> io::Result<()>,
) -> io::Result<(Shared, bool)> {
    let most = options.max_content_bytes;
    judge_size(size, most)?;
    let size = size.min(enough);
    let variants = memory_for_variants(size, options);
    let mut plain = size > 0 && !has_memory(size + variants);
    if plain && (variants == 0 || !has_memory(size)) {
        return Err(ErrorKind::OutOfMemory.into());
    }
    let mut filling = Filling::new()?;
    each(from.take(enough), most, wait, |bytes| {
        let length = filling.length + bytes.len() as u64;
        match length > size && !has_memory(bytes.len() as u64) {
            true => Err(ErrorKind::OutOfMemory.into()),
            false => filling.write_all(bytes),
        }
    })?;
    if filling.length > size {
        let variants = memory_for_variants(filling.length, options);
        plain = variants > 0 && !has_memory(variants);
    }
    Ok((filling.finish()?, plain))
}

/// The digest of the bytes that `read_all` would return, unless there are none.
pub fn digest(from: impl Read, size: u64, most: u64) -> io::Result<Option<super::Digest>> {
    judge_size(size, most)?;
    let mut hash = Sha256::new();
    let length = each(from, most, || Ok(()), |bytes| hash.write_all(bytes))?;
    Ok((length > 0).then(|| hash.finalize().into()))
}

fn judge_size(size: u64, most: u64) -> io::Result<()> {
    match size > most {
        true => {
            let most = counted(most, "byte");
            Err(io::Error::other(format!("it is larger than {most} (raise --max-content-bytes)")))
        }
        false => Ok(()),
    }
}

fn each(
    mut from: impl Read,
    most: u64,
    wait: impl Fn() -> io::Result<()>,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<u64> {
    let mut buffer = vec![0; BUFFER];
    let mut length = 0;
    loop {
        wait()?;
        match from.read(&mut buffer) {
            Ok(0) => return Ok(length),
            Ok(read) => {
                length += read as u64;
                judge_size(length, most)?;
                take(&buffer[..read])?;
            }
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => (),
            Err(error) => return Err(error),
        }
    }
}

/// Waits until there is something to read, or the end, but no longer than `limit` after `started`.
fn wait(from: &File, started: Instant, limit: Duration) -> io::Result<()> {
    loop {
        let left = limit.saturating_sub(started.elapsed());
        if left.is_zero() {
            let seconds = counted(limit.as_secs(), "second");
            return Err(io::Error::other(format!(
                "not at its end after {seconds} (raise --stdin-read-timeout-seconds)"
            )));
        }
        let left = left.try_into().map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(from, PollFlags::IN)], Some(&left)).map_err(io::Error::from) {
            Ok(0) => (),
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => (),
            Err(error) => return Err(error),
        }
    }
}
