//! The text of a line (SPEC K-125, K-126). Pure; a part of access_log.rs.

use std::fmt;
use std::io::Write;
use std::net::IpAddr;

use crate::config::LineFormat;
use crate::content::calendar::{LogTime, Moment, Timestamp};

/// Who was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    Address(IpAddr),
    /// Behind a unix socket.
    Unix,
}

/// An IPv4 address stands for itself also where it came to `::`.
impl fmt::Display for Peer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Address(address) => address.to_canonical().fmt(out),
            Peer::Unix => out.write_str("unix:"),
        }
    }
}

/// What one line tells.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    pub peer: Peer,
    /// The request's head, of which the first line is used; nothing when it was refused.
    pub head: Option<&'a [u8]>,
    pub status: u16,
    /// Of the answer's body.
    pub bytes: usize,
}

/// A second as a format writes it: the same text for all lines of that second.
pub fn stamp(format: LineFormat, unix: i64) -> String {
    match format {
        LineFormat::Common => LogTime(Moment::at(unix)).to_string(),
        LineFormat::Json => Timestamp(Moment::at(unix)).to_string(),
    }
}

/// Appends the line and its end. Allocates nothing but room in `out`.
pub fn append(out: &mut Vec<u8>, format: LineFormat, stamp: &str, entry: &Entry) {
    let request = entry.head.and_then(request_line);
    let Entry { peer, status, bytes, .. } = entry;
    // Writing to a Vec does not fail.
    _ = match format {
        LineFormat::Common => {
            _ = write!(out, "{peer} - - [{stamp}] \"");
            match request {
                None => out.push(b'-'),
                Some(words) => {
                    for (word, end) in words.iter().zip([" ", " ", ""]) {
                        escape(out, word, |byte| if byte == b'"' { b"\\x22" } else { b"\\x5C" });
                        out.extend_from_slice(end.as_bytes());
                    }
                }
            }
            writeln!(out, "\" {status} {bytes}")
        }
        LineFormat::Json => {
            _ = write!(out, "{{\"time\":\"{stamp}\",\"peer\":\"{peer}\"");
            for (place, name) in ["method", "target", "version"].iter().enumerate() {
                _ = write!(out, ",\"{name}\":");
                match request {
                    None => out.extend_from_slice(b"null"),
                    Some(words) => {
                        out.push(b'"');
                        escape(out, words[place], |byte| if byte == b'"' { b"\\\"" } else { b"\\\\" });
                        out.push(b'"');
                    }
                }
            }
            writeln!(out, ",\"status\":{status},\"bytes\":{bytes}}}")
        }
    };
}

/// Method, target and version. The guard lets no other byte than visible ASCII into them, and only these two spaces.
fn request_line(head: &[u8]) -> Option<[&[u8]; 3]> {
    let line = head.split(|&byte| byte == b'\r').next()?;
    let mut words = line.splitn(3, |&byte| byte == b' ');
    Some([words.next()?, words.next()?, words.next()?])
}

/// The two bytes that could end what they stand in, or seem to, are written in another way.
fn escape(out: &mut Vec<u8>, text: &[u8], otherwise: fn(u8) -> &'static [u8]) {
    for run in text.split_inclusive(|byte| matches!(byte, b'"' | b'\\')) {
        match run {
            [plain @ .., byte @ (b'"' | b'\\')] => {
                out.extend_from_slice(plain);
                out.extend_from_slice(otherwise(*byte));
            }
            plain => out.extend_from_slice(plain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Vectors {
        case: Vec<Case>,
    }

    #[derive(serde::Deserialize)]
    struct Case {
        name: String,
        time: i64,
        peer: String,
        request: Option<String>,
        status: u16,
        bytes: usize,
        common: String,
        json: String,
    }

    #[test]
    fn lines_are_those_of_the_vectors() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance/vectors/access_log.toml");
        let cases = toml::from_str::<Vectors>(&std::fs::read_to_string(path).unwrap()).unwrap().case;
        assert!(!cases.is_empty());
        for case in cases {
            let head = case.request.map(|line| format!("{line}\r\nhost: a\r\n\r\n").into_bytes());
            let entry = Entry {
                peer: if case.peer == "unix:" {
                    Peer::Unix
                } else {
                    Peer::Address(case.peer.parse().unwrap())
                },
                head: head.as_deref(),
                status: case.status,
                bytes: case.bytes,
            };
            for (format, want) in [(LineFormat::Common, &case.common), (LineFormat::Json, &case.json)] {
                let mut line = Vec::new();
                append(&mut line, format, &stamp(format, case.time), &entry);
                assert_eq!(String::from_utf8(line).unwrap(), format!("{want}\n"), "{}", case.name);
            }
        }
    }
}
