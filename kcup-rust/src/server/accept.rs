//! Takes connections in and hands each to the worker that has the fewest. Sibling: kcup-go/server/accept.go.

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::mpsc::Sender;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::Waker;
use rustix::net::{accept_with, SocketFlags};
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

use super::status::{Room, Status};
use super::worker::Mail;

/// How long accepting rests when the system is out of something (SPEC K-85).
const PAUSE: Duration = Duration::from_millis(100);
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// A worker as the acceptor sees it.
pub struct Post {
    pub mail: Sender<Mail>,
    pub waker: Waker,
    pub status: Arc<Status>,
}

impl Post {
    pub fn send(&self, mail: Mail) {
        // A worker that has ended has drained, or failed and said so.
        let _ = self.mail.send(mail);
        let _ = self.waker.wake();
    }
}

pub struct Acceptor {
    listener: AsyncFd<TcpListener>,
    posts: Vec<Post>,
    room: Arc<Room>,
    max_connections: usize,
    complained: Cell<Option<Instant>>,
}

impl Acceptor {
    /// Call it inside a tokio runtime.
    pub fn new(
        listener: TcpListener,
        posts: Vec<Post>,
        room: Arc<Room>,
        max_connections: usize,
    ) -> io::Result<Acceptor> {
        // SAFETY: a `TcpListener` keeps its descriptor, the same one, until it is dropped.
        let listener = unsafe { AsyncFd::register_with_interest(listener, Interest::READABLE) }?;
        Ok(Acceptor { listener, posts, room, max_connections, complained: Cell::new(None) })
    }

    /// Accepts for ever. Dropping the future between two connections loses none.
    pub async fn run(&self) {
        while let Ok(mut ready) = self.listener.readable().await {
            let replaced = self.room.wait(|| self.find_room()).await;
            match ready.try_io(|listener| accept(listener.get_ref())) {
                Ok(Ok(socket)) => self.hand_over(socket, replaced),
                Ok(Err(error)) => self.rest(&error).await,
                Err(_would_block) => (),
            }
        }
    }

    /// Tells the workers to drain, takes in what waits in the backlog, and closes the listener.
    pub fn drain(self) -> Vec<Post> {
        for post in &self.posts {
            post.send(Mail::Drain);
        }
        while let Ok(socket) = accept(self.listener.get_ref()) {
            self.hand_over(socket, None);
        }
        for post in &self.posts {
            post.send(Mail::Last);
        }
        self.posts
    }

    /// `Some(None)`: below the limit. `Some(Some(worker))`: at the limit, and that worker has the connection that has
    /// been silent longest.
    fn find_room(&self) -> Option<Option<usize>> {
        let open: usize = self.posts.iter().map(|post| post.status.connections()).sum();
        if open < self.max_connections {
            return Some(None);
        }
        let silent = |(worker, post): (usize, &Post)| Some((post.status.oldest()?, worker));
        let (_, worker) = self.posts.iter().enumerate().filter_map(silent).min()?;
        Some(Some(worker))
    }

    fn hand_over(&self, socket: OwnedFd, replaced: Option<usize>) {
        let fewest = |(_, post): &(usize, &Post)| post.status.connections();
        let worker = replaced.or_else(|| Some(self.posts.iter().enumerate().min_by_key(fewest)?.0));
        let post = &self.posts[worker.expect("there is a worker")];
        post.status.handed();
        post.send(Mail::Connection { socket, replace: replaced.is_some() });
    }

    async fn rest(&self, error: &io::Error) {
        // The peer gave up before it was accepted: nothing is short.
        if error.kind() == ErrorKind::ConnectionAborted {
            return;
        }
        if self.complained.get().is_none_or(|last| last.elapsed() >= LOG_INTERVAL) {
            self.complained.set(Some(Instant::now()));
            log::warn!("cannot accept connections, trying again: {error}");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn accept(listener: &TcpListener) -> io::Result<OwnedFd> {
    Ok(accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?)
}
