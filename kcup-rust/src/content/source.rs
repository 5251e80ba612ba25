//! Reading the content whole: at the start, and again for a reload (K-11, K-12, K-101).

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::SystemTime;

use super::compress::memory_for_variants;
use super::file::{self, HasMemory};
use super::shared::Shared;
use super::{Digest, digest, reason};
use crate::config::{Options, Preset};
use crate::mta_sts;

/// Content as it was read.
#[derive(Debug)]
pub struct Source {
    /// Never empty.
    pub bytes: Shared,
    pub digest: Digest,
    /// A regular file's modification time if that is past, otherwise the time of loading.
    pub modified: SystemTime,
    /// Whether it can be read only once: it is not of a regular file that was named.
    pub one_shot: bool,
    /// Whether there is no memory for variants.
    pub plain: bool,
}

/// A policy is read up to one byte more than it may have.
pub const ENOUGH_OF_A_POLICY: u64 = mta_sts::MAX_SIZE as u64 + 1;

impl Source {
    /// `modified` is the time of a regular file that was named. Fails if there are no bytes.
    pub fn new(bytes: impl Into<Shared>, modified: Option<SystemTime>) -> io::Result<Source> {
        let (bytes, now) = (bytes.into(), SystemTime::now());
        if bytes.is_empty() {
            return Err(empty());
        }
        Ok(Source {
            digest: digest(&bytes),
            bytes,
            modified: modified.map_or(now, |modified| modified.min(now)),
            one_shot: modified.is_none(),
            plain: false,
        })
    }
}

pub const EMPTY: &str = "it is empty";

fn empty() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, EMPTY)
}

/// Whether the content is that of standard input.
fn is_piped(options: &Options) -> bool {
    options.file.is_none() && options.text.is_none()
}

/// What to tell somebody who may not know that kcup waits for what is typed (K-12a).
pub fn prompt(options: &Options) -> Option<&'static str> {
    (is_piped(options) && io::stdin().is_terminal())
        .then_some("reading standard input, a terminal: end it with Ctrl-D on a line of its own")
}

/// The number of bytes that are read of the file.
pub fn enough(options: &Options) -> u64 {
    match options.preset {
        None => u64::MAX,
        Some(Preset::MtaSts) => ENOUGH_OF_A_POLICY,
    }
}

/// Reads the file or standard input to its end, or until there is `enough` of it. Blocks, but no longer than
/// `stdin_read_timeout` if the source is not a regular file.
///
/// An error is the line of K-11 or K-12 without `kcup: ` before it.
pub fn read(options: &Options, enough: u64, has_memory: HasMemory) -> Result<Source, String> {
    let read = || {
        let stream = |file: File| {
            let (bytes, plain) = file::stream(&file, options, enough, has_memory)?;
            Ok(Source { plain, ..Source::new(bytes, None)? })
        };
        if let Some(text) = &options.text {
            let (bytes, plain) =
                file::read_all(text.as_ref(), text.len() as u64, options, enough, has_memory, || Ok(()))?;
            return Ok(Source { plain, ..Source::new(bytes, None)? });
        }
        match &options.file {
            None => stream(io::stdin().as_fd().try_clone_to_owned()?.into()),
            Some(path) => match path.metadata()? {
                named if named.is_dir() || named.is_file() => regular(path, options, enough, has_memory),
                _ => stream(file::open(path)?),
            },
        }
    };
    read().map_err(|error| unreadable(options, &error))
}

/// The memory that the file needs, and that its variants need too, as far as is known before it is read.
pub fn needs(options: &Options) -> (u64, u64) {
    let metadata = options.file.as_ref().and_then(|path| path.metadata().ok());
    let size = metadata.map_or(0, |metadata| metadata.len()).min(enough(options));
    // Files of /proc say 0.
    (size.max(file::BUFFER as u64), memory_for_variants(size, options))
}

/// Reads the file once more, for a reload (K-101). `memory` is how many bytes can be had (K-104).
pub fn again(options: &Options, one_shot: bool, memory: u64) -> Result<Source, String> {
    let has_memory = |bytes| bytes <= memory;
    let source =
        named(options, one_shot).and_then(|path| regular(path, options, enough(options), &has_memory));
    source.map_err(|error| unreadable(options, &error))
}

/// The digest of the bytes that [`again`] would read. Takes no memory.
pub fn look(options: &Options, one_shot: bool) -> Result<Digest, String> {
    let digest = named(options, one_shot).and_then(|path| {
        let most = options.max_content_bytes;
        let read = |file: &mut file::Regular, size| file::digest(file.take(enough(options)), size, most);
        file::steady(path, read)?.0.ok_or_else(empty)
    });
    digest.map_err(|error| unreadable(options, &error))
}

fn named(options: &Options, one_shot: bool) -> io::Result<&Path> {
    let path = options.file.as_deref().filter(|_| !one_shot);
    path.ok_or_else(|| io::Error::other("it can be read only once"))
}

fn regular(path: &Path, options: &Options, enough: u64, has_memory: HasMemory) -> io::Result<Source> {
    let read =
        |file: &mut file::Regular, size| file::read_all(file, size, options, enough, has_memory, || Ok(()));
    let ((bytes, plain), modified) = file::steady(path, read)?;
    Ok(Source { plain, ..Source::new(bytes, Some(modified))? })
}

fn unreadable(options: &Options, error: &io::Error) -> String {
    let reason = match error.kind() {
        // A file in memory says that storage is full.
        ErrorKind::OutOfMemory | ErrorKind::StorageFull => "there is not enough memory for it".into(),
        ErrorKind::UnexpectedEof if is_piped(options) => {
            format!("{EMPTY} (a container gets it with docker run -i)")
        }
        _ => reason(error),
    };
    format!("cannot read content from {}: {reason}", options.origin())
}

#[cfg(test)]
mod tests;
