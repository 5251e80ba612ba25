//! Owns: which answer a request head gets from a `Content`, and that answer's fields.
//! Must not: touch sockets, read a clock, copy the content.
//! Sibling: kcup-go/respond/respond.go

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, StatusCode, Uri};

use crate::content::Content;

/// An answer that has been chosen, not yet rendered.
#[derive(Debug, Clone, Copy)]
pub enum Choice<'c> {
    Todo(&'c Content),
}

/// Chooses the answer. `now` is in seconds since 1970. Pure; allocates nothing.
pub fn choose<'c>(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    content: &'c Content,
    now: u64,
) -> Choice<'c> {
    let _ = (method, uri, headers, content, now);
    todo!()
}

/// The answer to a head that the guard refused: K-36's body and fields for `status`.
pub fn refuse(status: StatusCode) -> Choice<'static> {
    let _ = status;
    todo!()
}

/// Puts the answer's fields into `out` (empty, reused) in K-40's order, except `connection`, and gives the status and the
/// body: a slice of the loaded buffer. To a HEAD the body is not sent; that is the caller's business.
pub fn fill(
    choice: &Choice,
    content: &Content,
    date: &HeaderValue,
    out: &mut HeaderMap,
) -> (StatusCode, Bytes) {
    let _ = (choice, content, date, out);
    todo!()
}
