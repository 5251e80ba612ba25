//! From a request head's bytes to an answer: httparse, hyper's own parser, as a codec.
//!
//! It is given exactly one whole head at a time (the guard's), and holds nothing that belongs to a peer. The head of an
//! answer was rendered when the content was loaded. See docs/adr/0002. Sibling: kcup-go/server/codec.go.

use std::mem::MaybeUninit;
use std::sync::Arc;

use hyper::StatusCode;

use super::clock::Clock;
use super::guard::MAX_FIELDS;
use crate::content::Content;
use crate::respond::{self, Body, Choice, Connection, Now, Request};

/// An answer, ready to be written: the head first, then the body.
pub struct Answer<'a> {
    pub head: &'a [u8],
    pub body: Body<'a>,
    /// What both are of.
    pub content: &'a Arc<Content>,
    /// Whether the connection persists.
    pub keep_alive: bool,
}

impl Answer<'_> {
    /// The status code, as the head says it.
    pub fn status(&self) -> u16 {
        self.head[9..12].iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0'))
    }
}

/// What a worker answers with: the content, the time, and the buffer that heads are written to.
pub struct Codec {
    content: Arc<Content>,
    now: Now,
    head: Vec<u8>,
}

impl Codec {
    pub fn new(content: Arc<Content>, clock: &Clock) -> Codec {
        Codec { content, now: clock.now().clone(), head: Vec::new() }
    }

    /// What is answered from now on, and when that is. Called once for each batch of events.
    pub fn refresh(&mut self, content: &Arc<Content>, clock: &Clock) {
        if !Arc::ptr_eq(content, &self.content) {
            self.content = content.clone();
        }
        if *clock.now() != self.now {
            self.now = clock.now().clone();
        }
    }

    /// Answers a head that the guard let through; `keep_alive` is whether the connection may persist.
    pub fn answer(&mut self, head: &[u8], keep_alive: bool) -> Answer<'_> {
        let mut fields = [const { MaybeUninit::uninit() }; MAX_FIELDS];
        let mut read = httparse::Request::new(&mut []);
        let whole =
            read.parse_with_uninit_headers(head, &mut fields).is_ok_and(|status| status.is_complete());
        let (true, Some(method), Some(target)) = (whole, read.method, read.path) else {
            // httparse found fault with a head that the guard let through. No case of it is known.
            log::debug!("a request head passed the guard and not the library");
            return self.refuse(StatusCode::BAD_REQUEST);
        };
        let request = Request { method, path: path(target), fields: read.headers };
        let choice = respond::choose(&request, &self.content, self.now.unix);
        let connection = match (keep_alive, read.version) {
            (false, _) => Connection::Close,
            (true, Some(0)) => Connection::KeepAlive,
            (true, _) => Connection::Silent,
        };
        let answer = render(choice, &self.content, &self.now, connection, &mut self.head);
        match method {
            "HEAD" => Answer { body: Body::default(), ..answer },
            _ => answer,
        }
    }

    /// Answers a head that the guard refused.
    pub fn refuse(&mut self, status: StatusCode) -> Answer<'_> {
        render(respond::refuse(status), &self.content, &self.now, Connection::Close, &mut self.head)
    }
}

fn render<'a>(
    choice: Choice<'a>,
    content: &'a Arc<Content>,
    now: &Now,
    connection: Connection,
    head: &'a mut Vec<u8>,
) -> Answer<'a> {
    head.clear();
    let body = choice.render(content, now, connection, head);
    Answer { head, body, content, keep_alive: connection != Connection::Close }
}

/// The path of a target (RFC 9112 section 3.2), without its query. In absolute form an empty one is `/` (K-33).
fn path(target: &str) -> &str {
    let path = if target.starts_with(['/', '*']) { target } else { behind_authority(target) };
    let end = path.bytes().position(|byte| byte == b'?').unwrap_or(path.len());
    match &path[..end] {
        "" => "/",
        path => path,
    }
}

/// What follows `http://` and an authority.
fn behind_authority(target: &str) -> &str {
    let authority = target.find("//").map_or(0, |slashes| slashes + 2);
    let end = target[authority..].find(['/', '?']);
    end.map_or("", |end| &target[authority + end..])
}

#[cfg(test)]
mod tests;
