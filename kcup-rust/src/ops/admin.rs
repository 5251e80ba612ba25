//! The listener of `--admin` (SPEC K-115 to K-118). Sibling: kcup-go/ops/admin.go.
//!
//! It has little to do, and does it in the plainest way: a task for each connection, which is good for one request. They have
//! a thread of their own, so that whoever asks much and often holds up nobody who wants to be accepted elsewhere.

use std::future::Future;
use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use hyper::StatusCode;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::time::{sleep, sleep_until, timeout, Instant};

use super::metrics::{self, Numbers};
use super::process::Process;
use super::reload::Reloads;
use crate::config::Host;
use crate::content::cannot;
use crate::respond::{self, Connection, Now};
use crate::server::clock::unix_now;
use crate::server::guard::{Guard, Verdict};
use crate::server::{Listener, View};

/// So many connections are open at most.
pub const CONNECTIONS: usize = 64;
/// How long one has been open at least when it makes room for another before it was answered.
const GRACE: Duration = Duration::from_millis(50);
/// How long a head may take, and how long an answer.
const LIMIT: Duration = Duration::from_secs(10);
/// How long accepting rests when the system is out of something.
const PAUSE: Duration = Duration::from_millis(100);
/// How long, and for how many bytes, a closing connection is read (as K-72).
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 65536;

const TEXT: &str = "text/plain; charset=utf-8";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A listener, and the files that it will tell of.
pub struct Admin {
    runtime: Runtime,
    listener: Listener,
    process: Process,
}

/// Where answers come from.
struct Sources {
    process: Process,
    view: View,
    reloads: Arc<Reloads>,
}

impl Admin {
    /// Opens all that is needed, and accepts nothing yet. The error is SPEC K-16's line.
    pub fn open(address: SocketAddr) -> Result<Admin, String> {
        let listener = Listener::bind(&Host::Ip(address.ip()), address.port())?;
        let runtime = Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(cannot("start the admin listener"))?;
        Ok(Admin { runtime, listener, process: Process::open() })
    }

    /// Answers from now on, until the process ends.
    pub fn start(self, view: View, reloads: Arc<Reloads>) -> Result<(), String> {
        let Admin { runtime, listener: Listener { socket, name, .. }, process } = self;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(socket.into())
        };
        let listener = listener.map_err(cannot("watch the admin listener"))?;
        log::info!("admin listening on {name}");
        let sources = Arc::new(Sources { process, view, reloads });
        let answer = move || runtime.block_on(accept(listener, sources));
        let thread = thread::Builder::new().name("admin".into()).spawn(answer);
        thread.map(drop).map_err(cannot("start the admin listener"))
    }
}

/// A connection, and how far it has come.
struct Peer {
    socket: TcpStream,
    came: Instant,
    answered: AtomicBool,
}

async fn accept(listener: TcpListener, sources: Arc<Sources>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    // In the order in which they came.
    let mut open: Vec<Weak<Peer>> = Vec::new();
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        let peer = Arc::new(Peer { socket, came: Instant::now(), answered: AtomicBool::new(false) });
        open.retain(|peer| peer.strong_count() > 0);
        open.push(Arc::downgrade(&peer));
        if room.available_permits() == 0 {
            dismiss(&mut open).await;
        }
        // The semaphore is never closed.
        let Ok(permit) = room.clone().acquire_owned().await else { return };
        let sources = sources.clone();
        tokio::spawn(async move {
            // A peer that is gone or too slow is not worth a word.
            let _ = converse(&peer, &sources).await;
            drop(permit);
        });
    }
}

/// Sends one away: one that has its answer, else the oldest, when that has had the time to ask. What it has sent until then is
/// read, and answered.
async fn dismiss(open: &mut Vec<Weak<Peer>>) {
    let is_answered = |peer: &Weak<Peer>| peer.upgrade().is_some_and(|peer| peer.answered.load(Relaxed));
    let answered = open.iter().position(is_answered);
    let Some(peer) = open.remove(answered.unwrap_or(0)).upgrade() else { return };
    if answered.is_none() {
        sleep_until(peer.came + GRACE).await;
    }
    let _ = SockRef::from(&peer.socket).shutdown(Shutdown::Read);
}

/// Reads one request head, answers it, and ends as K-72 has it.
async fn converse(peer: &Peer, sources: &Sources) -> io::Result<()> {
    let socket = &peer.socket;
    let answer = within(LIMIT, async {
        let mut guard = Guard::default();
        let mut head = Vec::new();
        loop {
            if read(socket, &mut head).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            match guard.scan(&head) {
                Verdict::Partial => (),
                Verdict::Complete(facts) => return Ok(sources.answer(&head[facts.skip..])),
                Verdict::Refused(status) => return Ok(sources.refuse(status, true)),
            }
        }
    });
    let answer = answer.await?;
    within(LIMIT, write_all(socket, &answer)).await?;
    peer.answered.store(true, Relaxed);
    SockRef::from(socket).shutdown(Shutdown::Write)?;
    within(LINGER, async {
        let mut discarded = Vec::new();
        while discarded.len() < LINGER_BYTES && read(socket, &mut discarded).await? > 0 {}
        Ok(())
    })
    .await
}

async fn within<T>(limit: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(limit, work).await.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
}

/// Appends what has come, and says how much that is; nothing at the end.
async fn read(socket: &TcpStream, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let mut buffer = [0; 4096];
    loop {
        socket.readable().await?;
        match socket.try_read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => (),
            read => {
                let length = read?;
                bytes.extend_from_slice(&buffer[..length]);
                return Ok(length);
            }
        }
    }
}

async fn write_all(socket: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        socket.writable().await?;
        match socket.try_write(bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => (),
            written => bytes = &bytes[written?..],
        }
    }
    Ok(())
}

impl Sources {
    /// The answer to a head that the guard let through.
    fn answer(&self, head: &[u8]) -> Vec<u8> {
        let mut words = head.split(|&byte| byte == b' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let is_head = method == b"HEAD";
        let (status, kind, body) = match target {
            _ if !is_head && method != b"GET" => return self.refuse(StatusCode::NOT_FOUND, true),
            b"/healthz" => ("200 OK", TEXT, "ok".into()),
            b"/readyz" if self.view.is_draining() => ("503 Service Unavailable", TEXT, "draining".into()),
            b"/readyz" => ("200 OK", TEXT, "ready".into()),
            b"/metrics" => ("200 OK", METRICS, metrics::render(&self.numbers())),
            _ => return self.refuse(StatusCode::NOT_FOUND, !is_head),
        };
        let (length, date) = (body.len(), Now::new(unix_now()));
        let date = date.line();
        let body = if is_head { "" } else { &body };
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n{date}connection: close\r\n\r\n{body}"
        )
        .into()
    }

    /// An answer as the server has it, too (K-36).
    fn refuse(&self, status: StatusCode, whole: bool) -> Vec<u8> {
        let (content, mut answer) = (self.view.content(), Vec::new());
        let choice = respond::refuse(status);
        let body = choice.render(&content, &Now::new(unix_now()), Connection::Close, &mut answer);
        if whole {
            answer.extend_from_slice(body.bytes);
        }
        answer
    }

    fn numbers(&self) -> Numbers {
        let content = self.view.content();
        Numbers {
            counts: self.view.counts(),
            lines_lost: self.view.lines_lost(),
            reloads_ok: self.reloads.ok.load(Relaxed),
            reloads_failed: self.reloads.failed.load(Relaxed),
            content: content.identity.body.len() as u64,
            loaded: content.loaded,
            version: env!("CARGO_PKG_VERSION"),
            implementation: "rust",
            process: self.process.numbers(),
        }
    }
}
