//! The head of a response, from the parts that were rendered when the content was loaded (K-35, K-36, K-40).

use std::io::Write;

use hyper::StatusCode;

use super::responses::{Block, Responses};
use super::{Choice, Persistence, date};
use crate::content::Shared;

/// The current second, with its `date` field.
#[derive(Debug)]
pub struct Now {
    /// Seconds since 1970.
    pub unix: i64,
    line: String,
}

impl Now {
    /// `unix` is in seconds since 1970.
    pub fn new(unix: i64) -> Now {
        Now { unix, line: format!("date: {}\r\n", date::http(unix)) }
    }
}

/// The body of a response.
#[derive(Debug, Clone, Copy, Default)]
pub struct Body<'r> {
    pub bytes: &'r [u8],
    /// The shared bytes that `bytes` is a slice of; `None` for a short constant text.
    pub of: Option<&'r Shared>,
}

impl Persistence {
    fn line(self) -> &'static str {
        match self {
            Persistence::Default => "",
            Persistence::Close => "connection: close\r\n",
            Persistence::KeepAlive => "connection: keep-alive\r\n",
        }
    }
}

impl Choice {
    /// Appends the head to `head`, and returns the body. The head is the same for HEAD, whose caller does not send the body.
    pub fn render<'r>(
        self,
        responses: &'r Responses,
        now: &Now,
        persistence: Persistence,
        head: &mut Vec<u8>,
    ) -> Body<'r> {
        let all = &responses.content.identity.body;
        let body = match self {
            Choice::Whole(coding) => {
                let (representation, heads) = responses.of(coding);
                block(&heads.whole, responses, now, head);
                Body { bytes: &representation.body, of: Some(&representation.body) }
            }
            Choice::NotModified(coding) => {
                block(&responses.of(coding).1.not_modified, responses, now, head);
                Body::default()
            }
            Choice::Part { first, last } => {
                let (length, total) = (last - first + 1, all.len());
                head.extend_from_slice(&responses.part_start);
                write(
                    head,
                    format_args!(
                        "content-length: {length}\r\ncontent-range: bytes {first}-{last}/{total}\r\n"
                    ),
                );
                block(&responses.part_end, responses, now, head);
                Body { bytes: &all[first..=last], of: Some(all) }
            }
            Choice::Failure { status, allow } => {
                Body { bytes: failure(status, allow, all.len(), head).as_bytes(), of: None }
            }
        };
        for end in [&now.line, persistence.line(), "\r\n"] {
            head.extend_from_slice(end.as_bytes());
        }
        body
    }
}

/// Appends a rendered block. Its `last-modified` is never later than `date`: if the clock was set back, it is written again
/// (K-42).
fn block(block: &Block, responses: &Responses, now: &Now, head: &mut Vec<u8>) {
    match &block.date {
        Some(place) if now.unix < responses.content.modified => {
            head.extend_from_slice(&block.bytes[..place.start]);
            head.extend_from_slice(date::http(now.unix).as_bytes());
            head.extend_from_slice(&block.bytes[place.end..]);
        }
        _ => head.extend_from_slice(&block.bytes),
    }
}

/// Appends the head of a response without content, which is `total` bytes long, and returns its body.
fn failure(status: StatusCode, allow: bool, total: usize, head: &mut Vec<u8>) -> &'static str {
    let reason = status.canonical_reason().unwrap_or_default();
    let body = match status {
        StatusCode::NOT_FOUND => "No such resource",
        _ => reason,
    };
    let (code, length) = (status.as_u16(), body.len());
    write(
        head,
        format_args!(
            "HTTP/1.1 {code} {reason}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\n"
        ),
    );
    if status == StatusCode::RANGE_NOT_SATISFIABLE {
        write(head, format_args!("content-range: bytes */{total}\r\n"));
    }
    if allow {
        head.extend_from_slice(b"allow: GET, HEAD\r\n");
    }
    body
}

fn write(head: &mut Vec<u8>, text: std::fmt::Arguments) {
    // Writing to a Vec does not fail.
    let _ = head.write_fmt(text);
}
