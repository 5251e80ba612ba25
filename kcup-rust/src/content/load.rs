//! Reading the content, once and whole, and the words for what can go wrong with it (K-11, K-12).

use std::fs::{File, OpenOptions};
use std::future::Future;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use rustix::buffer::spare_capacity;
use rustix::event::{poll, PollFd, PollFlags};
use rustix::fs::OFlags;
use rustix::io::Errno;
use tokio::task::spawn_blocking;

use super::policy;
use crate::config::{quoted, Options, Preset};

/// Room for what is read from a pipe before its size is known.
const FIRST_ROOM: usize = 64 << 10;

/// Content as it was read.
#[derive(Debug)]
pub struct Loaded {
    /// Never empty.
    pub bytes: Bytes,
    /// A regular file's modification time if that is past, else the time of loading.
    pub modified: SystemTime,
}

/// Loads on a thread of its own; nothing when `stop` is ready first (K-13).
pub async fn load_unless(
    stop: impl Future<Output = ()>,
    options: &Arc<Options>,
) -> Result<Option<Loaded>, String> {
    let options = options.clone();
    tokio::select! {
        loaded = spawn_blocking(move || load(&options)) => loaded.expect("loading does not panic").map(Some),
        () = stop => Ok(None),
    }
}

/// Reads the content, and makes of it what the preset asks for. Blocks as `read` does.
///
/// An error is the line, or are the lines, of K-11, K-12 or K-92 without `kcup: ` before them.
pub fn load(options: &Options) -> Result<Loaded, String> {
    let loaded = read(options)?;
    match options.preset {
        None => Ok(loaded),
        Some(Preset::MtaSts) => {
            Ok(Loaded { bytes: policy::publish(&loaded.bytes, &origin(options))?, ..loaded })
        }
    }
}

/// Reads the file or standard input to its end. Blocks, but no longer than `stdin_read_timeout` where the source is not a
/// regular file.
///
/// An error is K-11's or K-12's line without `kcup: ` before it.
pub(super) fn read(options: &Options) -> Result<Loaded, String> {
    read_whole(options).map_err(|reason| format!("cannot read content from {}: {reason}", origin(options)))
}

/// Where content comes from, as errors call it.
pub(super) fn origin(options: &Options) -> String {
    match &options.file {
        Some(file) => quoted(file.as_os_str().as_bytes()),
        None => "standard input".into(),
    }
}

fn read_whole(options: &Options) -> Result<Loaded, String> {
    let source = Source::open(options.file.as_deref()).map_err(|error| worded(&error))?;
    let bytes = source.read(options)?;
    if bytes.is_empty() {
        return Err("it is empty".into());
    }
    let now = SystemTime::now();
    Ok(Loaded { modified: source.modified.map_or(now, |modified| modified.min(now)), bytes: bytes.into() })
}

struct Source {
    from: File,
    /// Of a regular file that was named.
    modified: Option<SystemTime>,
    /// What a regular file says of its size: a hint, since those of /proc say 0.
    size: Option<u64>,
}

impl Source {
    fn open(file: Option<&Path>) -> io::Result<Source> {
        let from = match file {
            // Without waiting for a FIFO's writer: `wait` does that, and gives up in time.
            Some(file) => {
                OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(file)?
            }
            None => File::from(io::stdin().as_fd().try_clone_to_owned()?),
        };
        let metadata = from.metadata()?;
        if metadata.is_dir() {
            return Err(Errno::ISDIR.into());
        }
        let regular = metadata.is_file();
        Ok(Source {
            from,
            modified: metadata.modified().ok().filter(|_| regular && file.is_some()),
            size: regular.then_some(metadata.len()),
        })
    }

    fn read(&self, options: &Options) -> Result<Vec<u8>, String> {
        let most = options.max_content_bytes;
        let too_large = || format!("it is larger than {most} bytes (raise --max-content-bytes)");
        if self.size.is_some_and(|size| size > most) {
            return Err(too_large());
        }
        let started = Instant::now();
        let mut bytes = Vec::new();
        // One more than the size, so that the end is seen without growing.
        make_room(&mut bytes, self.size.map_or(FIRST_ROOM, |size| size as usize + 1))?;
        loop {
            if self.size.is_none() {
                self.wait(started, options.stdin_read_timeout)?;
            }
            match rustix::io::read(&self.from, spare_capacity(&mut bytes)) {
                Ok(0) => break,
                Ok(_) if bytes.len() as u64 > most => return Err(too_large()),
                Ok(_) if bytes.len() == bytes.capacity() => {
                    let more = bytes.len();
                    make_room(&mut bytes, more)?;
                }
                Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(worded(&error.into())),
            }
        }
        // With room to spare `Bytes` counts references in one way only, and so without a branch for each clone.
        bytes.shrink_to(bytes.len() + 1);
        Ok(bytes)
    }

    /// Until there is something to read, or the end; but no longer than `limit` after `started`.
    fn wait(&self, started: Instant, limit: Duration) -> Result<(), String> {
        loop {
            let left = limit.saturating_sub(started.elapsed());
            let ready = match left.try_into() {
                Ok(left) => poll(&mut [PollFd::new(&self.from, PollFlags::IN)], Some(&left)),
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
}

/// Content may be larger than what memory there is, which is not worth an abort.
fn make_room(bytes: &mut Vec<u8>, more: usize) -> Result<(), String> {
    bytes.try_reserve(more).map_err(|_| "there is not enough memory for it".into())
}

fn worded(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => "no such file".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::IsADirectory => {
            "it is a directory (Docker creates one when the source of a mount is missing)".into()
        }
        _ => {
            let text = error.to_string();
            let (reason, _) = text.split_once(" (os error").unwrap_or((&text, ""));
            reason.to_lowercase()
        }
    }
}

#[cfg(test)]
mod tests;
