//! Reading a policy: its lines, and their keys and values (RFC 8461 section 3.2, K-94).

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The keys of RFC 8461; any other is an extension, which sending mail servers ignore.
pub const KEYS: [&str; 4] = ["version", "mode", "max_age", "mx"];

/// A line without its end.
pub struct Line<'a> {
    /// From 1.
    pub number: usize,
    /// The column of the first byte, from 1: more than that if a byte-order mark was removed.
    pub start: usize,
    pub bytes: &'a [u8],
    ended: bool,
}

/// The key and value of a line, with their places, from 0.
pub struct Pair<'a> {
    pub key: &'a [u8],
    pub colon: usize,
    pub value: &'a [u8],
    pub value_at: usize,
}

pub fn has_byte_order_mark(policy: &[u8]) -> bool {
    policy.starts_with(BYTE_ORDER_MARK)
}

pub fn lines(policy: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let pieces = policy.split_inclusive(|byte| *byte == b'\n');
    pieces.enumerate().map(|(index, piece)| {
        let bytes = match piece {
            [bytes @ .., b'\r', b'\n'] | [bytes @ .., b'\n'] | bytes => bytes,
        };
        let ended = bytes.len() < piece.len();
        let (start, bytes) = match bytes.strip_prefix(BYTE_ORDER_MARK) {
            Some(bytes) if index == 0 => (1 + BYTE_ORDER_MARK.len(), bytes),
            _ => (1, bytes),
        };
        Line { number: index + 1, start, bytes, ended }
    })
}

/// The line and column after the end, where anything missing would be.
pub fn end(policy: &[u8]) -> (usize, usize) {
    let ends = policy.iter().filter(|byte| **byte == b'\n').count();
    let last = policy.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    (ends + 1, last.len() + 1)
}

impl<'a> Line<'a> {
    /// The number of bytes that are served of it, with CRLF at its end.
    pub fn served(&self) -> usize {
        self.start - 1 + self.bytes.len() + if self.ended { 2 } else { 0 }
    }

    /// `None` for a comment, and for a line with a bare CR or without a colon. Blanks around key and value are removed, even
    /// those that are not allowed.
    pub fn pair(&self) -> Option<Pair<'a>> {
        if comment(self.bytes).is_some() || self.bytes.contains(&b'\r') {
            return None;
        }
        let colon = self.bytes.iter().position(|byte| *byte == b':')?;
        let (key, value) = (&self.bytes[..colon], &self.bytes[colon + 1..]);
        let blanks = value.iter().take_while(|byte| is_blank(**byte)).count();
        Some(Pair { key: trim(key), colon, value: trim(value), value_at: colon + 1 + blanks })
    }
}

/// The place of the `#` in a comment, from 0.
pub fn comment(line: &[u8]) -> Option<usize> {
    line.iter().position(|byte| !is_blank(*byte)).filter(|at| line[*at] == b'#')
}

/// RFC 5234 appendix B.1: WSP.
pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

/// The known key that `key` is or resembles: in another letter case, with hyphens, or one edit away.
pub fn near(key: &[u8]) -> Option<&'static str> {
    // No known key is longer.
    if key.len() > 8 {
        return None;
    }
    let plain = |byte: &u8| if *byte == b'-' { b'_' } else { byte.to_ascii_lowercase() };
    let key: Vec<u8> = key.iter().map(plain).collect();
    KEYS.into_iter().find(|known| within_one_edit(&key, known.as_bytes()))
}

/// Whether the Levenshtein distance is 0 or 1.
fn within_one_edit(a: &[u8], b: &[u8]) -> bool {
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let same = long.iter().zip(short).take_while(|(one, other)| one == other).count();
    match long.len() - short.len() {
        0 => same == long.len() || long[same + 1..] == short[same + 1..],
        1 => long[same + 1..] == short[same..],
        _ => false,
    }
}
