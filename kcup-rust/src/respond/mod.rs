//! Owns: which answer a request head gets from a `Content`, and that answer's head.
//! Must not: touch sockets, read a clock, copy the content.
//! Sibling: kcup-go/respond/respond.go

pub mod date;
pub mod encoding;
mod head;
pub mod precondition;
pub mod range;

use hyper::header::{HeaderMap, HeaderName, ACCEPT_ENCODING, IF_RANGE, RANGE};
use hyper::{Method, StatusCode, Uri};

use crate::content::{Content, Representation};
use encoding::Coding;
use precondition::{Ending, Validators};
use range::Selected;

pub use head::Now;

/// An answer that has been chosen, not yet rendered.
#[derive(Debug, Clone, Copy)]
pub enum Choice<'c> {
    Whole(&'c Representation),
    /// Bytes of the identity, both ends included.
    Part {
        first: usize,
        last: usize,
    },
    NotModified(&'c Representation),
    Failure {
        status: StatusCode,
        /// Whether it is for the method's sake (K-32).
        allow: bool,
    },
}

/// The `connection` field of an answer (K-34).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    Silent,
    Close,
    KeepAlive,
}

/// The answer to a head that the guard refused.
pub fn refuse(status: StatusCode) -> Choice<'static> {
    Choice::Failure { status, allow: false }
}

/// Chooses the answer. `now` is in seconds since 1970. Pure; allocates nothing.
pub fn choose<'c>(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    content: &'c Content,
    now: i64,
) -> Choice<'c> {
    if content.path.as_ref().is_some_and(|path| uri.path() != path) {
        return refuse(StatusCode::NOT_FOUND);
    }
    if method != Method::GET && method != Method::HEAD {
        return Choice::Failure { status: StatusCode::NOT_FOUND, allow: true };
    }
    let Asked { range, encoding, conditions } = Asked::of(headers);
    let modified = content.modified.min(now);
    let selected = match range && method == Method::GET {
        true => selected(headers, content, modified, now),
        false => None,
    };
    let representation = match selected {
        None if encoding => negotiate(headers, content),
        _ => &content.identity,
    };
    if conditions {
        let validators = Validators {
            identity_tag: content.identity.tag.as_bytes(),
            selected_tag: representation.tag.as_bytes(),
            modified,
            now,
        };
        match precondition::evaluate(headers, &validators) {
            Some(Ending::Failed) => return refuse(StatusCode::PRECONDITION_FAILED),
            Some(Ending::NotModified) => return Choice::NotModified(representation),
            None => {}
        }
    }
    match selected {
        None => Choice::Whole(representation),
        Some(Selected::Bytes { first, last }) => Choice::Part { first, last },
        Some(Selected::Unsatisfiable) => refuse(StatusCode::RANGE_NOT_SATISFIABLE),
    }
}

/// What a request asks for besides the content: most ask for nothing, and this costs less than looking up each field.
#[derive(Default)]
struct Asked {
    range: bool,
    encoding: bool,
    conditions: bool,
}

impl Asked {
    fn of(headers: &HeaderMap) -> Asked {
        let mut asked = Asked::default();
        for name in headers.keys() {
            match name.as_str() {
                "range" => asked.range = true,
                "accept-encoding" => asked.encoding = true,
                "if-match" | "if-none-match" | "if-modified-since" | "if-unmodified-since" => {
                    asked.conditions = true;
                }
                _ => {}
            }
        }
        asked
    }
}

/// K-48 and K-49.
fn selected(headers: &HeaderMap, content: &Content, modified: i64, now: i64) -> Option<Selected> {
    let range = only(headers, RANGE)?;
    let keeps = !headers.contains_key(IF_RANGE)
        || only(headers, IF_RANGE).is_some_and(|validator| {
            // A date is strong when the content cannot have changed again within its second (RFC 9110 section 8.8.2.2).
            let same_date = || date::parse(validator, now) == Some(modified) && modified < now;
            validator == content.identity.tag.as_bytes() || same_date()
        });
    match keeps {
        true => range::parse(range, content.identity.body.len()),
        false => None,
    }
}

fn negotiate<'c>(headers: &HeaderMap, content: &'c Content) -> &'c Representation {
    let (br, gzip) = (&content.br, &content.gzip);
    let lines = headers.get_all(ACCEPT_ENCODING).iter().map(|value| value.as_bytes());
    let variant = match encoding::choose(lines, br.is_some(), gzip.is_some()) {
        Coding::Br => br.as_ref(),
        Coding::Gzip => gzip.as_ref(),
        Coding::Identity => None,
    };
    variant.unwrap_or(&content.identity)
}

/// The value of a field that is given once.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&[u8]> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Some(trim(value.as_bytes())),
        _ => None,
    }
}

/// Without the optional white space of RFC 9110 section 5.6.3 around it.
pub fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests;
