//! The access log (SPEC K-125 to K-127): a line for each answer, which no answer waits for.
//! Sibling: kcup-go/ops/access_log.go.
//!
//! A worker appends lines to a batch of its own. One thread writes the batches; what it cannot take in time is lost.

mod line;
mod writer;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{channel, Receiver, Sender};
use tokio::sync::oneshot;

use crate::config::LineFormat;
use crate::server::phases::{Tick, TICKS};
use line::{append, stamp, Entry};
use writer::{count, Writer};

pub use line::Peer;

/// A batch of so many bytes is handed over,
const BATCH: usize = 32 << 10;
/// and one that was begun so long ago.
const AGE: Tick = TICKS / 5;
/// So many batches may wait for the writer.
const WAITING: usize = 32;
/// How long the end waits for it (SPEC K-127).
const END: Duration = Duration::from_secs(1);

/// What the writer is told.
enum Message {
    Lines(Vec<u8>),
    /// Say so when you come to this.
    End(oneshot::Sender<()>),
}

/// The access log of a process.
pub struct AccessLog {
    format: LineFormat,
    messages: Sender<Message>,
    /// The writer's, until it starts.
    inbox: Option<Receiver<Message>>,
    lost: Arc<AtomicU64>,
}

impl AccessLog {
    /// Starts no thread yet.
    pub fn new(format: LineFormat) -> AccessLog {
        let (messages, inbox) = channel(WAITING);
        AccessLog { format, messages, inbox: Some(inbox), lost: Arc::default() }
    }

    /// What one worker logs with.
    pub fn lines(&self) -> Lines {
        Lines {
            format: self.format,
            messages: self.messages.clone(),
            lost: self.lost.clone(),
            second: 0,
            stamp: stamp(self.format, 0),
            peers: Vec::new(),
            batch: Vec::new(),
            begun: 0,
        }
    }

    /// Counts the lines that standard output did not take.
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

    /// Waits until all that was handed over is written, but not for long.
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

/// The lines of one worker that are not handed over yet. Once warm, a line allocates nothing.
pub struct Lines {
    format: LineFormat,
    messages: Sender<Message>,
    lost: Arc<AtomicU64>,
    /// The second that `stamp` says, since 1970.
    second: i64,
    stamp: String,
    /// By the connections' keys.
    peers: Vec<Peer>,
    batch: Vec<u8>,
    /// When the batch was.
    begun: Tick,
}

impl Lines {
    /// What time it is, in seconds since 1970.
    pub fn refresh(&mut self, second: i64) {
        if second != self.second {
            self.second = second;
            self.stamp = stamp(self.format, second);
        }
    }

    /// Who is behind the connection of this key from now on.
    pub fn meet(&mut self, key: usize, peer: Peer) {
        if key >= self.peers.len() {
            self.peers.resize(key + 1, peer);
        }
        self.peers[key] = peer;
    }

    /// An answer begins: `head` is the request's, nothing when it was refused, and `bytes` the length of the answer's body.
    pub fn add(&mut self, key: usize, head: Option<&[u8]>, status: u16, bytes: usize, now: Tick) {
        if self.batch.is_empty() {
            self.begun = now;
            self.batch.reserve(BATCH);
        }
        let entry = Entry { peer: self.peers[key], head, status, bytes };
        append(&mut self.batch, self.format, &self.stamp, &entry);
        if self.batch.len() >= BATCH {
            self.hand_over();
        }
    }

    /// In how many ticks a batch must be handed over, if there is one.
    pub fn due(&self, now: Tick) -> Option<Tick> {
        let left = AGE.saturating_sub(now.wrapping_sub(self.begun));
        (!self.batch.is_empty()).then_some(left)
    }

    /// Hands over what there is. No thread waits for another: what the writer has no room for is lost.
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
