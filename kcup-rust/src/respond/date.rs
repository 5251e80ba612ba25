//! The three forms of a date in RFC 9110 section 5.6.7. Pure.

use crate::content::calendar::{Moment, MONTHS};

const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const LONG_WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Reads a date as seconds since 1970. `now` says which century a year of two digits is of. The name of the weekday must
/// be one, but need not be the right one.
pub fn parse(text: &[u8], now: i64) -> Option<i64> {
    let mut reader = Reader(text);
    let moment = match text.iter().position(|&byte| byte == b',') {
        Some(3) => reader.preferred(),
        Some(_) => reader.rfc850(now),
        None => reader.asctime(),
    }?;
    (reader.0.is_empty() && moment.exists()).then(|| moment.seconds())
}

/// What is still to be read.
struct Reader<'t>(&'t [u8]);

impl Reader<'_> {
    /// `Sun, 06 Nov 1994 08:49:37 GMT`
    fn preferred(&mut self) -> Option<Moment> {
        self.one_of(&WEEKDAYS)?;
        self.text(", ")?;
        let day = self.number(2)?;
        self.text(" ")?;
        let month = self.one_of(&MONTHS)?;
        self.text(" ")?;
        let year = self.number(4)?;
        self.text(" ")?;
        let second = self.clock()?;
        self.text(" GMT")?;
        Some(Moment { year, month, day, second })
    }

    /// `Sunday, 06-Nov-94 08:49:37 GMT`
    fn rfc850(&mut self, now: i64) -> Option<Moment> {
        self.one_of(&LONG_WEEKDAYS)?;
        self.text(", ")?;
        let day = self.number(2)?;
        self.text("-")?;
        let month = self.one_of(&MONTHS)?;
        self.text("-")?;
        let year = self.number(2)?;
        self.text(" ")?;
        let second = self.clock()?;
        self.text(" GMT")?;
        Some(with_century(Moment { year, month, day, second }, Moment::at(now)))
    }

    /// `Sun Nov  6 08:49:37 1994`
    fn asctime(&mut self) -> Option<Moment> {
        self.one_of(&WEEKDAYS)?;
        self.text(" ")?;
        let month = self.one_of(&MONTHS)?;
        self.text(" ")?;
        let day = match self.text(" ") {
            Some(()) => self.number(1)?,
            None => self.number(2)?,
        };
        self.text(" ")?;
        let second = self.clock()?;
        self.text(" ")?;
        let year = self.number(4)?;
        Some(Moment { year, month, day, second })
    }

    /// Gives the second of the day. A leap second is the one after.
    fn clock(&mut self) -> Option<i64> {
        let hour = self.number(2)?;
        self.text(":")?;
        let minute = self.number(2)?;
        self.text(":")?;
        let second = self.number(2)?;
        (hour <= 23 && minute <= 59 && second <= 60).then_some(hour * 3600 + minute * 60 + second)
    }

    fn text(&mut self, text: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(text.as_bytes())?;
        Some(())
    }

    /// Counted from 1.
    fn one_of(&mut self, names: &[&str]) -> Option<i64> {
        let at = names.iter().position(|name| self.0.starts_with(name.as_bytes()))?;
        self.0 = &self.0[names[at].len()..];
        Some(at as i64 + 1)
    }

    fn number(&mut self, width: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(width)?;
        self.0 = rest;
        digits.iter().try_fold(0, |number, digit| {
            digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'))
        })
    }
}

/// The latest year with these two digits that is not more than 50 years ahead.
fn with_century(moment: Moment, now: Moment) -> Moment {
    let limit = Moment { year: now.year + 50, ..now };
    let year = limit.year - (limit.year - moment.year).rem_euclid(100);
    let latest = Moment { year, ..moment };
    match latest > limit {
        true => Moment { year: year - 100, ..moment },
        false => latest,
    }
}
