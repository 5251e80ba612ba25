//! Bytes that the kernel can send without copying them: they lie in a sealed file in memory (memfd_create(2)), which is
//! mapped for everything that reads them. See docs/adr/0005. Sibling: kcup-go/content/shared.go.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use bytes::Bytes;
use memmap2::Mmap;
use rustix::fs::{fcntl_add_seals, memfd_create, MemfdFlags, SealFlags};

/// Immutable bytes, and the file in memory that holds them.
#[derive(Debug, Clone)]
pub struct Shared {
    bytes: Bytes,
    file: Option<Arc<File>>,
}

impl Shared {
    /// Moves `bytes` into a file in memory; where there cannot be one they stay where they are, and are copied when sent.
    pub fn new(bytes: Bytes) -> Shared {
        sealed(&bytes).unwrap_or_else(|error| {
            log::debug!("no file in memory for the content: {error}");
            Shared { bytes, file: None }
        })
    }

    /// Where `part`, a slice of these bytes, begins in the file.
    pub fn offset(&self, part: &[u8]) -> Option<(BorrowedFd<'_>, u64)> {
        let offset = part.as_ptr() as usize - self.bytes.as_ptr() as usize;
        self.file.as_ref().map(|file| (file.as_fd(), offset as u64))
    }
}

impl Deref for Shared {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

fn sealed(bytes: &[u8]) -> io::Result<Shared> {
    let mut file = File::from(memfd_create("content", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    file.write_all(bytes)?;
    // Nobody can change or shorten it from here on, not even through /proc.
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    // SAFETY: the file cannot change under the mapping.
    let map = unsafe { Mmap::map(&file) }?;
    Ok(Shared { bytes: Bytes::from_owner(map), file: Some(Arc::new(file)) })
}
