//! Owns: which response a request gets, and the heads of responses; dates.
//! Must not: touch sockets, read a clock, copy the content.

pub mod date;
pub mod encoding;
mod head;
pub mod precondition;
pub mod range;
mod responses;

use httparse::Header;
use hyper::StatusCode;

use crate::content::Content;
use encoding::Coding;
use precondition::{Ending, Validators};
use range::Selected;

pub use head::{Body, Now};
pub use responses::Responses;

/// A request, as the codec read it.
pub struct Request<'r> {
    pub method: &'r str,
    /// The path of the target, without its query.
    pub path: &'r str,
    pub fields: &'r [Header<'r>],
}

/// A response that has been chosen, but not rendered.
#[derive(Debug, Clone, Copy)]
pub enum Choice {
    /// The whole content, with the status of `--status`.
    Whole(Coding),
    /// Bytes of the identity representation, both ends included.
    Part {
        first: usize,
        last: usize,
    },
    NotModified(Coding),
    Failure {
        status: StatusCode,
        /// Whether the method is the reason (K-32).
        allow: bool,
    },
}

/// The `connection` field of a response (K-34).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// No field.
    Default,
    Close,
    KeepAlive,
}

impl Choice {
    /// A response without the content: an error, with the text of its status.
    pub fn failure(status: StatusCode) -> Choice {
        Choice::Failure { status, allow: false }
    }
}

/// Chooses the response. `now` is in seconds since 1970. Pure; allocates nothing.
pub fn choose(request: &Request, responses: &Responses, now: i64) -> Choice {
    let Request { method, path, fields } = *request;
    if responses.path.as_ref().is_some_and(|only| path != only) {
        return Choice::failure(StatusCode::NOT_FOUND);
    }
    if method != "GET" && method != "HEAD" {
        return Choice::Failure { status: StatusCode::NOT_FOUND, allow: true };
    }
    let content = &responses.content;
    let negotiated =
        || encoding::choose(values(fields, "accept-encoding"), content.br.is_some(), content.gzip.is_some());
    if responses.status != StatusCode::OK {
        return Choice::Whole(negotiated()); // K-50
    }
    let modified = content.modified.min(now);
    let selected = match method {
        "GET" => selected(fields, content, modified, now),
        _ => None,
    };
    let coding = match selected {
        None => negotiated(),
        Some(_) => Coding::Identity,
    };
    let validators = Validators {
        identity_tag: content.identity.tag.as_bytes(),
        selected_tag: responses.of(coding).0.tag.as_bytes(),
        modified,
    };
    match precondition::evaluate(fields, &validators) {
        Some(Ending::Failed) => return Choice::failure(StatusCode::PRECONDITION_FAILED),
        Some(Ending::NotModified) => return Choice::NotModified(coding),
        None => {}
    }
    match selected {
        None => Choice::Whole(coding),
        Some(Selected::Bytes { first, last }) => Choice::Part { first, last },
        Some(Selected::Unsatisfiable) => Choice::failure(StatusCode::RANGE_NOT_SATISFIABLE),
    }
}

/// The range to send, if the request has one that counts (K-48, K-49).
fn selected(fields: &[Header], content: &Content, modified: i64, now: i64) -> Option<Selected> {
    let range = only(fields, "range")?;
    let keeps = values(fields, "if-range").next().is_none()
        || only(fields, "if-range").is_some_and(|validator| {
            // A date is strong if the content cannot have changed again within its second (RFC 9110 section 8.8.2.2).
            let same_date = || date::parse(validator) == Some(modified) && modified < now;
            validator == content.identity.tag.as_bytes() || same_date()
        });
    match keeps {
        true => range::parse(range, content.identity.body.len()),
        false => None,
    }
}

/// The values of all field lines of one name, which is in lower case, in their order.
fn values<'r>(fields: &'r [Header<'r>], name: &'static str) -> impl Iterator<Item = &'r [u8]> {
    fields.iter().filter(|field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value)
}

/// The value of a field that is there exactly once.
fn only<'r>(fields: &'r [Header<'r>], name: &'static str) -> Option<&'r [u8]> {
    let mut values = values(fields, name);
    match (values.next(), values.next()) {
        (Some(value), None) => Some(trim(value)),
        _ => None,
    }
}

/// Removes the optional white space of RFC 9110 section 5.6.3 around a value.
pub fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests;
