//! What is accepted as a value, and the words for what is not (K-04, and the table of SPEC section 1). Pure.

mod word;

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;

use hyper::header::{HeaderName, HeaderValue};

use super::Host;

pub use word::{word, Compression, LineFormat, LogFormat, Sandbox, Word};

/// A value's meaning, or what is wrong with it.
pub type Checked<T> = Result<T, String>;

/// unix(7): 108 bytes, of which the last is zero.
const LONGEST_UNIX_PATH: usize = 107;

/// The fields that `--header` must not set (K-44).
const OWN_FIELDS: [&str; 10] = [
    "content-type",
    "content-length",
    "transfer-encoding",
    "connection",
    "date",
    "etag",
    "last-modified",
    "content-range",
    "content-encoding",
    "accept-ranges",
];

pub fn filled(text: &[u8]) -> Checked<()> {
    match text {
        [] => Err("is empty".into()),
        _ => Ok(()),
    }
}

pub fn whole(text: &str, accepted: RangeInclusive<u64>) -> Checked<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits && accepted.contains(&number) => Ok(number),
        _ => Err(format!("is not a whole number from {} to {}", accepted.start(), accepted.end())),
    }
}

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
            let address = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            address.map(Host::Ip).ok_or_else(|| "is not an IPv4 or IPv6 address or unix:PATH".into())
        }
    }
}

/// Without the number of an interface, which the library would take.
pub fn address_and_port(text: &str) -> Checked<SocketAddr> {
    let parsed = text.parse().ok().filter(|_| !text.contains('%'));
    parsed.ok_or_else(|| "is not ADDR:PORT".into())
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
    let (full, mut rest) = text.split_at(text.find(';').unwrap_or(text.len()));
    let Some((kind, subtype)) = full.trim_end_matches(' ').split_once('/') else {
        return false;
    };
    if !is_token(kind) || !is_token(subtype) {
        return false;
    }
    while let Some(parameter) = rest.strip_prefix(';') {
        let parameter = parameter.trim_start_matches(' ');
        // A parameter may be empty.
        rest = match parameter {
            "" => "",
            _ if parameter.starts_with(';') => parameter,
            _ => match after_parameter(parameter) {
                Some(rest) => rest.trim_start_matches(' '),
                None => return false,
            },
        };
    }
    rest.is_empty()
}

/// What follows the `name=value` that `text` begins with.
fn after_parameter(text: &str) -> Option<&str> {
    let (name, value) = text.split_once('=')?;
    if !is_token(name) {
        return None;
    }
    if let Some(quoted) = value.strip_prefix('"') {
        let mut bytes = quoted.bytes().enumerate();
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'"' => return Some(&quoted[at + 1..]),
                b'\\' => _ = bytes.next(),
                _ => {}
            }
        }
        return None;
    }
    let (token, rest) = value.split_at(value.find([' ', ';']).unwrap_or(value.len()));
    is_token(token).then_some(rest)
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

/// RFC 9110 section 5.6.2.
fn is_token(text: &str) -> bool {
    let is_tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_tchar)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_are_those_of_the_rfc() {
        for good in
            ["text/html", "text/html;charset=utf-8", "a/b ; c=\"d; \\\"e\" ;f=g", "a/b;", "a/b;;c=d", "a/b "]
        {
            assert!(media_type(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "/",
            "a/",
            "/b",
            "a",
            " a/b",
            "a/b c",
            "a/b;c",
            "a/b;c=",
            "a/b;c=\"d",
            "a/b;c=\"d\"e",
            "a/b;c=é",
            "a/b/c",
            "a/b;\tc=d",
            "a/b;c =d",
        ] {
            assert!(media_type(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_address_has_its_port() {
        for good in ["127.0.0.1:0", "0.0.0.0:65535", "[::1]:9090", "[::ffff:1.2.3.4]:080"] {
            assert!(address_and_port(good).is_ok(), "{good}");
        }
        for bad in
            ["", ":80", "::1:80", "[::1]", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:+1"]
        {
            assert!(address_and_port(bad).is_err(), "{bad}");
        }
        for bad in ["localhost:80", "[fe80::1%1]:80", "[127.0.0.1]:80", " 127.0.0.1:80", "unix:/x:80"] {
            assert!(address_and_port(bad).is_err(), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_value_panics(text in "\\PC*|[a-z/;=\" \\\\,:-]*") {
            let _ = (media_type(&text), field(&text), path(&text));
                }
    }
}
