//! Owns: sockets: listening, accepting, the event loops, the clocks of connections, the drain.
//! Must not: decide what an answer says.
//! Sibling: kcup-go/server/server.go

mod accept;
mod cgroup;
pub mod clock;
pub mod codec;
mod connection;
mod envelope;
pub mod guard;
mod listen;
mod outgoing;
mod phases;
mod status;
mod sys;
mod worker;

use std::future::Future;
use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tokio::sync::mpsc;

use accept::{Acceptor, Post};
use clock::Clock;
use envelope::{Envelope, Surroundings};
use phases::{Tick, TICKS};
use status::{Room, Status};
use worker::{Limits, Worker};

use crate::config::Options;
use crate::content::Content;

pub use listen::listen;

/// The content that is served; stored into, it is served from the next request on.
pub type Served = Arc<ArcSwap<Content>>;

pub struct Server {
    acceptor: Acceptor,
    /// Each worker holds a sender and sends nothing: it closes when the last of them has ended.
    workers: mpsc::Receiver<()>,
    shutdown_timeout: Duration,
}

/// How serving ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every connection was answered and closed.
    Drained,
    /// The limit came first, and cut this many connections.
    Cut(usize),
}

impl Ending {
    /// Says what was cut (SPEC K-19).
    pub fn log(&self) {
        if let Ending::Cut(connections) = self {
            log::warn!("the drain's time is over: {connections} connections cut");
        }
    }
}

impl Server {
    /// Starts the workers. Call it inside a tokio runtime.
    pub fn start(listener: TcpListener, options: &Options, content: &Served) -> Result<Server, String> {
        let room = Arc::new(Room::default());
        let (running, workers) = mpsc::channel(1);
        let surroundings = Surroundings::read();
        let wanted = options.max_connections;
        let envelope = Envelope::new(wanted, options.threads, content.load().size(), surroundings);
        envelope.log(wanted);
        let limits = limits(options, envelope);
        let start = Instant::now();
        let mut posts = Vec::new();
        for number in 0..options.threads {
            let status = Arc::new(Status::new(room.clone()));
            let (mail, mailbox) = channel();
            let (poll, waker) = worker::poll().map_err(|error| format!("cannot start a worker: {error}"))?;
            posts.push(Post { mail, waker, status: status.clone() });
            let clock = Clock::new(start);
            let content = content.clone();
            let running = running.clone();
            thread::Builder::new()
                .name(format!("worker-{number}"))
                .spawn(move || {
                    let _running = running;
                    // Made on its own thread: a codec cannot move to another.
                    let worker = Worker::new(poll, mailbox, status, content, limits, clock);
                    if let Err(error) = worker.run() {
                        log::error!("a worker ended: {error}");
                    }
                })
                .map_err(|error| format!("cannot start a worker: {error}"))?;
        }
        let acceptor = Acceptor::new(listener, posts, room, envelope.max_connections)
            .map_err(|error| format!("cannot watch the listener: {error}"))?;
        Ok(Server { acceptor, workers, shutdown_timeout: options.shutdown_timeout })
    }

    /// Serves until `stop` is ready.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        tokio::select! {
            () = self.acceptor.run() => (),
            () = stop => (),
        }
    }

    /// Stops listening and answers what was sent, for as long as `--shutdown-timeout-seconds` allows.
    pub async fn drain(mut self) -> Ending {
        let end = Instant::now() + self.shutdown_timeout;
        // What is left in the backlog when its time is over is cut with the rest.
        let _ = tokio::time::timeout(self.shutdown_timeout, self.acceptor.drain()).await;
        let open = self.acceptor.close();
        match tokio::time::timeout_at(end.into(), self.workers.recv()).await {
            Ok(_) => Ending::Drained,
            Err(_) => Ending::Cut(open()),
        }
    }
}

fn limits(options: &Options, envelope: Envelope) -> Limits {
    let ticks = |duration: Duration| duration.as_secs() as Tick * TICKS;
    // One more than asked: a phase may begin late in the turn in which its clock was read.
    Limits {
        idle: ticks(options.idle_timeout) + 1,
        header: ticks(options.header_timeout) + 1,
        write: ticks(options.write_timeout),
        kept: (envelope.kept / options.threads).max(2 * guard::MAX_HEAD),
    }
}
