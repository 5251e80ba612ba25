//! The head of an answer, from what was rendered when the content was loaded (SPEC K-35, K-36, K-40).

use std::io::Write;

use hyper::StatusCode;

use super::{Choice, Connection};
use crate::content::calendar::{HttpDate, Moment};
use crate::content::{Block, Content, Shared};

/// The current second, and its `date` field, rendered once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Now {
    /// Seconds since 1970.
    pub unix: i64,
    line: String,
}

impl Now {
    pub fn new(unix: i64) -> Now {
        Now { unix, line: format!("date: {}\r\n", HttpDate(Moment::at(unix))) }
    }

    /// The field, with its end.
    pub fn line(&self) -> &str {
        &self.line
    }
}

/// The body of an answer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Body<'c> {
    pub bytes: &'c [u8],
    /// What `bytes` is a slice of; nothing for a short constant text.
    pub of: Option<&'c Shared>,
}

impl Connection {
    fn line(self) -> &'static str {
        match self {
            Connection::Silent => "",
            Connection::Close => "connection: close\r\n",
            Connection::KeepAlive => "connection: keep-alive\r\n",
        }
    }
}

impl<'c> Choice<'c> {
    /// Writes the head to the end of `head`, and gives the body: a slice of what was loaded, or a short constant text. A
    /// HEAD gets the same head; that its body is not sent is the caller's business.
    pub fn render(
        &self,
        content: &'c Content,
        now: &Now,
        connection: Connection,
        head: &mut Vec<u8>,
    ) -> Body<'c> {
        let body = match *self {
            Choice::Whole(representation) => {
                block(&representation.ok, content, now, head);
                Body { bytes: &representation.body, of: Some(&representation.body) }
            }
            Choice::NotModified(representation) => {
                block(&representation.not_modified, content, now, head);
                Body::default()
            }
            Choice::Part { first, last } => {
                part(first, last, content, now, head);
                let all = &content.identity.body;
                Body { bytes: &all[first..=last], of: Some(all) }
            }
            Choice::Failure { status, allow } => {
                Body { bytes: failure(status, allow, content, head).as_bytes(), of: None }
            }
        };
        for end in [&now.line, connection.line(), "\r\n"] {
            head.extend_from_slice(end.as_bytes());
        }
        body
    }
}

/// What was rendered at load. Its `last-modified` is never later than `date`: where the clock was set back it is written
/// anew (K-42).
fn block(block: &Block, content: &Content, now: &Now, head: &mut Vec<u8>) {
    if now.unix >= content.modified {
        return head.extend_from_slice(block.bytes());
    }
    let (before, after) = block.around_last_modified();
    head.extend_from_slice(before);
    write(head, format_args!("{}", HttpDate(Moment::at(now.unix))));
    head.extend_from_slice(after);
}

fn part(first: usize, last: usize, content: &Content, now: &Now, head: &mut Vec<u8>) {
    let (length, all) = (last - first + 1, content.identity.body.len());
    head.extend_from_slice(&content.part.start);
    write(head, format_args!("content-length: {length}\r\ncontent-range: bytes {first}-{last}/{all}\r\n"));
    block(&content.part.rest, content, now, head);
}

/// An answer that says nothing of the content but, perhaps, its length.
fn failure(status: StatusCode, allow: bool, content: &Content, head: &mut Vec<u8>) -> &'static str {
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
        let all = content.identity.body.len();
        write(head, format_args!("content-range: bytes */{all}\r\n"));
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
