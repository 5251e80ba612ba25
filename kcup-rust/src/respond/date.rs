//! The three forms of a date in RFC 9110 section 5.6.7. Pure.

use std::time::UNIX_EPOCH;

/// Reads a date as seconds since 1970.
pub fn parse(text: &[u8]) -> Option<i64> {
    let time = httpdate::parse_http_date(std::str::from_utf8(text).ok()?).ok()?;
    time.duration_since(UNIX_EPOCH).ok()?.as_secs().try_into().ok()
}
