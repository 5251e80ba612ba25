//! The guard: reads the raw bytes of a request head before any library does, and refuses what two parsers could read
//! differently (SPEC section 6). It must not decide what a response says.
//!
//! An incremental state machine: each call goes on where the last one stopped, the first byte that makes the head
//! unacceptable decides, and so the verdict does not depend on how the bytes were split. What it lets through, httparse
//! and fasthttp read the same way.

mod class;
mod field;
mod line;

use class::{CLASS, TOKEN, VALUE};
use field::Fields;
use hyper::StatusCode;

/// The longest request head, in bytes (K-67).
pub const MAX_HEAD: usize = 16384;
/// The most field lines that are let through (K-67).
pub const MAX_FIELDS: usize = 100;

const BLOCK: usize = 16;

/// The guard's verdict on the bytes that it has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is wrong so far, and the end of the head has not come.
    Partial,
    Complete(Facts),
    /// The status of the response, after which the connection is closed.
    Refused(StatusCode),
}

/// The properties of an accepted head that the server needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Bytes of the forgiven CRLF in front of the head: 0 or 2.
    pub skip: usize,
    /// Bytes of the head, with what is skipped.
    pub length: usize,
    /// Whether a body is announced (K-70).
    pub body: bool,
    /// Whether the connection persists as far as the request goes (RFC 9112 section 9.3).
    pub keep_alive: bool,
}

#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    Start,
    SkippedCr,
    Method,
    Target,
    Version,
    RequestLineCr,
    FieldStart,
    Name,
    Value,
    FieldCr,
    HeadCr,
    Done,
}

/// The scanner of one head.
#[derive(Clone, Default)]
pub struct Guard {
    state: State,
    /// The next byte to look at.
    at: usize,
    /// The beginning of the element that is being read.
    mark: usize,
    method_end: usize,
    target_end: usize,
    name_end: usize,
    skip: usize,
    fields: Fields,
}

type Step = Result<State, StatusCode>;

const BAD_REQUEST: Step = Err(StatusCode::BAD_REQUEST);

impl Guard {
    /// Whether no byte of a head has come, except for a CRLF before it.
    pub fn is_fresh(&self) -> bool {
        matches!(self.state, State::Start | State::SkippedCr)
    }

    /// Goes on with a head. In every call `head` begins with the head's first byte, and holds at least the bytes of the call
    /// before. Bytes after the end of the head are not looked at.
    pub fn scan(&mut self, head: &[u8]) -> Verdict {
        loop {
            let seen = &head[..head.len().min(self.skip + MAX_HEAD)];
            if self.at == seen.len() {
                return match head.len() > seen.len() {
                    true => Verdict::Refused(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE),
                    false => Verdict::Partial,
                };
            }
            match self.step(seen) {
                Ok(State::Done) => return Verdict::Complete(self.facts()),
                Ok(state) => self.state = state,
                Err(status) => return Verdict::Refused(status),
            }
        }
    }

    fn step(&mut self, head: &[u8]) -> Step {
        let byte = head[self.at];
        match self.state {
            State::Start => self.start(byte),
            State::SkippedCr => self.skipped(byte),
            State::Method => self.method(head),
            State::Target => self.target(head),
            State::Version => self.version(head),
            State::RequestLineCr => self.request_line(head),
            State::FieldStart => self.field_start(byte),
            State::Name => self.name(head),
            State::Value => self.value(head),
            State::FieldCr => self.field(head),
            State::HeadCr => self.end(byte),
            State::Done => Ok(State::Done),
        }
    }

    /// Runs over the bytes of one class, and gives the first that is not of it. `None`: the bytes ended first.
    fn run(&mut self, head: &[u8], class: u8) -> Option<u8> {
        let rest = &head[self.at..];
        let length = rest.iter().position(|byte| CLASS[*byte as usize] & class == 0);
        self.at += length.unwrap_or(rest.len());
        length.map(|length| rest[length])
    }

    fn field_start(&mut self, byte: u8) -> Step {
        if byte == b'\r' {
            self.at += 1;
            return Ok(State::HeadCr);
        }
        if CLASS[byte as usize] & TOKEN == 0 {
            return BAD_REQUEST;
        }
        self.fields.count += 1;
        if self.fields.count > MAX_FIELDS {
            return Err(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
        }
        self.mark = self.at;
        Ok(State::Name)
    }

    fn name(&mut self, head: &[u8]) -> Step {
        match self.run(head, TOKEN) {
            None => Ok(State::Name),
            Some(b':') => {
                self.name_end = self.at;
                self.at += 1;
                Ok(State::Value)
            }
            Some(_) => BAD_REQUEST,
        }
    }

    fn value(&mut self, head: &[u8]) -> Step {
        // Most bytes of a head stand in values: go over them in blocks first, which compiles to vector instructions.
        for block in head[self.at..].chunks_exact(BLOCK) {
            let plain = |plain, byte: &u8| plain & (*byte >= b' ') & (*byte != 0x7f);
            if !block.iter().fold(true, plain) {
                break;
            }
            self.at += BLOCK;
        }
        match self.run(head, VALUE) {
            None => Ok(State::Value),
            Some(b'\r') => {
                self.at += 1;
                Ok(State::FieldCr)
            }
            Some(_) => BAD_REQUEST,
        }
    }

    fn field(&mut self, head: &[u8]) -> Step {
        if head[self.at] != b'\n' {
            return BAD_REQUEST;
        }
        let name = &head[self.mark..self.name_end];
        let value = &head[self.name_end + 1..self.at - 1];
        if !self.fields.take(name, value) {
            return BAD_REQUEST;
        }
        self.at += 1;
        Ok(State::FieldStart)
    }

    fn end(&mut self, byte: u8) -> Step {
        if byte != b'\n' || !self.fields.http10 && !self.fields.host {
            return BAD_REQUEST;
        }
        self.at += 1;
        Ok(State::Done)
    }

    fn facts(&self) -> Facts {
        Facts {
            skip: self.skip,
            length: self.at,
            body: self.fields.body,
            keep_alive: self.fields.keep_alive(),
        }
    }
}

#[cfg(test)]
pub mod tests;
