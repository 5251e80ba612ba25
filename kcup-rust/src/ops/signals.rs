//! The signals that mean something, and those that must not end us. Sibling: kcup-go/ops/signals.go.

use std::io;

use tokio::signal::unix::{signal, Signal, SignalKind};

/// The signals that ask kcup to end. Taken early: without a handler, process 1 of a container ignores them.
pub struct Stop {
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
}

impl Stop {
    /// Call it inside a tokio runtime. From now on SIGHUP does not end the process either, nor do those that mean nothing.
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

/// The SIGHUPs that come from now on; several that nobody has waited for are one.
pub fn hangups() -> io::Result<Signal> {
    signal(SignalKind::hangup())
}
