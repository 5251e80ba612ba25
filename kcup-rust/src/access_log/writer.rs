//! Writing lines to standard output, however slowly it takes them.

use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// A pipe takes this many bytes whole or not at all (PIPE_BUF).
const LONGEST_LINE: usize = libc::PIPE_BUF;

/// A stream, and the bytes that must be written to it first.
pub struct Writer<S> {
    stream: S,
    /// The end of a line of which the stream took only a part.
    torn: Vec<u8>,
}

impl<S: AsFd> Writer<S> {
    pub fn new(stream: S) -> Writer<S> {
        Writer { stream, torn: Vec::new() }
    }

    /// Writes whole lines, as many at a time as a pipe takes whole, so that no half line is left in it if kcup ends.
    /// Returns how many lines were lost.
    pub fn write(&mut self, mut lines: &[u8]) -> u64 {
        let torn = std::mem::take(&mut self.torn);
        let mended = self.write_all(&torn);
        if mended < torn.len() {
            self.torn = torn[mended..].to_vec();
            return count(lines);
        }
        while !lines.is_empty() {
            let (piece, _) = lines.split_at(whole(lines));
            let written = self.write_all(piece);
            lines = &lines[written..];
            if written < piece.len() {
                if piece[..written].last().is_some_and(|&byte| byte != b'\n') {
                    let (rest, others) = lines.split_at(whole_line(lines));
                    self.torn = rest.to_vec();
                    lines = others;
                }
                return count(lines);
            }
        }
        0
    }

    /// Returns how many bytes were written before the stream failed.
    fn write_all(&self, bytes: &[u8]) -> usize {
        let mut written = 0;
        while written < bytes.len() {
            match rustix::io::write(&self.stream, &bytes[written..]) {
                Ok(more) => written += more,
                Err(Errno::INTR) => (),
                // Another process that has the stream open made it non-blocking.
                Err(Errno::AGAIN) => _ = poll(&mut [PollFd::new(&self.stream, PollFlags::OUT)], None),
                Err(_) => break,
            }
        }
        written
    }
}

/// The length of the lines that a pipe takes at once, or of one line if it is longer.
fn whole(lines: &[u8]) -> usize {
    let most = &lines[..lines.len().min(LONGEST_LINE)];
    match most.iter().rposition(|&byte| byte == b'\n') {
        Some(end) => end + 1,
        None => whole_line(lines),
    }
}

fn whole_line(lines: &[u8]) -> usize {
    lines.iter().position(|&byte| byte == b'\n').map_or(lines.len(), |end| end + 1)
}

pub fn count(lines: &[u8]) -> u64 {
    lines.iter().filter(|&&byte| byte == b'\n').count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, OpenOptions};
    use std::io::{Read, pipe};
    use std::thread;

    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use rustix::io::ioctl_fionread;

    /// Lines of many lengths, some longer than a pipe takes at once.
    fn lines(count: usize) -> Vec<u8> {
        let line = |n: usize| format!("{n} {}\n", "x".repeat(n * 37 % 9000));
        (0..count).map(line).collect::<String>().into_bytes()
    }

    #[test]
    fn all_lines_arrive_however_slowly_they_are_read() {
        let (mut reader, writer) = pipe().unwrap();
        let all = lines(200);
        let expected = all.clone();
        let writing = thread::spawn(move || Writer::new(writer).write(&all));
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert!(read == expected && writing.join().unwrap() == 0);
    }

    #[test]
    fn where_nobody_reads_every_line_is_lost() {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let mut writer = Writer::new(writer);
        assert_eq!((writer.write(&lines(200)), writer.write(b"a\nb\n")), (200, 2));
        assert_eq!(Writer::new(File::options().write(true).open("/dev/full").unwrap()).write(b"a\nb\n"), 2);
    }

    #[test]
    fn a_line_that_was_torn_is_mended_before_the_next() {
        let path = std::env::temp_dir().join(format!("kcup-writer-{}", std::process::id()));
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let mut options = OpenOptions::new();
        let reader = options.read(true).write(true).open(&path).unwrap();
        let mut writer = Writer::new(File::options().write(true).open(&path).unwrap());
        let long = format!("{}\n", "x".repeat(100_000));
        let lines = format!("{long}lost\nlost\n").into_bytes();
        let writing = thread::spawn(move || (writer.write(&lines), writer));
        while ioctl_fionread(&reader).unwrap() == 0 {
            thread::yield_now();
        }
        // Nobody reads now. What the FIFO has taken it keeps as long as we write.
        drop(reader);
        let (lost, mut writer) = writing.join().unwrap();
        let mut reader = File::open(&path).unwrap();
        let writing = thread::spawn(move || writer.write(b"next\n"));
        let mut read = String::new();
        reader.read_to_string(&mut read).unwrap();
        assert_eq!((lost, writing.join().unwrap()), (2, 0));
        assert!(read == format!("{long}next\n"), "{} bytes", read.len());
        std::fs::remove_file(path).unwrap();
    }
}
