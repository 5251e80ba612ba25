//! Reloads (SPEC section 10).

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use tokio::signal::unix::Signal;
use tokio::time::{Instant, sleep, sleep_until};

use super::notify::Notifier;
use super::signals;
use crate::config::Options;
use crate::content::{self, Content, Digest, Source, cannot};
use crate::respond::Responses;
use crate::server::Server;
use crate::server::tls::Certificate;

/// Reloads by their result (K-119).
#[derive(Debug, Default)]
pub struct Reloads {
    pub ok: AtomicU64,
    pub failed: AtomicU64,
}

/// Reads the file again on SIGHUP, and when it has changed.
pub struct Reload {
    pub counts: Arc<Reloads>,
    options: Arc<Options>,
    hangups: Signal,
    content: Followed,
    certificate: Followed,
    /// When to look next whether the certificate is about to expire.
    notice: Option<Instant>,
}

/// What a reload reads: the content, or the certificate with its key.
#[derive(Debug, Default)]
struct Followed {
    settling: Settling,
    /// The failure of the last read, which was logged.
    failure: Option<String>,
}

impl Reload {
    /// Receives SIGHUP from now on: the service manager may send it as soon as it knows that we are ready. Call it inside a
    /// tokio runtime.
    pub fn new(options: &Arc<Options>) -> Result<Reload, String> {
        Ok(Reload {
            counts: Arc::default(),
            options: options.clone(),
            hangups: signals::hangups().map_err(cannot("take signals"))?,
            content: Followed::default(),
            certificate: Followed::default(),
            notice: None,
        })
    }

    /// Reloads on SIGHUP (K-100), and when a poll finds other bytes (K-102), for ever. Only `server` is changed, and only by
    /// a reload that has succeeded, so the future may be dropped.
    pub async fn run(mut self, server: &Server, manager: &Notifier) {
        let mut pause = self.options.reload_interval;
        loop {
            tokio::select! {
                _ = self.hangups.recv() => {
                    manager.reloading().await;
                    // A failure is logged on each SIGHUP, even if it is the same again.
                    (self.content.failure, self.certificate.failure) = (None, None);
                    let renewed = self.renew(server).await;
                    let read = self.read(server).await;
                    let loaded = self.load(read, server).await;
                    self.count(renewed && loaded);
                    manager.ready().await;
                }
                () = after(pause) => pause = self.poll(server).await,
                () = at(self.notice) => self.warn(server),
            }
        }
    }

    /// Checks the files, and returns when to check again.
    async fn poll(&mut self, server: &Server) -> Option<Duration> {
        let unsettled = [self.poll_certificate(server).await, self.poll_content(server).await];
        match unsettled.contains(&Outcome::Unsettled) {
            true => Some(SETTLING_TIME),
            false => self.options.reload_interval,
        }
    }

    /// Checks the file. It is read whole only if it seems to have changed.
    async fn poll_content(&mut self, server: &Server) -> Outcome {
        let loaded = server.view().responses();
        let loaded = &loaded.content;
        let outcome = if !self.content.settling.is_pending() {
            let (options, once) = (self.options.clone(), loaded.one_shot);
            let sight = content::apart(move || content::look(&options, once)).await;
            self.content.settling.judge(sight, &loaded.source_digest)
        } else {
            let read = self.read(server).await;
            let sight = read.as_ref().map(|source| source.digest).map_err(Clone::clone);
            let outcome = self.content.settling.judge(sight, &loaded.source_digest);
            if outcome == Outcome::Settled {
                let loaded = self.load(read, server).await;
                self.count(loaded);
            }
            outcome
        };
        if outcome == Outcome::Unchanged {
            self.content.failure = None;
        }
        outcome
    }

    /// Checks the files of the certificate and its key.
    async fn poll_certificate(&mut self, server: &Server) -> Outcome {
        let (Some(tls), Some(files)) = (&server.view().tls, self.options.tls.clone()) else {
            return Outcome::Unchanged;
        };
        let sight = content::apart(move || Certificate::look(&files)).await;
        let outcome = self.certificate.settling.judge(sight, &tls.certificate().digest);
        match outcome {
            Outcome::Unchanged => self.certificate.failure = None,
            Outcome::Unsettled => (),
            Outcome::Settled => {
                let renewed = self.renew(server).await;
                self.count(renewed);
            }
        }
        outcome
    }

    /// Reads the certificate and its key again, and lets handshakes use them, or logs why that failed (K-156). Without TLS there
    /// is nothing to do.
    async fn renew(&mut self, server: &Server) -> bool {
        let (Some(tls), Some(files)) = (&server.view().tls, self.options.tls.clone()) else {
            return true;
        };
        match content::apart(move || Certificate::load(&files)).await {
            Ok(certificate) => {
                self.certificate.failure = None;
                if certificate.digest != tls.certificate().digest {
                    tls.replace(certificate);
                    self.announce(server);
                }
                true
            }
            Err(failure) => {
                self.certificate.fail(failure, "certificate");
                false
            }
        }
    }

    /// Tells of the certificate that is in use (K-153).
    pub fn announce(&mut self, server: &Server) {
        if let Some(tls) = &server.view().tls {
            log::info!("{}", tls.certificate().news());
            self.warn(server);
        }
    }

    /// Warns if the certificate is about to expire.
    fn warn(&mut self, server: &Server) {
        if let Some(tls) = &server.view().tls {
            let (warning, next) = tls.certificate().warning(SystemTime::now());
            warning.inspect(|warning| log::warn!("{warning}"));
            self.notice = Some(Instant::now() + next);
        }
    }

    fn count(&self, loaded: bool) {
        let result = if loaded { &self.counts.ok } else { &self.counts.failed };
        result.fetch_add(1, Relaxed);
    }

    async fn read(&self, server: &Server) -> Result<Source, String> {
        let (options, once) = (self.options.clone(), server.view().responses().content.one_shot);
        let (content, variants) = content::needs(&options);
        let memory = match server.make_room(content + variants).await {
            true => content + variants,
            false if variants > 0 && server.make_room(content).await => content,
            false => 0,
        };
        content::apart(move || content::again(&options, once, memory)).await
    }

    /// Serves the content that was read, or logs why that failed. Returns whether it did not.
    async fn load(&mut self, read: Result<Source, String>, server: &Server) -> bool {
        let (options, spare) = (self.options.clone(), server.spare());
        let make = move || Ok(Responses::new(Content::new(read?, &options)?.collapse(spare), &options));
        match content::apart(make).await {
            Ok(responses) => {
                let news = responses.content.news(&self.options, Some(&server.view().responses().content));
                server.replace(responses).await;
                news.iter().for_each(|event| log::info!("{event}"));
                self.content.failure = None;
                true
            }
            Err(failure) => {
                server.abandon();
                self.content.fail(failure, "content");
                false
            }
        }
    }
}

impl Followed {
    /// Logs a failure line by line, unless the last read failed in the same way (K-101).
    fn fail(&mut self, failure: String, what: &str) {
        if self.failure.as_ref() != Some(&failure) {
            let mut lines = failure.lines();
            lines.next().inspect(|line| log::warn!("{line}; the last good {what} stays"));
            lines.for_each(|line| log::warn!("{line}"));
            self.failure = Some(failure);
        }
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}

async fn after(pause: Option<Duration>) {
    match pause {
        Some(pause) => sleep(pause).await,
        None => pending().await,
    }
}

/// The time after which a poll reads a changed file again (K-102).
const SETTLING_TIME: Duration = Duration::from_secs(1);

/// The result of reading the file: a digest, or a failure.
type Sight = Result<Digest, String>;

/// What a poll has to do.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// Nothing: these bytes are loaded already.
    Unchanged,
    /// Read again after [`SETTLING_TIME`].
    Unsettled,
    /// Load the bytes, or log the failure.
    Settled,
}

/// The last result, if it differs from what is loaded and has been seen only once.
#[derive(Debug, Default)]
struct Settling(Option<Sight>);

impl Settling {
    fn judge(&mut self, now: Sight, loaded: &Digest) -> Outcome {
        let before = self.0.take();
        if now.as_ref() == Ok(loaded) {
            Outcome::Unchanged
        } else if before.as_ref() == Some(&now) {
            Outcome::Settled
        } else {
            self.0 = Some(now);
            Outcome::Unsettled
        }
    }

    fn is_pending(&self) -> bool {
        self.0.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::Outcome::{Settled, Unchanged, Unsettled};
    use super::*;

    #[test]
    fn a_poll_believes_what_it_saw_twice_in_a_row() {
        let [loaded, a, b] = [1, 2, 3].map(|byte| Ok([byte; 32]));
        let [missing, empty] = ["no such file", "it is empty"].map(|why| Err(why.to_string()));
        for (name, looks) in [
            ("nothing", &[(&loaded, Unchanged), (&loaded, Unchanged)][..]),
            ("other bytes", &[(&a, Unsettled), (&a, Settled), (&a, Unsettled)]),
            ("bytes that go on", &[(&a, Unsettled), (&b, Unsettled), (&a, Unsettled), (&a, Settled)]),
            ("bytes that were gone", &[(&a, Unsettled), (&loaded, Unchanged), (&a, Unsettled)]),
            ("a failure", &[(&missing, Unsettled), (&missing, Settled), (&missing, Unsettled)]),
            ("a failure that passes", &[(&missing, Unsettled), (&loaded, Unchanged)]),
            (
                "deleted, empty, new",
                &[(&missing, Unsettled), (&empty, Unsettled), (&b, Unsettled), (&b, Settled)],
            ),
        ] {
            let mut settling = Settling::default();
            for (number, (saw, want)) in looks.iter().enumerate() {
                let outcome = settling.judge((*saw).clone(), loaded.as_ref().unwrap());
                assert_eq!(outcome, *want, "{name}, look {number}");
                assert_eq!(settling.is_pending(), outcome == Unsettled);
            }
        }
    }
}
