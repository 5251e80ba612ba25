//! Standard output and standard error, which nobody who reads them may use to hold kcup up (SPEC K-20).
//! Sibling: kcup-go/ops/stream.go.

use std::io::{stderr, stdout, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

use rustix::event::{poll, PollFd, PollFlags, Timespec};

/// A pipe that can be written to takes this much without blocking (PIPE_BUF).
pub const LONGEST_LINE: usize = 4096;

/// How long whoever reads standard error may pause before the end is not told to its end.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Writes a line, if that is possible at once. What a full stream cannot take, or a closed one, is lost.
pub fn offer(stream: &impl AsFd, line: &[u8]) {
    write_within(stream, line, Timespec::default());
}

fn write_within(stream: &impl AsFd, text: &[u8], patience: Timespec) {
    for piece in text.chunks(LONGEST_LINE) {
        let mut ready = [PollFd::new(stream, PollFlags::OUT)];
        if poll(&mut ready, Some(&patience)) != Ok(1) || rustix::io::write(stream, piece) != Ok(piece.len()) {
            return;
        }
    }
}

/// Says what came of a command: its text, or each line of what went wrong. The number is the exit status.
pub fn report(done: Result<(String, u8), (String, u8)>) -> ExitCode {
    let status = match done {
        Ok((text, status)) => {
            // A closed standard output changes nothing.
            let _ = stdout().write_all(text.as_bytes());
            status
        }
        Err((why, status)) => {
            let said: String = why.lines().map(|line| format!("kcup: {line}\n")).collect();
            write_within(&stderr(), said.as_bytes(), PATIENCE);
            status
        }
    };
    ExitCode::from(status)
}
