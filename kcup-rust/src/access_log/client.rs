//! The client that a request comes from, according to trusted proxies (K-128). Pure.
//!
//! Each field is read from its end, where the proxies have added what they saw: nothing before it, which a client may
//! have sent, can change how that is read.

use std::iter;
use std::net::{IpAddr, Ipv6Addr};

use super::Peer;
use crate::config::Proxies;
use crate::respond::trim;

/// The client of a request with this head: the connection's peer, unless that is a trusted proxy.
pub fn client(peer: Peer, head: &[u8], proxies: &Proxies) -> Peer {
    let is_trusted = match peer {
        Peer::Address(address) => proxies.contain(address),
        Peer::Unix => proxies.unix,
    };
    if !is_trusted {
        return peer;
    }
    let forwarded = named(peer, members(head, b"forwarded").map(forwarded_for), proxies);
    let x_forwarded_for = named(peer, members(head, b"x-forwarded-for").map(Some), proxies);
    match (forwarded, x_forwarded_for) {
        // One may be the proxy's and the other a client's (K-128c).
        (Some(one), Some(other)) if one != other => peer,
        (Some(client), _) | (None, Some(client)) => client,
        (None, None) => peer,
    }
}

/// The client that a list leads to (K-128a); `None` if it is empty.
fn named<'h>(peer: Peer, members: impl Iterator<Item = Option<&'h [u8]>>, proxies: &Proxies) -> Option<Peer> {
    let mut client = None;
    for member in members {
        let Some(address) = member.and_then(address) else {
            return client.or(Some(peer));
        };
        client = Some(Peer::Address(address));
        if !proxies.contain(address) {
            break;
        }
    }
    client
}

/// The members of all lines of a field, from the last to the first.
fn members<'h>(head: &'h [u8], name: &'static [u8]) -> impl Iterator<Item = &'h [u8]> {
    let lines = head.rsplit(|&byte| byte == b'\n').filter_map(|line| line.strip_suffix(b"\r"));
    let values = lines.filter_map(move |line| value_of(line, name, b':'));
    values.flat_map(|value| parts(value, b',')).filter(|member| !member.is_empty())
}

/// The value of a field line, or of a parameter, if it has this name.
fn value_of<'h>(text: &'h [u8], name: &[u8], separator: u8) -> Option<&'h [u8]> {
    let (start, rest) = text.split_at_checked(name.len())?;
    rest.strip_prefix(&[separator]).filter(|_| start.eq_ignore_ascii_case(name))
}

/// The parts of a text, from the last to the first. A separator between quotation marks does not count.
fn parts(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    iter::from_fn(move || {
        let text = rest?;
        let mut quoted = false;
        let end = (0..text.len()).rev().find(|&at| {
            if text[at] == b'"' {
                // Backwards, the first one without a backslash before it opens the quoted string.
                quoted = !quoted || at > 0 && text[at - 1] == b'\\';
            }
            text[at] == separator && !quoted
        });
        rest = end.map(|end| &text[..end]);
        Some(trim(&text[end.map_or(0, |end| end + 1)..]))
    })
}

/// The value of the only `for` of a member of `forwarded` (RFC 7239 section 4), without its quotation marks.
fn forwarded_for(member: &[u8]) -> Option<&[u8]> {
    let mut values = parts(member, b';').filter_map(|part| value_of(part, b"for", b'='));
    let value = values.next().filter(|_| values.next().is_none())?;
    Some(value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value))
}

/// The address in a node (K-128b).
fn address(node: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(node).ok()?;
    let (address, port) = match (text.strip_prefix('['), text.find(':')) {
        (Some(text), _) => {
            let (address, port) = text.split_once(']')?;
            (address.parse::<Ipv6Addr>().ok()?.into(), port)
        }
        (None, Some(colon)) if !text[colon + 1..].contains(':') => {
            (text[..colon].parse().ok()?, &text[colon..])
        }
        (None, _) => (text.parse::<IpAddr>().ok()?, ""),
    };
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(is_port_byte);
    (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then_some(address.to_canonical())
}

/// The characters of a port that is a number or obfuscated (RFC 7239 section 6).
fn is_port_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

#[cfg(test)]
mod tests;
