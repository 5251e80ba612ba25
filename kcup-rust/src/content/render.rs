//! The heads of answers, rendered when the content is loaded: of each answer only what changes with the request or the
//! second is left to write. The order is SPEC K-40's. Sibling: kcup-go/content/render.go.

use std::ops::Range;

use super::calendar::{HttpDate, Moment};

/// Whole field lines of a head, with a `last-modified` among them.
#[derive(Debug)]
pub struct Block {
    bytes: Vec<u8>,
    date: Range<usize>,
}

impl Block {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What stands before and behind the value of `last-modified`.
    pub fn around_last_modified(&self) -> (&[u8], &[u8]) {
        (&self.bytes[..self.date.start], &self.bytes[self.date.end..])
    }
}

/// What the heads of all representations have in common.
pub struct Common {
    pub content_type: Vec<u8>,
    pub modified: i64,
    /// Whole field lines, which follow `accept-ranges`.
    pub vary_and_headers: Vec<u8>,
}

impl Common {
    /// A 200, up to `date`.
    pub fn ok(&self, length: usize, coding: Option<&str>, tag: &str) -> Block {
        let mut start = self.start("200 OK");
        line(&mut start, "content-length", length.to_string());
        if let Some(coding) = coding {
            line(&mut start, "content-encoding", coding);
        }
        self.block(start, tag, true)
    }

    /// A 304, up to `date`.
    pub fn not_modified(&self, tag: &str) -> Block {
        self.block(b"HTTP/1.1 304 Not Modified\r\n".to_vec(), tag, false)
    }

    /// A 206, up to `content-length`.
    pub fn part_start(&self) -> Vec<u8> {
        self.start("206 Partial Content")
    }

    /// A 206, from behind `content-range` up to `date`.
    pub fn part_rest(&self, tag: &str) -> Block {
        self.block(Vec::new(), tag, true)
    }

    fn start(&self, status: &str) -> Vec<u8> {
        let mut start = format!("HTTP/1.1 {status}\r\n").into_bytes();
        line(&mut start, "content-type", &self.content_type);
        start
    }

    fn block(&self, mut bytes: Vec<u8>, tag: &str, accepts_ranges: bool) -> Block {
        line(&mut bytes, "etag", tag);
        let modified = HttpDate(Moment::at(self.modified)).to_string();
        line(&mut bytes, "last-modified", &modified);
        let end = bytes.len() - b"\r\n".len();
        if accepts_ranges {
            line(&mut bytes, "accept-ranges", "bytes");
        }
        bytes.extend_from_slice(&self.vary_and_headers);
        Block { bytes, date: end - modified.len()..end }
    }
}

/// Writes a field line.
pub fn line(head: &mut Vec<u8>, name: &str, value: impl AsRef<[u8]>) {
    for part in [name.as_bytes(), b": ", value.as_ref(), b"\r\n"] {
        head.extend_from_slice(part);
    }
}
