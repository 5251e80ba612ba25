//! Owns: the access log (K-125 to K-127): the lines, and the thread that writes them to standard output.
//! Must not: delay a response.
//!
//! Each worker appends lines to a batch of its own. One thread writes the batches; those it has no room for are lost.

mod client;
mod line;
mod writer;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

use crate::config::{LineFormat, Proxies};
use line::{Entry, append, stamp};
use writer::{Writer, count};

pub use client::client;
pub use line::{HEALTH_CHECK, JSON, Peer, escape, greeting};

/// A batch of this many bytes is handed over.
const BATCH: usize = 32 << 10;
/// This many batches may wait for the writer.
const WAITING: usize = 32;
/// The longest wait for the writer at the end (K-127).
const END: Duration = Duration::from_secs(1);

enum Message {
    Lines(Vec<u8>),
    /// Marks the end: the writer replies when all lines before it are written.
    End(oneshot::Sender<()>),
}

/// The access log of the process.
pub struct AccessLog {
    format: LineFormat,
    proxies: Proxies,
    messages: Sender<Message>,
    /// Belongs to the writer once it has started.
    inbox: Option<Receiver<Message>>,
    lost: Arc<AtomicU64>,
}

impl AccessLog {
    /// Starts no thread yet.
    pub fn new(format: LineFormat, proxies: Proxies) -> AccessLog {
        let (messages, inbox) = channel(WAITING);
        AccessLog { format, proxies, messages, inbox: Some(inbox), lost: Arc::default() }
    }

    /// The lines of one worker. A batch is handed over when it is older than `age`, in the unit of the worker's clock.
    pub fn lines(&self, age: u32) -> Lines {
        Lines {
            format: self.format,
            proxies: self.proxies.clone(),
            age,
            messages: self.messages.clone(),
            lost: self.lost.clone(),
            second: 0,
            stamp: stamp(self.format, 0),
            batch: Vec::new(),
            begun: 0,
        }
    }

    /// The number of lines that standard output did not accept.
    pub fn lost(&self) -> Arc<AtomicU64> {
        self.lost.clone()
    }

    /// Starts the writer.
    pub fn start(&mut self) -> io::Result<()> {
        let Some(mut inbox) = self.inbox.take() else {
            return Ok(());
        };
        let lost = self.lost.clone();
        let write = move || {
            let mut writer = Writer::new(io::stdout());
            while let Some(message) = inbox.blocking_recv() {
                match message {
                    Message::Lines(lines) => _ = lost.fetch_add(writer.write(&lines), Relaxed),
                    Message::End(done) => _ = done.send(()),
                }
            }
        };
        thread::Builder::new().name("access-log".into()).spawn(write).map(drop)
    }

    /// Waits until all batches are written, for at most a second.
    pub async fn end(&self) {
        let (done, ended) = oneshot::channel();
        let written = async {
            // Without a writer there is nothing to wait for.
            if self.messages.send(Message::End(done)).await.is_ok() {
                let _ = ended.await;
            }
        };
        let _ = tokio::time::timeout(END, written).await;
    }
}

/// The lines of one worker that are not handed over yet. Once its buffers have grown, a line allocates nothing.
pub struct Lines {
    format: LineFormat,
    proxies: Proxies,
    age: u32,
    messages: Sender<Message>,
    lost: Arc<AtomicU64>,
    /// The second, since 1970, that `stamp` is of.
    second: i64,
    stamp: String,
    batch: Vec<u8>,
    /// The time of the batch's first line.
    begun: u32,
}

impl Lines {
    /// Sets the time that lines have, in seconds since 1970.
    pub fn refresh(&mut self, second: i64) {
        if second != self.second {
            self.second = second;
            self.stamp = stamp(self.format, second);
        }
    }

    /// Appends the line of a response, unless that is to a health check. `head` is the request's, `None` if it was refused; `bytes`
    /// is the length of the response's body.
    pub fn add(&mut self, peer: Peer, head: Option<&[u8]>, status: u16, bytes: usize, now: u32) {
        if peer.is_health_check() {
            return;
        }
        if self.batch.is_empty() {
            self.begun = now;
            self.batch.reserve(BATCH);
        }
        let peer = client(peer, head.unwrap_or_default(), &self.proxies);
        let entry = Entry { peer, head, status, bytes };
        append(&mut self.batch, self.format, &self.stamp, &entry);
        if self.batch.len() >= BATCH {
            self.hand_over();
        }
    }

    /// The time until the batch must be handed over, if there is one.
    pub fn due(&self, now: u32) -> Option<u32> {
        let left = self.age.saturating_sub(now.wrapping_sub(self.begun));
        (!self.batch.is_empty()).then_some(left)
    }

    /// Hands the batch to the writer. If the writer has no room for it, the lines are lost: a worker never waits.
    pub fn hand_over(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let lines = std::mem::take(&mut self.batch);
        if let Err(TrySendError::Full(message) | TrySendError::Closed(message)) =
            self.messages.try_send(Message::Lines(lines))
        {
            let Message::Lines(mut lines) = message else { return };
            self.lost.fetch_add(count(&lines), Relaxed);
            lines.clear();
            self.batch = lines;
        }
    }
}
