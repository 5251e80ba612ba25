//! `kcup healthcheck` (K-110). Sibling: kcup-go/ops/health.go.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use socket2::{SockAddr, Socket, Type};

use crate::config::{Host, Options};
use crate::content::reason;

const PATIENCE: Duration = Duration::from_secs(2);
/// `--header` can make a head long, but the kernel bounds what a command line holds.
const LONGEST_HEAD: u64 = 4 << 20;

/// Asks the server that `options` would make. An error says why it is not well.
pub fn check(options: &Options) -> Result<(), String> {
    let end = Instant::now() + PATIENCE;
    let asked = match ask(options, end) {
        Err(_) if Instant::now() >= end => Err(format!("no answer within {} seconds", PATIENCE.as_secs())),
        asked => asked,
    };
    asked.map_err(|why| format!("unhealthy: {why}"))
}

fn ask(options: &Options, end: Instant) -> Result<(), String> {
    let (name, connected) = connect(&options.host, options.port, end);
    let mut server = connected.map_err(|error| format!("cannot connect to {name}: {}", reason(&error)))?;
    let path = options.path.as_deref().unwrap_or("/");
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    let sent = server.socket.write_all(request.as_bytes());
    match sent.and_then(|()| status(&mut server)) {
        Ok(Some(200)) => Ok(()),
        Ok(Some(status)) => Err(format!("the answer is {status}")),
        Ok(None) | Err(_) => Err("no answer".into()),
    }
}

/// What the server is called, and a connection to it.
fn connect(host: &Host, port: u16, end: Instant) -> (String, io::Result<Until>) {
    let (address, name) = match host {
        Host::Ip(ip) => {
            let address = SocketAddr::new(reachable(*ip), port);
            (Ok(address.into()), address.to_string())
        }
        Host::Unix(path) => (SockAddr::unix(path), host.to_string()),
    };
    let connected = address.and_then(|address| {
        let socket = Socket::new(address.domain(), Type::STREAM, None)?;
        // Of connecting, too.
        socket.set_write_timeout(Some(PATIENCE))?;
        socket.connect(&address).map(|()| Until { socket, end })
    });
    (name, connected)
}

/// A connection that is read until a moment.
struct Until {
    socket: Socket,
    end: Instant,
}

impl Read for Until {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = self.end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            self.socket.set_read_timeout(Some(left))?;
            match self.socket.read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => (),
                read => return read,
            }
        }
    }
}

/// Where a server is that listens on `ip`: "any" is this host too.
fn reachable(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}

/// The status of an answer whose head comes whole; nothing when it does not, or is none.
fn status(from: impl Read) -> io::Result<Option<u16>> {
    let mut lines = BufReader::new(from.take(LONGEST_HEAD));
    let mut line = Vec::new();
    lines.read_until(b'\n', &mut line)?;
    let Some(status) = status_of(&line) else {
        return Ok(None);
    };
    while line != b"\r\n" && !line.is_empty() {
        line.clear();
        lines.read_until(b'\n', &mut line)?;
    }
    Ok((!line.is_empty()).then_some(status))
}

/// Of a status line (RFC 9112 section 4).
fn status_of(line: &[u8]) -> Option<u16> {
    let (version, rest) = line.split_at_checked(b"HTTP/1.1 ".len())?;
    let (code, behind) = rest.split_at_checked(3)?;
    let is_version = matches!(version, [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'0'..=b'9', b' ']);
    let is_code = code.iter().all(u8::is_ascii_digit) && matches!(behind, [b' ' | b'\r', ..]);
    std::str::from_utf8(code).ok().filter(|_| is_version && is_code)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_when_its_head_is_whole() {
        for (sent, want) in [
            ("HTTP/1.1 200 OK\r\n\r\n", Some(200)),
            ("HTTP/1.0 404 \r\na: b\r\n\r\nbody", Some(404)),
            ("HTTP/1.1 503\r\n\r\n", Some(503)),
            ("HTTP/1.1 200 OK\r\na: b\r\n", None),
            ("HTTP/1.1 200 OK\r\na: b\r\n\r", None),
            ("HTTP/1.1 200 OK", None),
            ("HTTP/1.1 2000 OK\r\n\r\n", None),
            ("HTTP/1.1 20 OK\r\n\r\n", None),
            ("HTTP/1.1 20\n", None),
            ("HTTP/2 200\r\n\r\n", None),
            ("SSH-2.0-OpenSSH\r\n\r\n", None),
            ("GET / HTTP/1.1\r\n\r\n", None),
            ("", None),
        ] {
            assert_eq!(status(sent.as_bytes()).unwrap(), want, "{sent:?}");
        }
    }

    #[test]
    fn an_address_for_any_is_asked_on_this_host() {
        for (host, asked) in [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("127.0.0.2", "127.0.0.2")] {
            assert_eq!(reachable(host.parse().unwrap()).to_string(), asked);
        }
    }
}
