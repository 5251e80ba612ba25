//! Taking a changed file into service (SPEC section 10). Sibling: kcup-go/ops/reload.go.

mod settling;

use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::Signal;
use tokio::time::sleep;

use super::notify::Notifier;
use super::signals;
use crate::config::Options;
use crate::content::{self, cannot, Content, Source};
use crate::respond::Responses;
use crate::server::Server;
use settling::{Settling, Verdict, SETTLING_TIME};

/// Reloads by their result (K-119).
#[derive(Debug, Default)]
pub struct Reloads {
    pub ok: AtomicU64,
    pub failed: AtomicU64,
}

/// Reads the file again when it is told to, or when the file has changed.
pub struct Reload {
    pub counts: Arc<Reloads>,
    options: Arc<Options>,
    hangups: Signal,
    settling: Settling,
    /// What was wrong at the last read, and was logged.
    failure: Option<String>,
}

impl Reload {
    /// Takes hangups from now on: the service manager may send one as soon as it hears that we are ready. Call it inside a
    /// tokio runtime.
    pub fn new(options: &Arc<Options>) -> Result<Reload, String> {
        Ok(Reload {
            counts: Arc::default(),
            options: options.clone(),
            hangups: signals::hangups().map_err(cannot("take signals"))?,
            settling: Settling::default(),
            failure: None,
        })
    }

    /// Reloads for a hangup (K-100), and when a poll finds other bytes (K-102), for ever. Only `server` is told what came
    /// of it: a future that is dropped has changed nothing.
    pub async fn run(mut self, server: &Server, manager: &Notifier) {
        let mut pause = self.options.reload_interval;
        loop {
            tokio::select! {
                _ = self.hangups.recv() => {
                    manager.reloading().await;
                    // Who asks is answered.
                    self.failure = None;
                    let read = self.read(server).await;
                    self.load(read, server).await;
                    manager.ready().await;
                }
                () = after(pause) => pause = self.poll(server).await,
            }
        }
    }

    /// Looks at the file, and says when to look again. It is read whole only when it seems to have changed.
    async fn poll(&mut self, server: &Server) -> Option<Duration> {
        let loaded = server.view().responses();
        let loaded = &loaded.content;
        let verdict = if !self.settling.is_pending() {
            let (options, once) = (self.options.clone(), loaded.one_shot);
            let sight = content::apart(move || content::look(&options, once)).await;
            self.settling.judge(sight, &loaded.source_digest)
        } else {
            let read = self.read(server).await;
            let sight = read.as_ref().map(|source| source.digest).map_err(Clone::clone);
            let verdict = self.settling.judge(sight, &loaded.source_digest);
            if verdict == Verdict::Settled {
                self.load(read, server).await;
            }
            verdict
        };
        match verdict {
            Verdict::Unsettled => return Some(SETTLING_TIME),
            Verdict::Unchanged => self.failure = None,
            Verdict::Settled => (),
        }
        self.options.reload_interval
    }

    async fn read(&self, server: &Server) -> Result<Source, String> {
        let (options, once) = (self.options.clone(), server.view().responses().content.one_shot);
        let (content, variants) = content::needs(&options);
        let room = match server.make_room(content + variants).await {
            true => content + variants,
            false if variants > 0 && server.make_room(content).await => content,
            false => 0,
        };
        content::apart(move || content::again(&options, once, room)).await
    }

    /// Makes content of what was read, unless that failed, and serves it.
    async fn load(&mut self, read: Result<Source, String>, server: &Server) {
        let (options, spare) = (self.options.clone(), server.spare());
        let make = move || Ok(Responses::new(Content::new(read?, &options)?.collapse(spare), &options));
        match content::apart(make).await {
            Ok(responses) => {
                log::info!("loaded {} bytes", responses.content.identity.body.len());
                server.replace(responses).await;
                self.counts.ok.fetch_add(1, Relaxed);
                self.failure = None;
            }
            Err(failure) => {
                server.abandon();
                self.fail(failure);
            }
        }
    }

    /// Logs each line, unless that was done at the last read (K-101).
    fn fail(&mut self, failure: String) {
        self.counts.failed.fetch_add(1, Relaxed);
        if self.failure.as_ref() != Some(&failure) {
            failure.lines().for_each(|line| log::warn!("{line}; the last good content stays"));
            self.failure = Some(failure);
        }
    }
}

async fn after(pause: Option<Duration>) {
    match pause {
        Some(pause) => sleep(pause).await,
        None => pending().await,
    }
}
