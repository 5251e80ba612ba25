//! Standard output and standard error, which nobody who reads them may use to hold kcup up (SPEC K-20).
//! Sibling: kcup-go/ops/stream.go.

use std::os::fd::AsFd;

use rustix::event::{poll, PollFd, PollFlags, Timespec};

/// A pipe that can be written to takes this much without blocking (PIPE_BUF).
pub const LONGEST_LINE: usize = 4096;

/// Writes a line, if that is possible at once. What a full stream cannot take, or a closed one, is lost.
pub fn offer(stream: &impl AsFd, line: &[u8]) {
    let mut ready = [PollFd::new(stream, PollFlags::OUT)];
    if poll(&mut ready, Some(&Timespec::default())) == Ok(1) {
        let _ = rustix::io::write(stream, &line[..line.len().min(LONGEST_LINE)]);
    }
}
