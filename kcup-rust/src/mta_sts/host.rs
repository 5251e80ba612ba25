//! Names of hosts and domains, and the values of `mx` (RFC 8461 sections 3.2 and 4.1).

use super::rules::Rule;

/// A name is at most 255 bytes on the wire, which is 253 in writing (RFC 1035 section 2.3.4).
const MAX_NAME: usize = 253;

/// The rule that the value of an `mx`, which is not empty, breaks.
pub(super) fn fault(host: &[u8]) -> Option<Rule> {
    let name = host.strip_prefix(b"*.").unwrap_or(host);
    let has = |wanted: &[u8]| host.iter().any(|byte| wanted.contains(byte));
    if !host.is_ascii() {
        Some(Rule::MxNonAscii)
    } else if has_priority(host) {
        Some(Rule::MxPriority)
    } else if has(b" \t,;") {
        Some(Rule::MxSeveral)
    } else if is_address(host) {
        Some(Rule::MxAddress)
    } else if has(b":") {
        Some(Rule::MxPort)
    } else if host.ends_with(b".") {
        Some(Rule::MxTrailingDot)
    } else if name.contains(&b'*') {
        Some(Rule::MxWildcard)
    } else if !is_name(name) {
        Some(Rule::MxHost)
    } else if !has(b".") {
        Some(Rule::MxOneLabel)
    } else {
        None
    }
}

/// As in the zone file's MX record: digits, white space and more.
fn has_priority(host: &[u8]) -> bool {
    let digits = host.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && matches!(host[digits..], [b' ' | b'\t', _, ..])
}

/// Words for what is wrong with a host for a new policy; they follow its value.
pub fn wrong_with(host: &str) -> Option<&'static str> {
    match fault(host.as_bytes()) {
        _ if host.is_empty() => Some("is empty"),
        None | Some(Rule::MxOneLabel) => None,
        Some(rule) => rule.row().message.strip_prefix("\"mx\" "),
    }
}

/// The domain to publish a record for, without the dot at its end; `None` if it is none, or too long with `_mta-sts.` before it.
pub fn domain(text: &str) -> Option<&str> {
    let name = text.strip_suffix('.').unwrap_or(text);
    (is_name(name.as_bytes()) && name.len() + "_mta-sts.".len() <= MAX_NAME).then_some(name)
}

/// An address with or without brackets and port.
fn is_address(host: &[u8]) -> bool {
    let digits_and_dots = host.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    host.starts_with(b"[")
        || host.iter().filter(|byte| **byte == b':').count() > 1
        || digits_and_dots && host.iter().any(u8::is_ascii_digit)
}

/// RFC 5321 section 4.1.2: Domain.
fn is_name(name: &[u8]) -> bool {
    name.len() <= MAX_NAME && name.split(|byte| *byte == b'.').all(is_label)
}

fn is_label(label: &[u8]) -> bool {
    (1..=63).contains(&label.len())
        && label.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
        && !label.starts_with(b"-")
        && !label.ends_with(b"-")
}
