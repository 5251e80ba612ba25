//! Dates of the proleptic Gregorian calendar, in UTC. `httpdate` writes none before 1970, and a file may be older.

use std::fmt;

const DAY: i64 = 86400;
const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
pub const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A second, broken down. Earlier ones compare as less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    pub year: i64,
    /// From 1.
    pub month: i64,
    /// From 1.
    pub day: i64,
    /// Of the day.
    pub second: i64,
}

impl Moment {
    /// Seconds since 1970, which may be negative, broken down. A year here begins in March, so that its leap day is its last.
    pub fn at(seconds: i64) -> Moment {
        let days = seconds.div_euclid(DAY) + 719_468;
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        Moment {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month,
            day: of_year - (153 * from_march + 2) / 5 + 1,
            second: seconds.rem_euclid(DAY),
        }
    }

    /// Seconds since 1970.
    pub fn seconds(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let of_year = (153 * ((self.month + 9) % 12) + 2) / 5 + self.day - 1;
        let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
        (era * 146_097 + of_era - 719_468) * DAY + self.second
    }

    /// Whether the calendar has this day.
    pub fn exists(self) -> bool {
        self.day >= 1 && Moment::at(self.seconds() - self.second) == Moment { second: 0, ..self }
    }

    fn clock(self) -> (i64, i64, i64) {
        (self.second / 3600, self.second / 60 % 60, self.second % 60)
    }
}

/// As RFC 9110 section 5.6.7 prefers it.
pub struct HttpDate(pub Moment);

impl fmt::Display for HttpDate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Moment { year, month, day, .. } = self.0;
        let weekday = WEEKDAYS[(self.0.seconds().div_euclid(DAY) + 4).rem_euclid(7) as usize];
        let month = MONTHS[month as usize - 1];
        let (hour, minute, second) = self.0.clock();
        write!(out, "{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
    }
}

/// As RFC 3339 has it.
pub struct Timestamp(pub Moment);

impl fmt::Display for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Moment { year, month, day, .. } = self.0;
        let (hour, minute, second) = self.0.clock();
        write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// As access logs have it.
pub struct LogTime(pub Moment);

impl fmt::Display for LogTime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Moment { year, month, day, .. } = self.0;
        let month = MONTHS[month as usize - 1];
        let (hour, minute, second) = self.0.clock();
        write!(out, "{day:02}/{month}/{year:04}:{hour:02}:{minute:02}:{second:02} +0000")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn days_that_do_not_exist_do_not() {
        let day = |year, month, day| Moment { year, month, day, second: 0 };
        assert!(day(2000, 2, 29).exists() && day(2024, 2, 29).exists() && day(0, 2, 29).exists());
        for (year, month, date) in [(1900, 2, 29), (2023, 2, 29), (2023, 4, 31), (2023, 1, 0), (2023, 12, 32)]
        {
            assert!(!day(year, month, date).exists(), "{year}-{month}-{date}");
        }
    }

    #[test]
    fn the_second_before_1970_can_be_written() {
        let text = HttpDate(Moment::at(-1)).to_string();
        assert_eq!(text, "Wed, 31 Dec 1969 23:59:59 GMT");
    }

    proptest::proptest! {
        #[test]
        fn a_moment_is_the_second_it_was_made_of(seconds in -62_167_219_200i64..=253_402_300_799) {
            let moment = Moment::at(seconds);
            proptest::prop_assert!(moment.exists() && (0..=9999).contains(&moment.year));
            proptest::prop_assert_eq!(moment.seconds(), seconds);
        }

        #[test]
        fn dates_are_those_of_httpdate(seconds in 0u64..=253_402_300_799) {
            let theirs = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds));
            proptest::prop_assert_eq!(HttpDate(Moment::at(seconds as i64)).to_string(), theirs);
        }
    }
}
