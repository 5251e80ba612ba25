//! SIGTERM and SIGINT. Sibling: kcup-go/ops/signals.go.

use std::io;

use tokio::signal::unix::{signal, Signal, SignalKind};

/// The signals that ask kcup to end. Taken early: without a handler, process 1 of a container ignores them.
pub struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    /// Call it inside a tokio runtime.
    pub fn new() -> io::Result<Stop> {
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
