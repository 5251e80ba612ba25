//! The progress of a peer that takes a response (K-82, K-84, K-87). Pure.

use super::super::phases::{TICKS, Tick};

/// The least bytes a second that a peer must take.
const LEAST_RATE: u64 = 256;
/// Two looks are never further apart than this, unless the whole process was paused.
const PAUSE: Tick = TICKS;

/// How fast a peer takes a response that waits for it (K-82).
#[derive(Debug)]
pub struct Progress {
    began: Tick,
    /// Bytes that the socket has taken, including those of earlier responses on their way,
    written: u64,
    /// and of these the ones that the peer has acknowledged.
    taken: u64,
    /// When the peer was last looked at.
    looked: Tick,
    /// Since when its bytes are counted, and how many there were then.
    window: (Tick, u64),
}

impl Progress {
    /// `unacked` are the bytes that the peer has not acknowledged.
    pub fn new(written: u64, unacked: u32, now: Tick) -> Progress {
        let written = written.max(unacked.into());
        let taken = written - u64::from(unacked);
        Progress { began: now, written, taken, looked: now, window: (now, taken) }
    }

    /// The socket took more.
    pub fn wrote(&mut self, written: u64) {
        self.written += written;
    }

    /// Takes in what the peer has not acknowledged by now.
    pub fn saw(&mut self, unacked: u32) {
        self.written = self.written.max(unacked.into());
        self.taken = self.taken.max(self.written - u64::from(unacked));
    }

    /// Whether the peer has taken enough within the last `timeout`.
    pub fn is_enough(&mut self, now: Tick, timeout: Tick) -> bool {
        let (since, before) = self.window;
        let enough = LEAST_RATE * u64::from(timeout) / u64::from(TICKS);
        let paused = now.wrapping_sub(self.looked) > PAUSE;
        self.looked = now;
        if paused || self.taken - before >= enough {
            self.window = (now, self.taken);
            return true;
        }
        now.wrapping_sub(since) <= timeout
    }

    /// Bytes a second that the peer has taken since the response began.
    pub fn rate(&self, now: Tick) -> u64 {
        self.taken * u64::from(TICKS) / u64::from(now.wrapping_sub(self.began) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks every two ticks at a peer of which `queued` says what it has not acknowledged by then; when it was too slow.
    fn ends(timeout: Tick, queued: impl Fn(Tick) -> u32) -> Option<Tick> {
        let mut progress = Progress::new(100_000, 100_000, 0);
        (0..1000).step_by(2).find(|&now| {
            progress.saw(queued(now));
            !progress.is_enough(now, timeout)
        })
    }

    #[test]
    fn a_peer_that_takes_nothing_or_less_than_the_least_is_too_slow() {
        assert_eq!(ends(300, |_| 100_000), Some(302));
        assert_eq!(ends(300, |now| 100_000 - now * 25), Some(302));
        assert_eq!(ends(300, |now| 100_000 - now * 26), None);
        assert_eq!(ends(300, |now| if now < 50 { 100_000 } else { 20_000 }), Some(352));
    }

    #[test]
    fn what_was_taken_before_it_began_to_wait_does_not_count() {
        let mut progress = Progress::new(100_000, 90_000, 0);
        assert_eq!((2..1000).step_by(2).find(|&now| !progress.is_enough(now, 300)), Some(302));
    }

    #[test]
    fn a_pause_of_ours_ends_nobody() {
        let mut progress = Progress::new(100_000, 100_000, 0);
        assert!(progress.is_enough(1000, 300) && progress.is_enough(1002, 300));
        assert_eq!((1004..2000).step_by(2).find(|&now| !progress.is_enough(now, 300)), Some(1302));
        // A second is none.
        let mut progress = Progress::new(100_000, 100_000, 0);
        assert_eq!((10..2000).step_by(10).find(|&now| !progress.is_enough(now, 300)), Some(310));
    }

    #[test]
    fn the_rate_is_of_the_whole_response() {
        let mut progress = Progress::new(1000, 3000, 0);
        assert_eq!(progress.rate(9), 0);
        progress.saw(1000);
        assert_eq!(progress.rate(9), 2000);
        progress.wrote(1000);
        progress.saw(1000);
        assert_eq!(progress.rate(9), 3000);
    }
}
