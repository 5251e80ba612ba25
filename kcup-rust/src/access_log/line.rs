//! The text of a line (K-125, K-126). Pure.

use std::fmt;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};

use crate::config::LineFormat;
use crate::respond::date;

/// The address of `kcup healthcheck` (K-125a): nobody outside this machine or container can have it.
pub const HEALTH_CHECK: Ipv4Addr = Ipv4Addr::new(127, 75, 67, 85);

/// A client, or the proxy in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    Address(IpAddr),
    /// At the other end of a unix socket.
    Unix,
}

impl Peer {
    pub fn is_health_check(&self) -> bool {
        matches!(self, Peer::Address(address) if address.to_canonical() == HEALTH_CHECK)
    }
}

/// An IPv4 address is written as one, also for a connection to `::`.
impl fmt::Display for Peer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Address(address) => address.to_canonical().fmt(out),
            Peer::Unix => out.write_str("unix:"),
        }
    }
}

/// The contents of one line.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    pub peer: Peer,
    /// The request's head, of which the first line is used; `None` if it was refused.
    pub head: Option<&'a [u8]>,
    pub status: u16,
    /// The length of the response's body.
    pub bytes: usize,
}

/// A quote and a backslash in a JSON string (RFC 8259 section 7).
pub const JSON: [&str; 2] = ["\\\"", "\\\\"];

/// The time as `format` writes it: the same text for all lines of one second.
pub fn stamp(format: LineFormat, unix: i64) -> String {
    match format {
        LineFormat::Common => date::common_log(unix),
        LineFormat::Json => date::rfc3339(unix),
    }
}

/// The line of K-15, with its line end: JSON before lines of JSON. `name` is where kcup listens.
pub fn greeting(format: Option<LineFormat>, name: &str, unix: i64) -> Vec<u8> {
    if format != Some(LineFormat::Json) {
        return format!("kcup listening on {name}\n").into_bytes();
    }
    let mut out = format!("{{\"time\":\"{}\",\"listening\":\"", date::rfc3339(unix)).into_bytes();
    escape(&mut out, name, JSON);
    out.extend_from_slice(b"\"}\n");
    out
}

/// Appends a line, with its line end. Allocates nothing but room in `out`.
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
                        escape(out, word, ["\\x22", "\\x5C"]);
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
                        escape(out, words[place], JSON);
                        out.push(b'"');
                    }
                }
            }
            writeln!(out, ",\"status\":{status},\"bytes\":{bytes}}}")
        }
    };
}

/// The method, target and version. The guard admits only visible ASCII in them, and one space between them.
fn request_line(head: &[u8]) -> Option<[&str; 3]> {
    let line = head.split(|&byte| byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.splitn(3, ' ');
    Some([words.next()?, words.next()?, words.next()?])
}

/// Appends `text` without what could forge the end of a field or line: `quote` and `backslash` stand for these, and a control
/// character is written as in JSON.
pub fn escape(out: &mut Vec<u8>, text: &str, [quote, backslash]: [&str; 2]) {
    let special = |char: char| matches!(char, '"' | '\\') || char.is_control();
    for run in text.split_inclusive(special) {
        let plain = run.strip_suffix(special).unwrap_or(run);
        out.extend_from_slice(plain.as_bytes());
        // Writing to a Vec does not fail.
        _ = match run[plain.len()..].chars().next() {
            None => Ok(()),
            Some('"') => out.write_all(quote.as_bytes()),
            Some('\\') => out.write_all(backslash.as_bytes()),
            Some(control) => write!(out, "\\u{:04x}", u32::from(control)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;

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
        for case in conformance::cases::<Case>("access_log") {
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
