//! Dates: the forms that kcup writes, and the three of RFC 9110 section 5.6.7 that it reads. Pure.

use std::time::{Duration, UNIX_EPOCH};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Reads a date as seconds since 1970.
pub fn parse(text: &[u8]) -> Option<i64> {
    let time = httpdate::parse_http_date(std::str::from_utf8(text).ok()?).ok()?;
    time.duration_since(UNIX_EPOCH).ok()?.as_secs().try_into().ok()
}

/// Writes a time in seconds since 1970, of the years 1970 to 9999, as `Sun, 06 Nov 1994 08:49:37 GMT`.
pub fn http(unix: i64) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(unix as u64))
}

/// Writes it as `1994-11-06T08:49:37Z`.
pub fn rfc3339(unix: i64) -> String {
    let text = http(unix);
    let [day, month, year, clock] = parts(&text);
    let month = MONTHS.iter().position(|name| *name == month).map_or(0, |place| place + 1);
    format!("{year}-{month:02}-{day}T{clock}Z")
}

/// Writes it as `06/Nov/1994:08:49:37 +0000`.
pub fn common_log(unix: i64) -> String {
    let text = http(unix);
    let [day, month, year, clock] = parts(&text);
    format!("{day}/{month}/{year}:{clock} +0000")
}

fn parts(http: &str) -> [&str; 4] {
    [&http[5..7], &http[8..11], &http[12..16], &http[17..25]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_second_is_written_in_three_ways() {
        assert_eq!(http(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(rfc3339(784_111_777), "1994-11-06T08:49:37Z");
        assert_eq!(common_log(784_111_777), "06/Nov/1994:08:49:37 +0000");
        assert_eq!(rfc3339(253_402_300_799), "9999-12-31T23:59:59Z");
    }
}
