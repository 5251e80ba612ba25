//! SIGTERM, SIGINT and SIGHUP. Sibling: kcup-go/ops/signals.go.

use std::io;

use tokio::signal::unix::{signal, Signal, SignalKind};

/// The signals that ask kcup to end. Taken early: without a handler, process 1 of a container ignores them.
pub struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    /// Call it inside a tokio runtime. From now on SIGHUP does not end the process either.
    pub fn new() -> io::Result<Stop> {
        let _ = hangups()?;
        Ok(Stop { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next of them.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => (),
            _ = self.interrupt.recv() => (),
        }
    }
}

/// The SIGHUPs that come from now on; several that nobody has waited for are one.
pub fn hangups() -> io::Result<Signal> {
    signal(SignalKind::hangup())
}
