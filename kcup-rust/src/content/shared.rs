//! Bytes that the kernel can send without copying them: they lie in a sealed file in memory (memfd_create(2)), which is
//! mapped for everything that reads them. See docs/adr/0006. Sibling: kcup-go/content/shared.go.

use std::fs::File;
use std::io::{self, Write};
use std::ops::{Deref, Range};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use bytes::Bytes;
use memmap2::Mmap;
use rustix::fs::{fcntl_add_seals, memfd_create, MemfdFlags, SealFlags};
use rustix::io::Errno;

/// Immutable bytes, and the file in memory that holds them.
#[derive(Debug, Clone, Default)]
pub struct Shared {
    bytes: Bytes,
    file: Option<Arc<File>>,
    /// Where they begin in it.
    start: usize,
}

impl Shared {
    /// Where `part`, a slice of these bytes, begins in the file.
    pub fn offset(&self, part: &[u8]) -> Option<(BorrowedFd<'_>, u64)> {
        let offset = self.start + part.as_ptr() as usize - self.bytes.as_ptr() as usize;
        self.file.as_ref().map(|file| (file.as_fd(), offset as u64))
    }

    pub fn part(&self, range: Range<usize>) -> Shared {
        Shared { start: self.start + range.start, bytes: self.bytes.slice(range), file: self.file.clone() }
    }
}

impl Deref for Shared {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

/// These bytes are copied when they are sent.
impl From<Bytes> for Shared {
    fn from(bytes: Bytes) -> Shared {
        Shared { bytes, ..Shared::default() }
    }
}

/// A file in memory that is being written, so that what is read lies nowhere else.
pub struct Filling {
    file: File,
    pub length: u64,
}

impl Filling {
    pub fn new() -> io::Result<Filling> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = match memfd_create("content", flags | MemfdFlags::NOEXEC_SEAL) {
            // Before Linux 6.3.
            Err(Errno::INVAL) => memfd_create("content", flags),
            file => file,
        }?;
        Ok(Filling { file: file.into(), length: 0 })
    }

    /// Nobody can change or shorten the file from here on, not even through /proc.
    pub fn seal(self) -> io::Result<Shared> {
        // Nothing cannot be mapped.
        if self.length == 0 {
            return Ok(Shared::default());
        }
        let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&self.file, seals)?;
        // SAFETY: sealed, the file cannot change under the mapping.
        let map = unsafe { Mmap::map(&self.file) }?;
        Ok(Shared { bytes: Bytes::from_owner(map), file: Some(Arc::new(self.file)), start: 0 })
    }
}

impl Write for Filling {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
