//! The time, read once for each batch of events.

use std::time::{Instant, SystemTime};

use super::phases::{TICKS, Tick};
use crate::content::seconds;
use crate::respond::Now;

/// Two clocks: one that only goes forward, for time limits, and the wall clock, for `date`.
pub struct Clock {
    start: Instant,
    tick: Tick,
    now: Now,
}

impl Clock {
    /// `start` is the same for all workers, so that their ticks can be compared.
    pub fn new(start: Instant) -> Clock {
        let mut clock = Clock { start, tick: 0, now: Now::new(seconds(SystemTime::now())) };
        clock.update();
        clock
    }

    /// Reads both.
    pub fn update(&mut self) {
        self.tick = (self.start.elapsed().as_millis() * u128::from(TICKS) / 1000) as Tick;
        let unix = seconds(SystemTime::now());
        // Compared for inequality: a clock that was set back must not freeze the date.
        if unix != self.now.unix {
            self.now = Now::new(unix);
        }
    }

    /// The time since the start, which only goes forward.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// The wall clock's time.
    pub fn now(&self) -> &Now {
        &self.now
    }
}
