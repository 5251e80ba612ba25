//! The byte range of RFC 9110 section 14.1.2 that a request may select (K-48). Pure.

/// The part of the content that a range selects, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selected {
    Bytes { first: usize, last: usize },
    Unsatisfiable,
}

/// Reads the value of `range` for content of `length` bytes, at least 1. `None` means that it is ignored: several ranges,
/// another unit, bad syntax.
pub fn parse(value: &[u8], length: usize) -> Option<Selected> {
    let (unit, set) = value.split_at_checked(b"bytes=".len())?;
    if !unit.eq_ignore_ascii_case(b"bytes=") {
        return None;
    }
    // A list may have empty members (RFC 9110 section 5.6.1.2).
    let mut specs = set.split(|&byte| byte == b',').map(super::trim).filter(|spec| !spec.is_empty());
    match (specs.next(), specs.next()) {
        (Some(spec), None) => resolve(spec, length),
        _ => None,
    }
}

fn resolve(spec: &[u8], length: usize) -> Option<Selected> {
    let at = spec.iter().position(|&byte| byte == b'-')?;
    let end = length - 1;
    let (first, last) = match (&spec[..at], &spec[at + 1..]) {
        ([], suffix) => match number(suffix)? {
            0 => return Some(Selected::Unsatisfiable),
            count => (length.saturating_sub(count), end),
        },
        (first, []) => (number(first)?, usize::MAX),
        (first, last) => match (number(first)?, number(last)?) {
            _ if is_less(last, first) => return None,
            both => both,
        },
    };
    match first > end {
        true => Some(Selected::Unsatisfiable),
        false => Some(Selected::Bytes { first, last: last.min(end) }),
    }
}

/// Any number of digits. Beyond the greatest `usize`, which no content reaches, the number stays there.
fn number(digits: &[u8]) -> Option<usize> {
    let add = |number: usize, digit: &u8| {
        let digit = digit.is_ascii_digit().then(|| usize::from(digit - b'0'))?;
        Some(number.saturating_mul(10).saturating_add(digit))
    };
    (!digits.is_empty()).then(|| digits.iter().try_fold(0, add))?
}

/// Compares the digits themselves: two numbers may be greater than any `usize`.
fn is_less(a: &[u8], b: &[u8]) -> bool {
    fn significant(digits: &[u8]) -> &[u8] {
        let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
        &digits[zeros..]
    }
    let (a, b) = (significant(a), significant(b));
    (a.len(), a) < (b.len(), b)
}
