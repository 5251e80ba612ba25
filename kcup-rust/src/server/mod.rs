//! Owns: sockets: listening, accepting, the event loops, the clocks of connections, the drain.
//! Must not: decide what an answer says.
//! Sibling: kcup-go/server/server.go

mod accept;
mod account;
mod cgroup;
pub mod clock;
pub mod codec;
mod connection;
pub mod counters;
pub mod envelope;
mod fits;
pub mod guard;
mod listen;
mod outgoing;
mod passed;
pub(crate) mod phases;
mod status;
mod sys;
mod unix;
mod versions;
mod worker;

use std::future::Future;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tokio::sync::mpsc;

use accept::{Acceptor, Post};
use cgroup::Memory;
use clock::Clock;
use counters::{Counters, Counts};
use phases::{Tick, TICKS};
use status::{Room, Status};
use versions::Versions;
use worker::{Books, Limits, Worker};

use crate::config::Options;
use crate::content::{cannot, reason, Content};
use crate::ops::access_log::AccessLog;
use crate::ops::stream;

pub use fits::{has_room, may_have_descriptors};
pub use listen::Listener;
pub use passed::passed;

/// The content that is served.
type Served = Arc<ArcSwap<Content>>;

pub struct Server {
    acceptor: Acceptor,
    view: View,
    log: Option<AccessLog>,
    versions: Versions,
    /// What the workers' threads will run. A worker is made there: a codec cannot move to another thread.
    work: Vec<Box<dyn FnOnce() + Send>>,
    /// Each worker holds a sender and sends nothing: it closes when the last of them has ended.
    workers: mpsc::Receiver<()>,
    shutdown_timeout: Duration,
}

/// What others may look at while the server serves.
#[derive(Clone)]
pub struct View {
    content: Served,
    counters: Vec<Arc<Counters>>,
    lines_lost: Arc<AtomicU64>,
    draining: Arc<AtomicBool>,
}

impl View {
    /// What is served.
    pub fn content(&self) -> Arc<Content> {
        self.content.load_full()
    }

    pub fn counts(&self) -> Counts<u64> {
        Counts::sum(self.counters.iter().map(Arc::as_ref))
    }

    /// Lines of the access log that standard output did not take.
    pub fn lines_lost(&self) -> u64 {
        self.lines_lost.load(Relaxed)
    }

    /// Whether the drain has begun.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Relaxed)
    }
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
    /// Opens all that serving needs, and starts no thread yet. Call it inside a tokio runtime.
    pub fn new(listener: Listener, options: &Options, content: Content) -> Result<Server, String> {
        let limits = limits(options);
        let content = content.collapse(Memory::open().spare());
        let log = options.access_log.map(AccessLog::new);
        let view = View {
            content: Served::new(ArcSwap::from_pointee(content)),
            counters: (0..options.threads).map(|_| Arc::default()).collect(),
            lines_lost: log.as_ref().map(AccessLog::lost).unwrap_or_default(),
            draining: Arc::default(),
        };
        let room = Arc::new(Room::default());
        let (running, workers) = mpsc::channel(1);
        let start = Instant::now();
        let (mut posts, mut work) = (Vec::new(), Vec::new());
        for counters in &view.counters {
            let status = Arc::new(Status::new(room.clone()));
            let (mail, mailbox) = channel();
            let (poll, waker) = worker::poll().map_err(cannot("start a worker"))?;
            posts.push(Post { mail, waker, status: status.clone() });
            let lines = log.as_ref().map(AccessLog::lines);
            let books = Books { status, counters: counters.clone(), lines };
            let (content, running) = (view.content.clone(), running.clone());
            let run: Box<dyn FnOnce() + Send> = Box::new(move || {
                let _running = running;
                let worker = Worker::new(poll, mailbox, books, content, limits, Clock::new(start));
                if let Err(error) = worker.run() {
                    // Half a server is none.
                    stream::report(Err((format!("a worker ended: {}", reason(&error)), 1)));
                    process::exit(1);
                }
            });
            work.push(run);
        }
        let acceptor =
            Acceptor::new(listener, posts, room, log.is_some()).map_err(cannot("watch the listener"))?;
        let versions = Versions::new(options);
        let shutdown_timeout = options.shutdown_timeout;
        let server = Server { acceptor, view, log, versions, work, workers, shutdown_timeout };
        server.review();
        Ok(server)
    }

    /// Starts the workers.
    pub fn start(&mut self) -> Result<(), String> {
        if let Some(log) = &mut self.log {
            log.start().map_err(cannot("start the access log"))?;
        }
        for (number, work) in self.work.drain(..).enumerate() {
            let thread = thread::Builder::new().name(format!("worker-{number}"));
            thread.spawn(work).map_err(cannot("start a worker"))?;
        }
        Ok(())
    }

    pub fn view(&self) -> &View {
        &self.view
    }

    /// Serves until `stop` is ready.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        tokio::select! {
            () = self.acceptor.run() => (),
            () = self.tend() => (),
            () = stop => (),
        }
    }

    /// Stops listening and answers what was sent, for as long as `--shutdown-timeout-seconds` allows.
    pub async fn drain(mut self) -> Ending {
        let end = Instant::now() + self.shutdown_timeout;
        self.view.draining.store(true, Relaxed);
        // What is left in the backlog when its time is over is cut with the rest.
        let _ = tokio::time::timeout(self.shutdown_timeout, self.acceptor.drain()).await;
        let open = self.acceptor.close();
        let ending = match tokio::time::timeout_at(end.into(), self.workers.recv()).await {
            Ok(_) => Ending::Drained,
            Err(_) => Ending::Cut(open()),
        };
        if let Some(log) = &self.log {
            log.end().await;
        }
        ending
    }
}

fn limits(options: &Options) -> Limits {
    let ticks = |duration: Duration| duration.as_secs() as Tick * TICKS;
    // One more than asked: a phase may begin late in the turn in which its clock was read.
    Limits {
        idle: ticks(options.idle_timeout) + 1,
        header: ticks(options.header_timeout) + 1,
        write: ticks(options.write_timeout),
    }
}
