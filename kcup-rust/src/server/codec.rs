//! From a request head's bytes to an answer: hyper as a codec.
//!
//! One hyper connection for each worker reads from, and writes to, memory. It is given exactly one whole head at a time
//! (the guard's), answers it before the call returns, and so holds nothing that belongs to a peer. What hyper would
//! write is not sent: the head of an answer was rendered when the content was loaded. See docs/adr/0002.
//! Sibling: kcup-go/server/codec.go.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::{ready, Future, Ready};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Version};

use super::clock::Clock;
use crate::content::Content;
use crate::respond::{self, Connection, Now};

/// An answer, ready to be written: the head first, then the body.
pub struct Answer<'a> {
    pub head: &'a [u8],
    /// A slice of the loaded content, or a short constant text.
    pub body: Bytes,
    /// Whether the connection persists.
    pub keep_alive: bool,
}

pub struct Codec {
    exchange: Rc<RefCell<Exchange>>,
    connection: Pin<Box<dyn Future<Output = hyper::Result<()>>>>,
    /// The answer's head: the buffer that changes places with the exchange's.
    head: Vec<u8>,
}

/// What passes between the codec, hyper's I/O and the service during one call.
struct Exchange {
    content: Arc<Content>,
    now: Now,
    keep_alive: bool,
    request: Vec<u8>,
    head: Vec<u8>,
    body: Option<Bytes>,
}

impl Codec {
    pub fn new(content: Arc<Content>, clock: &Clock) -> Codec {
        let exchange = Rc::new(RefCell::new(Exchange {
            content,
            now: clock.now().clone(),
            keep_alive: true,
            request: Vec::new(),
            head: Vec::new(),
            body: None,
        }));
        Codec { connection: connection(&exchange), exchange, head: Vec::new() }
    }

    /// What is answered from now on, and when that is. Called once for each batch of events.
    pub fn refresh(&mut self, content: &Arc<Content>, clock: &Clock) {
        let mut exchange = self.exchange.borrow_mut();
        if !Arc::ptr_eq(content, &exchange.content) {
            exchange.content = content.clone();
        }
        if *clock.now() != exchange.now {
            exchange.now = clock.now().clone();
        }
    }

    /// Answers a head that the guard let through; `keep_alive` is whether the connection may persist.
    pub fn answer(&mut self, head: &[u8], keep_alive: bool) -> Answer<'_> {
        {
            let mut exchange = self.exchange.borrow_mut();
            exchange.keep_alive = keep_alive;
            for part in in_origin_form(head) {
                exchange.request.extend_from_slice(part);
            }
            exchange.head.clear();
        }
        let mut context = Context::from_waker(Waker::noop());
        let done = self.connection.as_mut().poll(&mut context).is_ready();
        let mut exchange = self.exchange.borrow_mut();
        std::mem::swap(&mut self.head, &mut exchange.head);
        let unread = !exchange.request.is_empty();
        exchange.request.clear();
        let body = exchange.body.take();
        drop(exchange);
        if done || unread || body.is_none() {
            self.connection = connection(&self.exchange);
        }
        match body {
            Some(body) if !unread => Answer { head: &self.head, body, keep_alive },
            // hyper found fault with a head that the guard let through. No case of it is known.
            _ => {
                log::debug!("a request head passed the guard and not the library");
                self.refuse(StatusCode::BAD_REQUEST)
            }
        }
    }

    /// Answers a head that the guard refused.
    pub fn refuse(&mut self, status: StatusCode) -> Answer<'_> {
        let exchange = self.exchange.borrow();
        let choice = respond::refuse(status);
        self.head.clear();
        let body = choice.render(&exchange.content, &exchange.now, Connection::Close, &mut self.head);
        Answer { head: &self.head, body, keep_alive: false }
    }
}

/// The head without the scheme and authority of a target in absolute form, in parts. Nothing depends on those two, and the
/// guard lets more of them through (K-62) than hyper does, such as a host of more colons than an address has.
fn in_origin_form(head: &[u8]) -> [&[u8]; 3] {
    let target = head.iter().position(|&byte| byte == b' ').map_or(head.len(), |space| space + 1);
    let (method, rest) = head.split_at(target);
    if matches!(rest, [] | [b'/' | b'*', ..]) {
        return [method, b"", rest];
    }
    let authority = rest.iter().position(|&byte| byte == b'/').map_or(0, |slash| slash + 2);
    let length = rest[authority..].iter().position(|byte| b"/? ".contains(byte)).unwrap_or(0);
    let rest = &rest[authority + length..];
    let root: &[u8] = if rest.starts_with(b"/") { b"" } else { b"/" };
    [method, root, rest]
}

fn connection(exchange: &Rc<RefCell<Exchange>>) -> Pin<Box<dyn Future<Output = hyper::Result<()>>>> {
    let service = {
        let exchange = exchange.clone();
        service_fn(move |request| exchange.borrow_mut().serve(request))
    };
    Box::pin(
        http1::Builder::new().auto_date_header(false).serve_connection(Memory(exchange.clone()), service),
    )
}

impl Exchange {
    fn serve(&mut self, request: Request<Incoming>) -> Ready<Result<Response<Empty<Bytes>>, Infallible>> {
        let (mut request, _) = request.into_parts();
        let Exchange { content, now, .. } = self;
        let choice = respond::choose(&request.method, &request.uri, &request.headers, content, now.unix);
        let connection = match (self.keep_alive, request.version) {
            (false, _) => Connection::Close,
            (true, Version::HTTP_10) => Connection::KeepAlive,
            (true, _) => Connection::Silent,
        };
        let body = choice.render(content, now, connection, &mut self.head);
        self.body = Some(match request.method {
            Method::HEAD => Bytes::new(),
            _ => body,
        });
        // hyper takes a response's map back for its next request: no allocation.
        request.headers.clear();
        let mut response = Response::new(Empty::new());
        *response.headers_mut() = request.headers;
        ready(Ok(response))
    }
}

/// hyper's side of the exchange. A read that finds nothing is pending and never the end: ends are the server's matter.
struct Memory(Rc<RefCell<Exchange>>);

impl Read for Memory {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let request = &mut self.0.borrow_mut().request;
        if request.is_empty() {
            return Poll::Pending;
        }
        let length = request.len().min(buffer.remaining());
        buffer.put_slice(&request[..length]);
        request.drain(..length);
        Poll::Ready(Ok(()))
    }
}

impl Write for Memory {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests;
