//! The request line, and a CRLF that is forgiven before it.

use hyper::StatusCode;

use super::class::{TARGET, TOKEN};
use super::{BAD_REQUEST, Guard, State, Step, field};

/// The longest target, in bytes (K-67).
const MAX_TARGET: usize = 8192;

impl Guard {
    pub(super) fn start(&mut self, byte: u8) -> Step {
        if byte == b'\r' && self.skip == 0 {
            self.at += 1;
            return Ok(State::SkippedCr);
        }
        self.mark = self.at;
        Ok(State::Method)
    }

    pub(super) fn skipped(&mut self, byte: u8) -> Step {
        if byte != b'\n' {
            return BAD_REQUEST;
        }
        self.at += 1;
        self.skip = 2;
        Ok(State::Start)
    }

    pub(super) fn method(&mut self, head: &[u8]) -> Step {
        match self.run(head, TOKEN) {
            None => Ok(State::Method),
            Some(b' ') if self.at > self.mark => {
                self.method_end = self.at;
                self.at += 1;
                self.mark = self.at;
                Ok(State::Target)
            }
            Some(_) => BAD_REQUEST,
        }
    }

    pub(super) fn target(&mut self, head: &[u8]) -> Step {
        let longest = self.mark + MAX_TARGET;
        let end = self.run(&head[..head.len().min(longest + 1)], TARGET);
        if self.at > longest {
            return Err(StatusCode::URI_TOO_LONG);
        }
        match end {
            None => Ok(State::Target),
            Some(b' ') if self.at > self.mark => {
                self.target_end = self.at;
                self.at += 1;
                self.mark = self.at;
                Ok(State::Version)
            }
            Some(_) => BAD_REQUEST,
        }
    }

    pub(super) fn version(&mut self, head: &[u8]) -> Step {
        const USUAL: &[u8] = b"HTTP/1.1\r";
        if self.at == self.mark && head[self.at..].starts_with(USUAL) {
            self.at += USUAL.len();
            return Ok(State::RequestLineCr);
        }
        let byte = head[self.at];
        let right = match self.at - self.mark {
            place @ 0..=4 => byte == b"HTTP/"[place],
            5 | 7 => byte.is_ascii_digit(),
            6 => byte == b'.',
            _ => byte == b'\r',
        };
        if !right {
            return BAD_REQUEST;
        }
        self.at += 1;
        match byte {
            b'\r' => Ok(State::RequestLineCr),
            _ => Ok(State::Version),
        }
    }

    pub(super) fn request_line(&mut self, head: &[u8]) -> Step {
        if head[self.at] != b'\n' {
            return BAD_REQUEST;
        }
        self.at += 1;
        self.fields.http10 = match &head[self.mark + 5..self.mark + 8] {
            b"1.1" => false,
            b"1.0" => true,
            _ => return Err(StatusCode::HTTP_VERSION_NOT_SUPPORTED),
        };
        let method = &head[self.skip..self.method_end];
        let target = &head[self.method_end + 1..self.target_end];
        if method == b"CONNECT" || !field::is_target(method, target) {
            return BAD_REQUEST;
        }
        Ok(State::FieldStart)
    }
}
