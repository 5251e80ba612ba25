//! What time it is, read once for each batch of events. Sibling: kcup-go/server/clock.go.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::phases::{Tick, TICKS};
use crate::respond::Now;

pub struct Clock {
    start: Instant,
    tick: Tick,
    now: Now,
}

impl Clock {
    /// `start` is the same for all workers, so that their ticks can be compared.
    pub fn new(start: Instant) -> Clock {
        let mut clock = Clock { start, tick: 0, now: Now::new(unix_now()) };
        clock.update();
        clock
    }

    pub fn update(&mut self) {
        self.tick = (self.start.elapsed().as_millis() * u128::from(TICKS) / 1000) as Tick;
        let unix = unix_now();
        // Compared for inequality: a clock that was set back must not freeze the date.
        if unix != self.now.unix {
            self.now = Now::new(unix);
        }
    }

    /// Time that only goes forward.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// The wall clock's second.
    pub fn now(&self) -> &Now {
        &self.now
    }
}

/// The wall clock's second, since 1970.
pub fn unix_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() as i64)
}
