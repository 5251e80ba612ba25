//! The response heads of one version of the content, rendered when it is loaded: only what depends on the request or on the
//! current second is left to write. The order is that of K-40.

use std::ops::Range;

use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue, VARY};

use super::date;
use super::encoding::Coding;
use crate::config::Options;
use crate::content::{Content, Representation};

/// One version of the content, and every response head that it may need.
#[derive(Debug)]
pub struct Responses {
    pub content: Content,
    /// The only path served; `None` is any path.
    pub path: Option<String>,
    /// The status of [`Choice::Whole`](super::Choice): that of `--status`.
    pub status: StatusCode,
    identity: Heads,
    br: Option<Heads>,
    gzip: Option<Heads>,
    /// The head of a 206, up to `content-length`,
    pub part_start: Vec<u8>,
    /// and from `etag` up to `date`.
    pub part_end: Block,
}

/// The heads of one representation.
#[derive(Debug)]
pub struct Heads {
    /// The response with the whole of it, up to `date`.
    pub whole: Block,
    /// A 304, up to `date`.
    pub not_modified: Block,
}

/// Whole field lines, with a `last-modified` among them if they have validators.
#[derive(Debug)]
pub struct Block {
    pub bytes: Vec<u8>,
    /// The place of the value of `last-modified`.
    pub date: Option<Range<usize>>,
}

impl Responses {
    /// Renders the head of every response that this content can have.
    pub fn new(content: Content, options: &Options) -> Responses {
        let vary_and_headers = vary_and_headers(content.br.is_some(), &options.headers);
        let modified = date::http(content.modified);
        let block = |mut bytes: Vec<u8>, tag: &str, accepts_ranges: bool| {
            line(&mut bytes, "etag", tag);
            line(&mut bytes, "last-modified", &modified);
            let end = bytes.len() - b"\r\n".len();
            if accepts_ranges {
                line(&mut bytes, "accept-ranges", "bytes");
            }
            bytes.extend_from_slice(&vary_and_headers);
            Block { bytes, date: Some(end - modified.len()..end) }
        };
        let start = |status: StatusCode| {
            let mut start = format!("HTTP/1.1 {status}\r\n").into_bytes();
            line(&mut start, "content-type", &content.media_type);
            start
        };
        let heads = |Representation { body, tag }: &Representation, coding: Option<&str>| {
            let mut whole = start(options.status);
            line(&mut whole, "content-length", body.len().to_string());
            if let Some(coding) = coding {
                line(&mut whole, "content-encoding", coding);
            }
            let whole = match options.status {
                StatusCode::OK => block(whole, tag, true),
                _ => Block { bytes: [whole, vary_and_headers.clone()].concat(), date: None },
            };
            let not_modified = b"HTTP/1.1 304 Not Modified\r\n".to_vec();
            Heads { whole, not_modified: block(not_modified, tag, false) }
        };
        Responses {
            path: options.path.clone(),
            status: options.status,
            identity: heads(&content.identity, None),
            br: content.br.as_ref().map(|br| heads(br, Some("br"))),
            gzip: content.gzip.as_ref().map(|gzip| heads(gzip, Some("gzip"))),
            part_start: start(StatusCode::PARTIAL_CONTENT),
            part_end: block(Vec::new(), &content.identity.tag, true),
            content,
        }
    }

    /// The representation of a coding, which is identity if there are no variants.
    pub fn of(&self, coding: Coding) -> (&Representation, &Heads) {
        let Content { identity, br, gzip, .. } = &self.content;
        let variant = match coding {
            Coding::Br => br.as_ref().zip(self.br.as_ref()),
            Coding::Gzip => gzip.as_ref().zip(self.gzip.as_ref()),
            Coding::Identity => None,
        };
        variant.unwrap_or((identity, &self.identity))
    }
}

/// `vary`, ours and then that of `--header`, then the other fields of `--header`.
fn vary_and_headers(has_variants: bool, headers: &[(HeaderName, HeaderValue)]) -> Vec<u8> {
    let ours = has_variants.then_some(&b"accept-encoding"[..]);
    let theirs = headers.iter().filter(|(name, _)| name == VARY).map(|(_, value)| value.as_bytes());
    let vary: Vec<_> = ours.into_iter().chain(theirs).filter(|value| !value.is_empty()).collect();
    let mut lines = Vec::new();
    if !vary.is_empty() {
        line(&mut lines, "vary", vary.join(&b", "[..]));
    }
    for (name, value) in headers.iter().filter(|(name, _)| name != VARY) {
        line(&mut lines, name.as_str(), value);
    }
    lines
}

/// Writes a field line.
fn line(head: &mut Vec<u8>, name: &str, value: impl AsRef<[u8]>) {
    for part in [name.as_bytes(), b": ", value.as_ref(), b"\r\n"] {
        head.extend_from_slice(part);
    }
}
