//! What time it is, read once for each batch of events. Sibling: kcup-go/server/clock.go.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use hyper::header::HeaderValue;

use super::phases::{Tick, TICKS};

pub struct Clock {
    start: Instant,
    tick: Tick,
    unix: u64,
    date: HeaderValue,
}

impl Clock {
    /// `start` is the same for all workers, so that their ticks can be compared.
    pub fn new(start: Instant) -> Clock {
        let now = unix_now();
        let mut clock = Clock {
            start,
            tick: 0,
            unix: now,
            date: date(now),
        };
        clock.update();
        clock
    }

    pub fn update(&mut self) {
        self.tick = (self.start.elapsed().as_millis() * u128::from(TICKS) / 1000) as Tick;
        let now = unix_now();
        // Compared for inequality: a clock that was set back must not freeze the date.
        if now != self.unix {
            self.unix = now;
            self.date = date(now);
        }
    }

    /// Time that only goes forward.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// Seconds since 1970.
    pub fn unix(&self) -> u64 {
        self.unix
    }

    /// [`Clock::unix`] as RFC 9110 section 5.6.7 writes it.
    pub fn date(&self) -> &HeaderValue {
        &self.date
    }
}

fn unix_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

fn date(unix: u64) -> HeaderValue {
    // 253402300799 is the end of the year 9999, the last that the format can say.
    let time = UNIX_EPOCH + std::time::Duration::from_secs(unix.min(253_402_300_799));
    HeaderValue::try_from(httpdate::fmt_http_date(time)).expect("a date is visible ASCII")
}
