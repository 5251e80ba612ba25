//! Reading the content whole, and the words for what can go wrong with it (K-11, K-12, K-101). Sibling: kcup-go/content/load.go.

mod file;

use std::fs::File;
use std::future::Future;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use tokio::sync::oneshot;

use super::{digest, policy, reason, Content, Digest, Settings, Shared, COMPRESSED};
use crate::config::{quoted, Compression, Options, Preset};

/// Content as it was read.
#[derive(Debug)]
pub struct Source {
    /// Never empty.
    pub bytes: Shared,
    pub digest: Digest,
    /// A regular file's modification time if that is past, else the time of loading.
    modified: SystemTime,
    /// Whether it can be read only once: it is not of a regular file that was named.
    once: bool,
    /// Whether there is no room to make variants.
    plain: bool,
}

/// Says whether there is memory for so many bytes more (K-104).
pub type Room<'a> = &'a dyn Fn(u64) -> bool;

impl Source {
    fn new((bytes, plain): (Shared, bool), modified: Option<SystemTime>) -> Result<Source, String> {
        if bytes.is_empty() {
            return Err(EMPTY.into());
        }
        let now = SystemTime::now();
        let (time, once) = (modified.map_or(now, |modified| modified.min(now)), modified.is_none());
        Ok(Source { digest: digest(&bytes), bytes, modified: time, once, plain })
    }
}

const EMPTY: &str = "it is empty";
pub(super) const NO_MEMORY: &str = "there is not enough memory for it";

/// Loads; nothing when `stop` is ready first (K-13).
pub async fn load_unless(
    stop: impl Future<Output = ()>,
    options: &Arc<Options>,
    room: impl Fn(u64) -> bool + Send + 'static,
) -> Result<Option<Content>, String> {
    let options = options.clone();
    tokio::select! {
        loaded = apart(move || load(&options, &room)) => loaded.map(Some),
        () = stop => Ok(None),
    }
}

/// Does what blocks on a thread of its own, which has ended when there is a result: a thread that stays would stay outside
/// the sandbox.
pub async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let (running, ended) = oneshot::channel::<()>();
    let thread = thread::Builder::new().name("loader".into()).spawn(move || {
        let _running = running;
        work()
    });
    let thread = thread.map_err(|error| format!("cannot start a thread: {}", worded(&error)))?;
    // Nothing is ever sent.
    let _ = ended.await;
    thread.join().expect("loading does not panic")
}

/// Reads the content, and makes of it what is served. Blocks as `read` does.
///
/// An error is the line, or are the lines, of K-11, K-12 or K-92 without `kcup: ` before them.
pub fn load(options: &Options, room: Room) -> Result<Content, String> {
    make(read(options, enough(options), room)?, options)
}

/// How many bytes of the file are looked at: of a policy that is too long no more than shows that it is.
fn enough(options: &Options) -> u64 {
    match options.preset {
        None => u64::MAX,
        Some(Preset::MtaSts) => policy::ENOUGH,
    }
}

/// Makes what is served of what was read. An error has a line for each finding (K-92).
pub fn make(source: Source, options: &Options) -> Result<Content, String> {
    let Source { bytes, digest, modified, once, plain } = source;
    let settings = Settings { plain, ..Settings::from(options) };
    let content = match options.preset {
        None => Content::with_digest(bytes, digest, modified, &settings),
        Some(Preset::MtaSts) => Content::new(policy::publish(&bytes, &origin(options))?, modified, &settings),
    };
    Ok(Content { read: digest, once, ..content })
}

/// Reads the file or standard input to its end, or until there is `enough` of it. Blocks, but no longer than
/// `stdin_read_timeout` where the source is not a regular file.
///
/// An error is K-11's or K-12's line without `kcup: ` before it.
pub(super) fn read(options: &Options, enough: u64, room: Room) -> Result<Source, String> {
    read_whole(options, enough, room).map_err(|reason| unreadable(options, &reason))
}

fn read_whole(options: &Options, enough: u64, room: Room) -> Result<Source, String> {
    let Some(path) = &options.file else {
        let stdin = io::stdin().as_fd().try_clone_to_owned().map_err(|error| worded(&error))?;
        return Source::new(file::stream(&File::from(stdin), options, enough, room)?, None);
    };
    let metadata = path.metadata().map_err(|error| worded(&error))?;
    if metadata.is_dir() || metadata.is_file() {
        return regular(path, options, enough, room);
    }
    let fifo = file::open(path).map_err(|error| worded(&error))?;
    Source::new(file::stream(&fifo, options, enough, room)?, None)
}

/// What the file takes, and what its variants do besides, as far as is known before it is read.
pub fn needs(options: &Options) -> (u64, u64) {
    let metadata = options.file.as_ref().and_then(|path| path.metadata().ok());
    let size = metadata.map_or(0, |metadata| metadata.len()).min(enough(options));
    // Files of /proc say 0.
    (size.max(file::BUFFER as u64), for_variants(size, options))
}

/// Reads the file once more, for a reload (K-101). `once` is whether that is in vain; `room` is how many bytes of memory
/// can be had (K-104).
pub fn again(options: &Options, once: bool, room: u64) -> Result<Source, String> {
    let has_room = |bytes| bytes <= room;
    let source = named(options, once).and_then(|path| regular(path, options, enough(options), &has_room));
    source.map_err(|reason| unreadable(options, &reason))
}

/// The digest of what [`again`] would read, which takes no memory.
pub fn look(options: &Options, once: bool) -> Result<Digest, String> {
    let digest = named(options, once).and_then(|path| {
        let most = options.max_content_bytes;
        let (digest, _) =
            file::steady(path, |file, size| file::digest(file.take(enough(options)), size, most))?;
        digest.ok_or_else(|| EMPTY.into())
    });
    digest.map_err(|reason| unreadable(options, &reason))
}

fn named(options: &Options, once: bool) -> Result<&Path, String> {
    options.file.as_deref().filter(|_| !once).ok_or_else(|| "it can be read only once".into())
}

fn regular(path: &Path, options: &Options, enough: u64, room: Room) -> Result<Source, String> {
    let read = |file: &mut file::Regular, size| file::read_all(file, size, options, enough, room, || Ok(()));
    let (bytes, modified) = file::steady(path, read)?;
    Source::new(bytes, Some(modified))
}

/// What variants take, and what making them does, if content of this size may have any: both compressors together were
/// seen to take 2 MB, and 4 times what they compress.
fn for_variants(bytes: u64, options: &Options) -> u64 {
    match options.compression == Compression::Auto && COMPRESSED.contains(&(bytes as usize)) {
        true => (2 << 20) + (2 + 4) * bytes,
        false => 0,
    }
}

fn unreadable(options: &Options, reason: &str) -> String {
    format!("cannot read content from {}: {reason}", origin(options))
}

/// Where content comes from, as errors call it.
pub(super) fn origin(options: &Options) -> String {
    match &options.file {
        Some(file) => quoted(file.as_os_str().as_bytes()),
        None => "standard input".into(),
    }
}

fn worded(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::IsADirectory => {
            "it is a directory (Docker creates one when the source of a mount is missing)".into()
        }
        io::ErrorKind::OutOfMemory | io::ErrorKind::StorageFull => NO_MEMORY.into(),
        _ => reason(error),
    }
}

#[cfg(test)]
mod tests;
