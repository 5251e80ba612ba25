//! Standard output and standard error, whose readers must not be able to delay kcup (K-20).

use std::io::{Write, stderr, stdout};
use std::os::fd::AsFd;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long a reader of standard error may pause before the rest of an error is dropped.
const TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Writes a line if that is possible at once. If the stream is full or closed, the line is lost.
pub fn offer(stream: &impl AsFd, line: &[u8]) {
    write_within(stream, line, Timespec::default());
}

fn write_within(stream: &impl AsFd, text: &[u8], timeout: Timespec) {
    for piece in text.chunks(libc::PIPE_BUF) {
        // A pipe that is ready takes this much without blocking.
        let mut ready = [PollFd::new(stream, PollFlags::OUT)];
        if poll(&mut ready, Some(&timeout)) != Ok(1) || rustix::io::write(stream, piece) != Ok(piece.len()) {
            return;
        }
    }
}

/// Tells the person at a terminal what to do.
pub fn prompt(text: &str) {
    offer(&stderr(), format!("kcup: {text}\n").as_bytes());
}

/// Prints the result of a command: its text, or its error, after which findings may follow (K-92). The number is the exit status.
pub fn report(done: Result<(String, u8), (String, u8)>) -> ExitCode {
    let status = match done {
        Ok((text, status)) => {
            // A closed standard output changes nothing.
            let _ = stdout().write_all(text.as_bytes());
            status
        }
        Err((why, status)) => {
            write_within(&stderr(), format!("kcup: {why}\n").as_bytes(), TIMEOUT);
            status
        }
    };
    ExitCode::from(status)
}
