//! The signals that have a meaning, and those that must not end the process.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that end kcup. They are handled from early on: without a handler, process 1 of a container ignores them.
pub struct Stop {
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
}

impl Stop {
    /// Call it inside a tokio runtime. From now on SIGHUP, and the signals without a meaning, do not end the process either.
    pub fn new() -> io::Result<Stop> {
        let _ = hangups()?;
        for nothing in [SignalKind::user_defined1(), SignalKind::user_defined2(), SignalKind::alarm()] {
            let _ = signal(nothing)?;
        }
        Ok(Stop {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
        })
    }

    /// Waits for the next of them.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => (),
            _ = self.interrupt.recv() => (),
            _ = self.quit.recv() => (),
        }
    }
}

/// Receives SIGHUP from now on. Several at once count as one.
pub fn hangups() -> io::Result<Signal> {
    signal(SignalKind::hangup())
}
