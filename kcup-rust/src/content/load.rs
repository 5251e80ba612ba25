//! Reading the content, once and whole.

use std::time::SystemTime;

use bytes::Bytes;

use crate::config::Options;

/// Content as it was read.
#[derive(Debug)]
pub struct Loaded {
    pub bytes: Bytes,
    /// A regular file's modification time, else the time of loading.
    pub modified: SystemTime,
}

/// Reads the file or standard input to its end. Blocks, but not much longer than `stdin_read_timeout` where the source is not a
/// regular file.
///
/// An error is K-11's or K-12's line without `kcup: ` before it.
pub fn load(options: &Options) -> Result<Loaded, String> {
    let _ = options;
    todo!()
}
