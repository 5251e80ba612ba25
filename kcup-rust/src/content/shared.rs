//! Bytes that the kernel can send without copying them: they are in a sealed file in memory (memfd_create(2)), mapped for
//! everything that reads them. See docs/adr/0006.

use std::fs::File;
use std::io::{self, Write};
use std::ops::{Deref, Range};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::ptr::null_mut;
use std::sync::Arc;

use bytes::Bytes;
use memmap2::MmapOptions;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

/// Immutable bytes, and the file in memory that holds them.
#[derive(Debug, Clone, Default)]
pub struct Shared {
    bytes: Bytes,
    file: Option<Arc<File>>,
    /// Their offset in the file.
    start: usize,
    /// The memory that the file takes in addition to them.
    padding: u64,
}

const HUGE: usize = 2 << 20;
/// A part of the file that has this many bytes is worth a huge page.
const WORTH: usize = 1_000_000;

impl Shared {
    /// The file, and the offset in it of `part`, a slice of these bytes.
    pub fn offset(&self, part: &[u8]) -> Option<(BorrowedFd<'_>, u64)> {
        let offset = self.start + part.as_ptr() as usize - self.bytes.as_ptr() as usize;
        self.file.as_ref().map(|file| (file.as_fd(), offset as u64))
    }

    /// A part of these bytes, in the same file.
    pub fn part(&self, range: Range<usize>) -> Shared {
        Shared {
            start: self.start + range.start,
            bytes: self.bytes.slice(range),
            file: self.file.clone(),
            padding: 0,
        }
    }

    /// The bytes of memory that it takes.
    pub fn size(&self) -> u64 {
        self.len() as u64 + self.padding
    }

    /// Moves the file into huge pages if it is worth them, taking at most `spare` bytes in addition meanwhile. Without huge
    /// pages everything works, but slower.
    pub fn collapse(&mut self, spare: u64) {
        let length = in_huge_pages(self.len());
        let needed = length.saturating_sub(self.len()) + HUGE;
        if let Some(file) = self.file.as_ref().filter(|_| length > 0 && needed as u64 <= spare) {
            collapse(file, length);
            let held = file.metadata().map_or(0, |metadata| metadata.blocks() * 512);
            self.padding = held.saturating_sub(self.len() as u64);
        }
    }
}

impl Deref for Shared {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

/// The length of the part of the file that goes into huge pages.
fn in_huge_pages(length: usize) -> usize {
    length.saturating_add(HUGE - WORTH) / HUGE * HUGE
}

/// Only mapped memory can be collapsed, and only at the boundary of a huge page. The pages outlive the mapping.
fn collapse(file: &File, length: usize) {
    use libc::{
        MAP_ANONYMOUS, MAP_FAILED, MAP_FIXED, MAP_PRIVATE, MAP_SHARED, PROT_NONE, PROT_READ, madvise, mmap,
        munmap,
    };
    // Since Linux 6.1; libc does not define it for musl.
    const MADV_COLLAPSE: libc::c_int = 25;
    // SAFETY: only the range reserved here is mapped over, and nothing reads it.
    unsafe {
        let reserved = mmap(null_mut(), length + HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if reserved == MAP_FAILED {
            return;
        }
        let start = reserved.byte_add(reserved.cast::<u8>().align_offset(HUGE));
        if mmap(start, length, PROT_READ, MAP_SHARED | MAP_FIXED, file.as_raw_fd(), 0) != MAP_FAILED {
            madvise(start, length, MADV_COLLAPSE);
        }
        munmap(reserved, length + HUGE);
    }
}

/// Bytes in the heap are copied when they are sent.
impl From<Bytes> for Shared {
    fn from(bytes: Bytes) -> Shared {
        Shared { bytes, ..Shared::default() }
    }
}

/// A file in memory that is being written, so that the content is never in memory twice.
pub struct Filling {
    file: File,
    pub length: u64,
}

impl Filling {
    /// Makes an empty file in memory.
    pub fn new() -> io::Result<Filling> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = match memfd_create("content", flags | MemfdFlags::NOEXEC_SEAL) {
            // Before Linux 6.3.
            Err(Errno::INVAL) => memfd_create("content", flags),
            file => file,
        }?;
        Ok(Filling { file: file.into(), length: 0 })
    }

    /// Seals the file: nobody can change or shorten it from here on, not even through /proc.
    pub fn finish(self) -> io::Result<Shared> {
        // An empty file cannot be mapped.
        if self.length == 0 {
            return Ok(Shared::default());
        }
        // The bytes after the content cost nothing until they are collapsed, and are never sent.
        let length = self.length as usize;
        let _ = self.file.set_len(length.max(in_huge_pages(length)) as u64);
        let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&self.file, seals)?;
        // SAFETY: sealed, the file cannot change under the mapping.
        let map = unsafe { MmapOptions::new().len(length).map(&self.file) }?;
        Ok(Shared { bytes: Bytes::from_owner(map), file: Some(Arc::new(self.file)), start: 0, padding: 0 })
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
