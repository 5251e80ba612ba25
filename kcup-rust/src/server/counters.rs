//! The workers' counters (K-119).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The values of the label `method`, and those of `code` that kcup sends.
pub const METHODS: [&str; 3] = ["GET", "HEAD", "other"];
pub const CODES: [u16; 21] =
    [200, 206, 304, 400, 401, 403, 404, 410, 412, 414, 416, 421, 429, 431, 451, 500, 501, 502, 503, 504, 505];

/// The values of the label `reason`, in the order of [`Reason`].
pub const REASONS: [&str; 11] = [
    "peer", "answered", "refused", "idle_timeout", "header_timeout", "write_timeout", "evicted", "shed",
    "memory", "replaced", "drained",
];

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The peer has ended its side, or is gone.
    Peer,
    Answered,
    Refused,
    IdleTimeout,
    HeaderTimeout,
    WriteTimeout,
    Evicted,
    Shed,
    Memory,
    Replaced,
    Drained,
}

/// A number that only one thread changes, and all may read.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to the number; only its one writer may call this.
    pub fn add(&self, more: u64) {
        // There is no other writer, so this need not be one atomic step, which would cost more.
        self.set(self.get() + more);
    }

    /// Replaces the number; only its one writer may call this.
    pub fn set(&self, number: u64) {
        self.0.store(number, Relaxed);
    }

    /// Reads the number, from any thread.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The counts of a worker, or the sum of all.
#[derive(Debug, Default)]
pub struct Counts<N> {
    /// Responses begun, by [`METHODS`] and [`CODES`].
    pub responses: [[N; CODES.len()]; METHODS.len()],
    /// Bytes of responses that the kernel took.
    pub bytes: N,
    pub accepted: N,
    /// By [`REASONS`].
    pub closed: [N; REASONS.len()],
    /// Connections that are silent between requests now.
    pub parked: N,
}

/// The counters of one worker, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Counters(pub Counts<Counter>);

impl Counts<Counter> {
    /// Counts a response. `head` is the request's; `None` if it was refused.
    pub fn count_response(&self, head: Option<&[u8]>, code: u16) {
        let method = match head {
            Some([b'G', b'E', b'T', b' ', ..]) => 0,
            Some([b'H', b'E', b'A', b'D', b' ', ..]) => 1,
            _ => 2,
        };
        if let Some(place) = CODES.iter().position(|&known| known == code) {
            self.responses[method][place].add(1);
        }
    }

    /// Counts a connection that is closed.
    pub fn close(&self, reason: Reason) {
        self.closed[reason as usize].add(1);
    }
}

impl Counts<u64> {
    /// The sums over all workers. The numbers are not all of the same moment.
    pub fn sum<'c>(workers: impl IntoIterator<Item = &'c Counters>) -> Counts<u64> {
        let mut sum = Counts::default();
        for Counters(worker) in workers {
            add(sum.responses.as_flattened_mut(), worker.responses.as_flattened());
            add(&mut sum.closed, &worker.closed);
            sum.bytes += worker.bytes.get();
            sum.accepted += worker.accepted.get();
            sum.parked += worker.parked.get();
        }
        sum
    }

    /// Connections that are open.
    pub fn open(&self) -> u64 {
        self.accepted.saturating_sub(self.closed.iter().sum())
    }
}

fn add(sums: &mut [u64], counters: &[Counter]) {
    for (sum, counter) in sums.iter_mut().zip(counters) {
        *sum += counter.get();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_of_all_workers_and_what_is_not_closed_is_open() {
        let workers = [Counters::default(), Counters::default()];
        for Counters(worker) in &workers {
            worker.accepted.add(3);
            worker.close(Reason::Drained);
            worker.parked.set(1);
            worker.bytes.add(100);
            worker.count_response(Some(b"HEAD / HTTP/1.1\r\n\r\n"), 304);
        }
        workers[1].0.count_response(Some(b"HEADER / HTTP/1.1\r\n\r\n"), 404);
        workers[1].0.count_response(None, 505);
        let sum = Counts::sum(&workers);
        assert_eq!((sum.accepted, sum.open(), sum.parked, sum.bytes), (6, 4, 2, 200));
        assert_eq!(sum.closed, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        let counted = |method: usize| {
            let counts = CODES.iter().zip(sum.responses[method]);
            counts.filter(|(_, count)| *count > 0).collect::<Vec<_>>()
        };
        assert_eq!([0, 1, 2].map(counted), [vec![], vec![(&304, 2)], vec![(&404, 1), (&505, 1)]]);
    }
}
