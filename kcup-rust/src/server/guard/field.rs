//! The parts of a head that the guard understands: the target's form, and the four fields that decide on framing.

use super::class::{CLASS, HOST};

/// The meaning of the fields read so far.
#[derive(Clone, Default)]
pub struct Fields {
    pub http10: bool,
    pub count: usize,
    pub host: bool,
    pub body: bool,
    length: bool,
    encoding: bool,
    close: bool,
    keep_alive: bool,
}

impl Fields {
    /// Takes in a field line; returns false if it is refused.
    pub fn take(&mut self, name: &[u8], value: &[u8]) -> bool {
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => self.take_host(value.trim_ascii()),
            10 if name.eq_ignore_ascii_case(b"connection") => self.take_connection(value),
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                self.take_content_length(value.trim_ascii())
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                self.take_transfer_encoding(value.trim_ascii())
            }
            _ => true,
        }
    }

    /// RFC 9112 section 9.3.
    pub fn keep_alive(&self) -> bool {
        !self.close && (self.keep_alive || !self.http10)
    }

    /// RFC 9112 section 3.2: exactly one in HTTP/1.1, and never a second.
    fn take_host(&mut self, value: &[u8]) -> bool {
        !std::mem::replace(&mut self.host, true) && (value.is_empty() || is_authority(value))
    }

    fn take_connection(&mut self, value: &[u8]) -> bool {
        for option in value.split(|byte| *byte == b',') {
            let option = option.trim_ascii();
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
        true
    }

    /// RFC 9112 section 6.3, item 5. 18 digits fit any integer that a parser may keep them in.
    fn take_content_length(&mut self, value: &[u8]) -> bool {
        self.body |= value.iter().any(|byte| *byte != b'0');
        !std::mem::replace(&mut self.length, true)
            && !self.encoding
            && (1..=18).contains(&value.len())
            && value.iter().all(u8::is_ascii_digit)
    }

    /// RFC 9112 section 6.1.
    fn take_transfer_encoding(&mut self, value: &[u8]) -> bool {
        self.body = true;
        !std::mem::replace(&mut self.encoding, true)
            && !self.length
            && !self.http10
            && value.eq_ignore_ascii_case(b"chunked")
    }
}

/// Whether a target is of a form that suits its method (RFC 9112 section 3.2).
pub fn is_target(method: &[u8], target: &[u8]) -> bool {
    if target[0] == b'/' {
        return true;
    }
    if target == b"*" {
        return method == b"OPTIONS";
    }
    let scheme = |scheme: &[u8]| {
        let (start, rest) = target.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    };
    let Some(rest) = scheme(b"http://").or_else(|| scheme(b"https://")) else {
        return false;
    };
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?'));
    let authority = &rest[..end.unwrap_or(rest.len())];
    is_authority(authority) && !authority.contains(&b'%')
}

/// `uri-host [ ":" port ]` (RFC 9110 section 7.2, RFC 3986 section 3.2.2), not empty and without user information.
fn is_authority(value: &[u8]) -> bool {
    let host_end = match value.first() {
        Some(b'[') => value.iter().position(|byte| *byte == b']').map(|end| end + 1),
        _ => value.iter().position(|byte| *byte == b':'),
    };
    let (host, port) = value.split_at(host_end.unwrap_or(value.len()));
    let is_host = match host {
        [b'[', address @ .., b']'] => {
            !address.is_empty()
                && address.iter().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'))
        }
        name => !name.is_empty() && name.iter().all(|byte| CLASS[*byte as usize] & HOST != 0),
    };
    let is_port = match port {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    is_host && is_port
}
