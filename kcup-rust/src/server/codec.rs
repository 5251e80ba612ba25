//! From a request head's bytes to an answer's: hyper as a codec.
//!
//! One hyper connection for each worker reads from, and writes to, memory. It is given exactly one whole head at a time
//! (the guard's), answers it before the call returns, and so holds nothing that belongs to a peer; see
//! docs/adr/0002. Sibling: kcup-go/server/codec.go.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::{ready, Future, Ready};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderValue, CONNECTION};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};

use super::clock::Clock;
use crate::content::Content;
use crate::respond;

/// An answer, ready to be written: the head first, then the body.
pub struct Answer<'a> {
    pub head: &'a [u8],
    /// A slice of the loaded content, or a short constant text.
    pub body: Bytes,
    /// Whether the connection persists.
    pub keep_alive: bool,
}

pub struct Codec {
    exchange: Rc<Exchange>,
    connection: Pin<Box<dyn Future<Output = hyper::Result<()>>>>,
    head: Vec<u8>,
}

/// What passes between the codec, hyper's I/O and the service during one call.
struct Exchange {
    input: RefCell<Vec<u8>>,
    output: RefCell<Vec<u8>>,
    body: RefCell<Option<Bytes>>,
    content: RefCell<Arc<Content>>,
    date: RefCell<HeaderValue>,
    now: Cell<u64>,
    keep_alive: Cell<bool>,
}

impl Codec {
    pub fn new(content: Arc<Content>, clock: &Clock) -> Codec {
        let exchange = Rc::new(Exchange {
            input: RefCell::default(),
            output: RefCell::default(),
            body: RefCell::default(),
            content: RefCell::new(content),
            date: RefCell::new(clock.date().clone()),
            now: Cell::new(clock.unix()),
            keep_alive: Cell::new(true),
        });
        Codec {
            connection: connection(&exchange),
            exchange,
            head: Vec::new(),
        }
    }

    /// What is answered from now on, and when that is. Called once for each batch of events.
    pub fn refresh(&mut self, content: &Arc<Content>, clock: &Clock) {
        let exchange = &self.exchange;
        if !Arc::ptr_eq(content, &exchange.content.borrow()) {
            exchange.content.replace(content.clone());
        }
        if exchange.now.replace(clock.unix()) != clock.unix() {
            exchange.date.replace(clock.date().clone());
        }
    }

    /// Answers a head that the guard let through; `keep_alive` is whether the connection may persist.
    pub fn answer(&mut self, head: &[u8], keep_alive: bool) -> Answer<'_> {
        let exchange = &self.exchange;
        exchange.keep_alive.set(keep_alive);
        exchange.input.borrow_mut().extend_from_slice(head);
        let done = self
            .connection
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_ready();
        let unread = !exchange.input.borrow().is_empty();
        let body = exchange.body.take();
        self.head.clear();
        self.head.append(&mut exchange.output.borrow_mut());
        if done || unread || !keep_alive {
            exchange.input.borrow_mut().clear();
            self.connection = connection(&self.exchange);
        }
        match body {
            Some(body) if !unread => {
                send_own_version(&mut self.head);
                Answer {
                    head: &self.head,
                    body,
                    keep_alive: keep_alive && !done,
                }
            }
            // hyper found fault with a head that the guard let through. No case of it is known.
            _ => {
                log::warn!("a request head passed the guard and not the library");
                self.refuse(StatusCode::BAD_REQUEST)
            }
        }
    }

    /// Answers a head that the guard refused.
    pub fn refuse(&mut self, status: StatusCode) -> Answer<'_> {
        let mut fields = HeaderMap::new();
        let choice = respond::refuse(status);
        let content = self.exchange.content.borrow();
        let date = self.exchange.date.borrow();
        let (status, body) = respond::fill(&choice, &content, &date, &mut fields);
        fields.insert(CONNECTION, HeaderValue::from_static("close"));
        self.head.clear();
        self.head
            .extend_from_slice(format!("HTTP/1.1 {status}\r\n").as_bytes());
        for (name, value) in &fields {
            for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                self.head.extend_from_slice(part);
            }
        }
        self.head.extend_from_slice(b"\r\n");
        Answer {
            head: &self.head,
            body,
            keep_alive: false,
        }
    }
}

/// hyper repeats the request's minor version; a server states its own (RFC 9110 section 6.2).
fn send_own_version(head: &mut [u8]) {
    head[b"HTTP/1.".len()] = b'1';
}

fn connection(exchange: &Rc<Exchange>) -> Pin<Box<dyn Future<Output = hyper::Result<()>>>> {
    let service = {
        let exchange = exchange.clone();
        service_fn(move |request| exchange.serve(request))
    };
    Box::pin(
        http1::Builder::new()
            .auto_date_header(false)
            .serve_connection(Memory(exchange.clone()), service),
    )
}

impl Exchange {
    fn serve(&self, request: Request<Incoming>) -> Ready<Result<Response<Full<Bytes>>, Infallible>> {
        let (mut request, _) = request.into_parts();
        let content = self.content.borrow();
        let choice = respond::choose(
            &request.method,
            &request.uri,
            &request.headers,
            &content,
            self.now.get(),
        );
        // The request's map becomes the answer's: no allocation.
        request.headers.clear();
        let mut fields = request.headers;
        let (status, body) = respond::fill(&choice, &content, &self.date.borrow(), &mut fields);
        if !self.keep_alive.get() {
            fields.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        self.body.replace(Some(match request.method {
            hyper::Method::HEAD => Bytes::new(),
            _ => body.clone(),
        }));
        let mut response = Response::new(Full::new(body));
        *response.status_mut() = status;
        *response.headers_mut() = fields;
        ready(Ok(response))
    }
}

/// hyper's side of the exchange. A read that finds nothing is pending and never the end: ends are the server's matter.
struct Memory(Rc<Exchange>);

impl Read for Memory {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut input = self.0.input.borrow_mut();
        if input.is_empty() {
            return Poll::Pending;
        }
        let length = input.len().min(buffer.remaining());
        buffer.put_slice(&input[..length]);
        input.drain(..length);
        Poll::Ready(Ok(()))
    }
}

impl Write for Memory {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    /// Keeps the head. The body is passed over here, and later written from where it was loaded.
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let body = self.0.body.borrow();
        let is_body = |slice: &IoSlice<'_>| {
            body.as_ref()
                .is_some_and(|body| !body.is_empty() && slice.as_ptr() == body.as_ptr())
        };
        let mut output = self.0.output.borrow_mut();
        for slice in slices.iter().filter(|slice| !is_body(slice)) {
            output.extend_from_slice(slice);
        }
        Poll::Ready(Ok(slices.iter().map(|slice| slice.len()).sum()))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
