//! Owns: sockets: listening, accepting, the event loops, the clocks of connections, the drain.
//! Must not: decide what a response says.

mod accept;
mod account;
mod cgroup;
pub mod clock;
pub mod codec;
mod connection;
pub mod counters;
pub mod envelope;
pub mod guard;
mod listen;
mod moves;
mod outgoing;
mod phases;
mod status;
mod sys;
pub mod tls;
mod unix;
mod versions;
mod worker;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tokio::sync::{Mutex, mpsc};

use accept::Acceptor;
use cgroup::Memory;
use counters::{Counters, Counts};
use phases::{TICKS, Tick};
use status::AcceptorWaker;
use tls::{Certificate, Terminator, Terminators, Tls};
use versions::Versions;
use worker::{Limits, Message, Worker};

use crate::access_log::AccessLog;
use crate::config::Options;
use crate::content::{Content, cannot, counted, reason};
use crate::respond::Responses;

pub use envelope::{has_memory, may_have_descriptors};
pub use listen::Listener;

/// The longest wait for workers that are told to end.
const CUT: Duration = Duration::from_secs(1);

/// The public listener, its workers, and the content that they serve.
pub struct Server {
    acceptor: Acceptor,
    view: View,
    log: Option<AccessLog>,
    versions: Versions,
    /// Those whose threads have not started yet.
    workers: Vec<Worker>,
    terminators: Vec<Terminator>,
    /// Receives the error of a worker that failed, and is closed when all workers have ended.
    failures: Mutex<mpsc::Receiver<String>>,
    shutdown_timeout: Duration,
}

/// The parts of a server that the admin listener and reloads read.
#[derive(Clone)]
pub struct View {
    responses: Arc<ArcSwap<Responses>>,
    counters: Vec<Arc<Counters>>,
    lines_lost: Arc<AtomicU64>,
    draining: Arc<AtomicBool>,
    /// `None` is no TLS.
    pub tls: Option<Arc<Tls>>,
}

impl View {
    /// The current version of the content.
    pub fn responses(&self) -> Arc<Responses> {
        self.responses.load_full()
    }

    /// The counters of all workers together.
    pub fn counts(&self) -> Counts<u64> {
        Counts::sum(self.counters.iter().map(Arc::as_ref))
    }

    /// Lines of the access log that standard output did not accept.
    pub fn lines_lost(&self) -> u64 {
        self.lines_lost.load(Relaxed)
    }

    /// Whether the drain has begun (K-18).
    pub fn is_draining(&self) -> bool {
        self.draining.load(Relaxed)
    }
}

impl Server {
    /// Opens everything that serving needs, and starts no thread yet. Call it inside a tokio runtime.
    pub fn new(
        listener: Listener,
        options: &Options,
        content: Content,
        certificate: Option<Certificate>,
    ) -> Result<Server, String> {
        let responses = Responses::new(content.collapse(Memory::open().spare()), options);
        let log = options.access_log.map(|format| AccessLog::new(format, options.trusted_proxies.clone()));
        let view = View {
            responses: Arc::new(ArcSwap::from_pointee(responses)),
            counters: (0..options.threads).map(|_| Arc::default()).collect(),
            lines_lost: log.as_ref().map(AccessLog::lost).unwrap_or_default(),
            draining: Arc::default(),
            tls: certificate.map(|certificate| Arc::new(Tls::new(certificate))),
        };
        let (waker, limits, start) = (Arc::new(AcceptorWaker::default()), limits(options), Instant::now());
        let (mut workers, mut handles) = (Vec::new(), Vec::new());
        for counters in &view.counters {
            let lines = log.as_ref().map(|log| log.lines(worker::BATCH_AGE));
            let worker =
                Worker::new(waker.clone(), counters.clone(), lines, view.responses.clone(), limits, start);
            let (worker, handle) = worker.map_err(cannot("start a worker"))?;
            workers.push(worker);
            handles.push(handle);
        }
        let named = log.is_some() || log::log_enabled!(log::Level::Debug);
        let made =
            view.tls.as_ref().map(|tls| Terminators::new(tls, options.threads, options.header_timeout));
        let (tls, terminators) = made.transpose()?.unzip();
        let acceptor = Acceptor::new(listener, handles, waker, named, tls);
        let server = Server {
            acceptor: acceptor.map_err(cannot("watch the listener"))?,
            view,
            log,
            versions: Versions::new(options),
            workers,
            terminators: terminators.unwrap_or_default(),
            failures: Mutex::new(mpsc::channel(1).1),
            shutdown_timeout: options.shutdown_timeout,
        };
        server.review();
        Ok(server)
    }

    /// Starts the threads.
    pub fn start(&mut self) -> Result<(), String> {
        if let Some(log) = &mut self.log {
            log.start().map_err(cannot("start the access log"))?;
        }
        let (failed, failures) = mpsc::channel(1);
        self.failures = Mutex::new(failures);
        tls::start(std::mem::take(&mut self.terminators), &failed)?;
        for (number, worker) in self.workers.drain(..).enumerate() {
            let failed = failed.clone();
            let run = move || {
                if let Err(error) = worker.run() {
                    let _ = failed.try_send(format!("a worker failed: {}", reason(&error)));
                }
            };
            let thread = thread::Builder::new().name(format!("worker-{number}"));
            thread.spawn(run).map_err(cannot("start a worker"))?;
        }
        Ok(())
    }

    /// What others read of the server. A clone of it outlives the server.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Serves until `stop` is ready, or a worker fails: half a server is none.
    pub async fn run(&self, stop: impl Future<Output = ()>) -> Result<(), String> {
        tokio::select! {
            () = self.acceptor.run() => Ok(()),
            () = self.keep_limits() => Ok(()),
            () = stop => Ok(()),
            Some(failure) = async { self.failures.lock().await.recv().await } => Err(failure),
        }
    }

    /// Stops listening and responds to the requests that were sent, for at most `--shutdown-timeout-seconds`.
    pub async fn drain(mut self) -> Result<(), String> {
        let end = Instant::now() + self.shutdown_timeout;
        log::info!("draining");
        self.view.draining.store(true, Relaxed);
        // Connections that are still in the backlog when the time is over are cut with the others.
        let _ = tokio::time::timeout(self.shutdown_timeout, self.acceptor.drain()).await;
        let workers = self.acceptor.close();
        let ended = tokio::time::timeout_at(end.into(), self.failures.get_mut().recv()).await;
        if ended.is_err() {
            let (time, cut) = (self.shutdown_timeout.as_secs(), accept::open(&workers) as u64);
            let (time, cut) = (counted(time, "second"), counted(cut, "connection"));
            log::warn!("the drain is over after {time}: {cut} cut");
            workers.iter().for_each(|worker| worker.send(Message::Cut));
            let _ = tokio::time::timeout(CUT, self.failures.get_mut().recv()).await;
        }
        if let Some(log) = &self.log {
            log.end().await;
        }
        ended.ok().flatten().map_or(Ok(()), Err)
    }
}

fn limits(options: &Options) -> Limits {
    let ticks = |duration: Duration| duration.as_secs() as Tick * TICKS;
    // One more than the option: a phase may begin late in the turn in which its clock was read.
    Limits {
        idle: ticks(options.idle_timeout) + 1,
        header: ticks(options.header_timeout) + 1,
        write: ticks(options.write_timeout),
    }
}
