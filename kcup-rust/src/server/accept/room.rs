//! Making room for a new connection (K-84).

use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::super::phases::Phase;
use super::super::worker::Message;
use super::{Acceptor, open};

/// The time that a new connection waits for one that falls silent, and the interval at which it looks at least.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(50);

impl Acceptor {
    /// Waits until no more than `most` connections are open. One connection at a time makes room, however many wait.
    pub async fn make_room(&self, most: usize) {
        let mut asked_for = None;
        let mut look = || {
            if open(&self.workers) <= most {
                if asked_for == Some(Phase::Idle) {
                    self.crowded.set(None);
                }
                return true;
            }
            // A worker reports what it was asked for when it is done.
            if self.asked.get().is_none_or(|(worker, before)| self.workers[worker].status.tries() != before) {
                asked_for = self.ask();
            }
            false
        };
        while timeout(LOOK, self.waker.wait(&mut look)).await.is_err() {}
    }

    /// Asks one worker for one connection, and says in which phase this is.
    fn ask(&self) -> Option<Phase> {
        let (worker, phase) = self.first()?;
        self.asked.set(Some((worker, self.workers[worker].status.tries())));
        self.workers[worker].send(Message::MakeRoom(phase));
        Some(phase)
    }

    /// Whether the limit was lowered, and some have to go (K-89).
    pub fn is_over(&self) -> bool {
        open(&self.workers) > self.max_connections.get()
    }

    /// Whether a new connection has to wait until another one makes room (K-84).
    pub fn is_full(&self) -> bool {
        open(&self.workers) >= self.max_connections.get()
    }

    /// The worker whose connection is first to make room, and the phase of that connection: silence, or any phase once the wait
    /// is over.
    fn first(&self) -> Option<(usize, Phase)> {
        let first = |phase| {
            let ranks = self.workers.iter().map(|worker| worker.status.rank(phase));
            let ranked = ranks.enumerate().filter_map(|(worker, rank)| Some((rank?, worker)));
            ranked.min().map(|(_, worker)| (worker, phase))
        };
        let silent = first(Phase::Idle);
        if silent.is_some() || !self.is_over() && !self.is_crowded() {
            return silent;
        }
        [Phase::Head, Phase::Write, Phase::Linger].into_iter().find_map(first)
    }

    /// Whether somebody has waited for long enough since the first call.
    fn is_crowded(&self) -> bool {
        let since = self.crowded.get().unwrap_or_else(Instant::now);
        self.crowded.set(Some(since));
        since.elapsed() >= PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::Arc;
    use std::sync::mpsc::Receiver;

    use tokio::task::yield_now;

    use super::super::super::listen::Listener;
    use super::super::super::phases::PHASES;
    use super::super::super::status::{AcceptorWaker, Status};
    use super::super::Handle;
    use super::*;
    use crate::config::Host;

    /// A worker that closes one connection for each message.
    async fn work(mailbox: &Receiver<Message>, status: &Status) {
        loop {
            if mailbox.try_recv().is_ok() {
                status.closed();
                status.made_room();
            }
            status.publish(|_| [Some(1); PHASES.len()]);
            yield_now().await;
        }
    }

    #[tokio::test]
    async fn two_that_wait_at_once_cost_no_more_places_than_one() {
        let waker = Arc::new(AcceptorWaker::default());
        let (handle, _poll, mailbox) = Handle::new(waker.clone()).unwrap();
        let status = handle.status.clone();
        let listener = Listener::bind(&Host::Ip(Ipv4Addr::LOCALHOST.into()), 0).unwrap();
        let acceptor = Acceptor::new(listener, vec![handle], waker, false, None).unwrap();
        (0..9).for_each(|_| status.handed());
        status.publish(|_| [Some(1); PHASES.len()]);
        tokio::select! {
            _ = async { tokio::join!(acceptor.make_room(5), acceptor.make_room(4)) } => (),
            () = work(&mailbox, &status) => (),
        }
        assert_eq!((status.connections(), mailbox.try_iter().count()), (4, 0));
    }
}
