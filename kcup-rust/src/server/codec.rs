//! From a request head's bytes to a response. httparse, hyper's own parser, reads them.
//!
//! It is given exactly one whole head at a time, which the guard let through. See docs/adr/0002.

use std::mem::MaybeUninit;
use std::sync::Arc;

use hyper::StatusCode;

use super::guard::MAX_FIELDS;
use crate::respond::{self, Body, Choice, Now, Persistence, Request, Responses};

/// A response, ready to be written: first the head, then the body.
pub struct Response<'a> {
    pub head: &'a [u8],
    pub body: Body<'a>,
    pub responses: &'a Arc<Responses>,
    /// Whether the connection persists.
    pub keep_alive: bool,
}

impl Response<'_> {
    /// The status code, from the head.
    pub fn status(&self) -> u16 {
        self.head[9..12].iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0'))
    }
}

/// Responds to a head that the guard let through. The response's head is written to `out`. `keep_alive` is whether the
/// connection may persist.
pub fn response<'a>(
    head: &[u8],
    keep_alive: bool,
    responses: &'a Arc<Responses>,
    now: &Now,
    out: &'a mut Vec<u8>,
) -> Response<'a> {
    let mut fields = [const { MaybeUninit::uninit() }; MAX_FIELDS];
    let mut read = httparse::Request::new(&mut []);
    let whole = read.parse_with_uninit_headers(head, &mut fields).is_ok_and(|status| status.is_complete());
    let (true, Some(method), Some(target)) = (whole, read.method, read.path) else {
        // httparse refuses a head that the guard let through. No such head is known.
        return refusal(StatusCode::BAD_REQUEST, responses, now, out);
    };
    let request = Request { method, path: path(target), fields: read.headers };
    let choice = respond::choose(&request, responses, now.unix);
    let persistence = match (keep_alive, read.version) {
        (false, _) => Persistence::Close,
        (true, Some(0)) => Persistence::KeepAlive,
        (true, _) => Persistence::Default,
    };
    let response = render(choice, persistence, responses, now, out);
    match method {
        "HEAD" => Response { body: Body::default(), ..response },
        _ => response,
    }
}

/// Responds to a head that the guard refused.
pub fn refusal<'a>(
    status: StatusCode,
    responses: &'a Arc<Responses>,
    now: &Now,
    out: &'a mut Vec<u8>,
) -> Response<'a> {
    render(Choice::failure(status), Persistence::Close, responses, now, out)
}

fn render<'a>(
    choice: Choice,
    persistence: Persistence,
    responses: &'a Arc<Responses>,
    now: &Now,
    out: &'a mut Vec<u8>,
) -> Response<'a> {
    out.clear();
    let body = choice.render(responses, now, persistence, out);
    Response { head: out, body, responses, keep_alive: persistence != Persistence::Close }
}

/// The path of a target (RFC 9112 section 3.2), without its query. In absolute form an empty one is `/` (K-33).
fn path(target: &str) -> &str {
    let path = if target.starts_with(['/', '*']) { target } else { after_authority(target) };
    match path.split('?').next() {
        None | Some("") => "/",
        Some(path) => path,
    }
}

/// The part of a target in absolute form that follows its authority.
fn after_authority(target: &str) -> &str {
    let authority = target.find("//").map_or(0, |slashes| slashes + 2);
    let end = target[authority..].find(['/', '?']);
    end.map_or("", |end| &target[authority + end..])
}

#[cfg(test)]
mod tests;
