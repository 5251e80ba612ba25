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
    let (unit, set) = std::str::from_utf8(value).ok()?.split_once('=')?;
    // A list may have empty members (RFC 9110 section 5.6.1.2).
    let mut specs = set.split(',').map(|spec| spec.trim_matches([' ', '\t'])).filter(|spec| !spec.is_empty());
    let (true, Some(spec), None) = (unit.eq_ignore_ascii_case("bytes"), specs.next(), specs.next()) else {
        return None;
    };
    let end = length - 1;
    let (first, last) = match spec.split_once('-')? {
        ("", suffix) => match number(suffix)? {
            0 => return Some(Selected::Unsatisfiable),
            count => (length.saturating_sub(count), end),
        },
        (first, "") => (number(first)?, usize::MAX),
        (first, last) => (number(first)?, number(last)?),
    };
    match first > end {
        _ if last < first => None,
        true => Some(Selected::Unsatisfiable),
        false => Some(Selected::Bytes { first, last: last.min(end) }),
    }
}

/// Reads any number of digits. No content is as long as the greatest number, which stands for all beyond it.
fn number(digits: &str) -> Option<usize> {
    let are_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    are_digits.then(|| digits.parse().unwrap_or(usize::MAX))
}
