use std::time::UNIX_EPOCH;

use bytes::Bytes;

use super::*;
use crate::config::tests::options;
use crate::content::{Content, Source};
use crate::server::guard::tests::accepted_heads;

/// The state that a worker keeps from one head to the next.
struct Codec {
    responses: Arc<Responses>,
    head: Vec<u8>,
}

impl Codec {
    fn new(bytes: &'static [u8]) -> Codec {
        let source = Source::new(Bytes::from_static(bytes), Some(UNIX_EPOCH)).unwrap();
        let options = options(&[], &[]);
        let responses = Responses::new(Content::new(source, &options).unwrap(), &options);
        Codec { responses: Arc::new(responses), head: Vec::new() }
    }

    fn respond(&mut self, head: &[u8], keep_alive: bool) -> Response<'_> {
        response(head, keep_alive, &self.responses, &Now::new(0), &mut self.head)
    }

    fn refuse(&mut self, status: StatusCode) -> Response<'_> {
        refusal(status, &self.responses, &Now::new(0), &mut self.head)
    }
}

fn head(response: &Response) -> String {
    String::from_utf8(response.head.to_vec()).unwrap()
}

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";

#[test]
fn the_body_is_the_loaded_buffer_itself() {
    let mut codec = Codec::new(b"hello");
    let responses = codec.responses.clone();
    for _ in 0..2 {
        let response = codec.respond(GET, true);
        assert_eq!(response.body.bytes.as_ptr_range(), responses.content.identity.body.as_ptr_range());
        assert_eq!(response.body.bytes, b"hello");
        assert!(response.keep_alive);
        assert!(head(&response).starts_with("HTTP/1.1 200 OK\r\n"));
        assert!(head(&response).ends_with("\r\n\r\n"));
    }
}

#[test]
fn a_range_is_a_slice_of_the_loaded_buffer() {
    let mut codec = Codec::new(b"hello");
    let responses = codec.responses.clone();
    let response = codec.respond(b"GET / HTTP/1.1\r\nhost: a\r\nrange: bytes=1-3\r\n\r\n", true);
    assert_eq!(response.body.bytes.as_ptr_range(), responses.content.identity.body[1..4].as_ptr_range());
}

#[test]
fn the_path_is_what_stands_before_the_query() {
    for (target, want) in [
        ("/a/b?c?d", "/a/b"),
        ("/", "/"),
        ("/?x", "/"),
        ("*", "*"),
        ("http://a", "/"),
        ("http://a?x", "/"),
        ("HTTPS://a:1/b?x", "/b"),
        ("/a://b", "/a://b"),
        ("/?http://a/b", "/"),
    ] {
        assert_eq!(path(target), want, "{target}");
    }
}

#[test]
fn head_has_the_fields_of_get_and_no_body() {
    let mut codec = Codec::new(b"hello");
    let get = head(&codec.respond(GET, true));
    let response = codec.respond(b"HEAD / HTTP/1.1\r\nhost: a\r\n\r\n", true);
    assert_eq!(head(&response), get);
    assert!(response.body.bytes.is_empty());
}

#[test]
fn the_version_is_ours_and_a_kept_http_1_0_connection_says_so() {
    let mut codec = Codec::new(b"hello");
    let request = b"GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n";
    let response = head(&codec.respond(request, true));
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert!(response.ends_with("\r\nconnection: keep-alive\r\n\r\n"), "{response}");
}

#[test]
fn a_codec_goes_on_after_one_connection_was_closed() {
    let mut codec = Codec::new(b"hello");
    let response = codec.respond(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n", false);
    assert!(head(&response).ends_with("\r\nconnection: close\r\n\r\n"));
    assert!(!response.keep_alive);
    assert!(codec.respond(GET, true).keep_alive);
    assert!(!codec.refuse(StatusCode::URI_TOO_LONG).keep_alive);
    assert!(codec.respond(GET, true).keep_alive);
}

#[test]
fn what_the_guard_lets_through_the_library_reads_too() {
    let mut codec = Codec::new(b"hello");
    for (name, request, facts) in accepted_heads() {
        let keep_alive = facts.keep_alive && !facts.body;
        let response = codec.respond(&request[facts.skip..facts.length], keep_alive);
        assert_eq!(response.keep_alive, keep_alive, "{name}");
        assert!(!head(&response).starts_with("HTTP/1.1 400"), "{name}: {}", head(&response));
    }
}

#[test]
fn the_status_of_a_response_is_that_of_its_head() {
    let mut codec = Codec::new(b"hello");
    assert_eq!(codec.respond(GET, true).status(), 200);
    assert_eq!(codec.respond(b"POST / HTTP/1.1\r\nhost: a\r\n\r\n", true).status(), 404);
    for status in [400, 414, 431, 505] {
        assert_eq!(codec.refuse(StatusCode::from_u16(status).unwrap()).status(), status);
    }
}
