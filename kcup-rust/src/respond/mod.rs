//! Owns: which answer a request head gets from a `Content`, and that answer's head.
//! Must not: touch sockets, read a clock, copy the content.
//! Sibling: kcup-go/respond/respond.go

pub mod date;
pub mod encoding;
mod head;
pub mod precondition;
pub mod range;

use httparse::Header;
use hyper::StatusCode;

use crate::content::{Content, Representation};
use encoding::Coding;
use precondition::{Ending, Validators};
use range::Selected;

pub use head::{Body, Now};

/// A request head, as the codec read it.
pub struct Request<'r> {
    pub method: &'r str,
    /// Of the target, without its query.
    pub path: &'r str,
    pub fields: &'r [Header<'r>],
}

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
pub fn choose<'c>(request: &Request, content: &'c Content, now: i64) -> Choice<'c> {
    let Request { method, path, fields } = *request;
    if content.path.as_ref().is_some_and(|only| path != only) {
        return refuse(StatusCode::NOT_FOUND);
    }
    if method != "GET" && method != "HEAD" {
        return Choice::Failure { status: StatusCode::NOT_FOUND, allow: true };
    }
    let modified = content.modified.min(now);
    let selected = match method {
        "GET" => selected(fields, content, modified, now),
        _ => None,
    };
    let representation = match selected {
        None => negotiate(fields, content),
        Some(_) => &content.identity,
    };
    let validators = Validators {
        identity_tag: content.identity.tag.as_bytes(),
        selected_tag: representation.tag.as_bytes(),
        modified,
    };
    match precondition::evaluate(fields, &validators) {
        Some(Ending::Failed) => return refuse(StatusCode::PRECONDITION_FAILED),
        Some(Ending::NotModified) => return Choice::NotModified(representation),
        None => {}
    }
    match selected {
        None => Choice::Whole(representation),
        Some(Selected::Bytes { first, last }) => Choice::Part { first, last },
        Some(Selected::Unsatisfiable) => refuse(StatusCode::RANGE_NOT_SATISFIABLE),
    }
}

/// K-48 and K-49.
fn selected(fields: &[Header], content: &Content, modified: i64, now: i64) -> Option<Selected> {
    let range = only(fields, "range")?;
    let keeps = values(fields, "if-range").next().is_none()
        || only(fields, "if-range").is_some_and(|validator| {
            // A date is strong when the content cannot have changed again within its second (RFC 9110 section 8.8.2.2).
            let same_date = || date::parse(validator) == Some(modified) && modified < now;
            validator == content.identity.tag.as_bytes() || same_date()
        });
    match keeps {
        true => range::parse(range, content.identity.body.len()),
        false => None,
    }
}

fn negotiate<'c>(fields: &[Header], content: &'c Content) -> &'c Representation {
    let (br, gzip) = (&content.br, &content.gzip);
    let lines = values(fields, "accept-encoding");
    let variant = match encoding::choose(lines, br.is_some(), gzip.is_some()) {
        Coding::Br => br.as_ref(),
        Coding::Gzip => gzip.as_ref(),
        Coding::Identity => None,
    };
    variant.unwrap_or(&content.identity)
}

/// The values of all field lines of one name, which is in lower case, in their order.
fn values<'r>(fields: &'r [Header<'r>], name: &'static str) -> impl Iterator<Item = &'r [u8]> {
    fields.iter().filter(|field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value)
}

/// The value of a field that is given once.
fn only<'r>(fields: &'r [Header<'r>], name: &'static str) -> Option<&'r [u8]> {
    let mut values = values(fields, name);
    match (values.next(), values.next()) {
        (Some(value), None) => Some(trim(value)),
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
