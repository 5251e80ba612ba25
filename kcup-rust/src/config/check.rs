//! The checks of values, and the words for what is wrong with them (K-04, and the table of SPEC section 1). Pure.

use std::ffi::OsStr;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;

use hyper::header::{HeaderName, HeaderValue};

use super::value::{Host, Word};

/// The meaning of a value, or the words for what is wrong with it.
pub type Checked<T> = Result<T, String>;

/// unix(7): 108 bytes, of which the last is zero.
const LONGEST_UNIX_PATH: usize = 107;

/// The fields that `--header` must not set (K-44).
const OWN_FIELDS: [&str; 10] = [
    "content-type", "content-length", "transfer-encoding", "connection", "date", "etag", "last-modified",
    "content-range", "content-encoding", "accept-ranges",
];

/// Refuses an empty value.
pub fn filled(text: &[u8]) -> Checked<()> {
    match text {
        [] => Err("is empty".into()),
        _ => Ok(()),
    }
}

/// Reads a whole number.
pub fn whole(text: &str, accepted: RangeInclusive<u64>) -> Checked<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits && accepted.contains(&number) => Ok(number),
        _ => Err(format!("is not a whole number from {} to {}", accepted.start(), accepted.end())),
    }
}

/// Reads one of a few words.
pub fn one_of<T: Copy>(text: &str, words: &[(&str, T)]) -> Checked<T> {
    match words.iter().find(|(word, _)| *word == text) {
        Some((_, meaning)) => Ok(*meaning),
        None => {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            Err(format!("is not one of {}", words.join(", ")))
        }
    }
}

pub fn host(value: &[u8]) -> Checked<Host> {
    match value.strip_prefix(b"unix:") {
        Some(path) if path.len() > LONGEST_UNIX_PATH => Err("is too long for a unix socket".into()),
        Some(path) if !path.is_empty() => Ok(Host::Unix(OsStr::from_bytes(path).into())),
        _ => {
            let address = match value {
                b"localhost" => Some(Ipv4Addr::LOCALHOST.into()),
                _ => std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()),
            };
            address
                .map(Host::Ip)
                .ok_or_else(|| "is not an IPv4 or IPv6 address, localhost or unix:PATH".into())
        }
    }
}

/// `localhost` and nothing stand for addresses (K-17a). Refuses the number of an interface, which the library would take.
pub fn address_and_port(text: &str) -> Checked<SocketAddr> {
    let text = match (text.strip_prefix(':'), text.strip_prefix("localhost:")) {
        (Some(port), _) => &format!("[::]:{port}"),
        (_, Some(port)) => &format!("127.0.0.1:{port}"),
        _ => text,
    };
    let parsed = text.parse().ok().filter(|_| !text.contains('%'));
    parsed.ok_or_else(|| "is not ADDR:PORT, localhost:PORT or :PORT".into())
}

pub fn path(text: &str) -> Checked<String> {
    if !text.starts_with('/') {
        return Err("does not start with \"/\"".into());
    }
    match text.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#".contains(&byte)) {
        true => Ok(text.into()),
        false => Err("is not a path".into()),
    }
}

/// RFC 9110 section 8.3.1, with spaces alone as white space.
pub fn media_type(text: &str) -> Checked<HeaderValue> {
    HeaderValue::from_str(text)
        .ok()
        .filter(|_| text.bytes().all(|byte| matches!(byte, b' '..=b'~')) && is_media_type(text))
        .ok_or_else(|| "is not a media type".into())
}

fn is_media_type(text: &str) -> bool {
    let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
    let names = essence.trim_end_matches(' ').split_once('/');
    let mut parameters = parameters.trim_start_matches([' ', ';']);
    while !parameters.is_empty() {
        match after_parameter(parameters).map(|rest| rest.trim_start_matches(' ')) {
            Some(rest) if rest.is_empty() || rest.starts_with(';') => {
                parameters = rest.trim_start_matches([' ', ';']);
            }
            _ => return false,
        }
    }
    names.is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// The text after the `name=value` that `text` begins with.
fn after_parameter(text: &str) -> Option<&str> {
    let (_, value) = text.split_once('=').filter(|(name, _)| is_token(name))?;
    let Some(quoted) = value.strip_prefix('"') else {
        let (token, rest) = value.split_at(value.find([' ', ';']).unwrap_or(value.len()));
        return is_token(token).then_some(rest);
    };
    let mut escaped = false;
    let end = quoted.find(|char| {
        let ends = char == '"' && !escaped;
        escaped = char == '\\' && !escaped;
        ends
    })?;
    Some(&quoted[end + 1..])
}

pub fn field(text: &str) -> Checked<(HeaderName, HeaderValue)> {
    let parsed = text.split_once(':').and_then(|(name, value)| {
        let value = value.trim_matches([' ', '\t']);
        let printable = value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
        let name = HeaderName::from_bytes(name.as_bytes()).ok().filter(|_| is_token(name))?;
        Some((name, HeaderValue::from_str(value).ok().filter(|_| printable)?))
    });
    match parsed {
        Some((name, _)) if OWN_FIELDS.contains(&name.as_str()) => {
            Err("sets a field that kcup sets itself".into())
        }
        Some(field) => Ok(field),
        None => Err("is not \"Name: value\"".into()),
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token_byte)
}

/// RFC 9110 section 5.6.2: tchar.
pub const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

/// Reads the word of a value.
pub fn word<T: Word>(text: &str) -> Checked<T> {
    one_of(text, T::WORDS)
}

#[cfg(test)]
mod tests;
