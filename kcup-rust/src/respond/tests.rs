mod preconditions;
mod properties;
mod vectors;

use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;

use super::*;
use crate::config::tests::options;
use crate::content::Source;

/// Sat, 21 Nov 2026 07:00:00 GMT
const NOW: i64 = 1_795_244_400;
const DATE: &str = "Sat, 21 Nov 2026 07:00:00 GMT";
const MODIFIED: &str = "Sat, 21 Nov 2026 06:00:00 GMT";
const TYPE: &str = "text/plain; charset=utf-8";

fn responses_with(args: &[&str]) -> Responses {
    let bytes = Bytes::from("0123456789".repeat(200));
    let modified = UNIX_EPOCH + Duration::from_secs(NOW as u64 - 3600);
    let options = options(&[], args);
    Responses::new(Content::new(Source::new(bytes, Some(modified)).unwrap(), &options).unwrap(), &options)
}

fn responses() -> Responses {
    responses_with(&[])
}

/// A request head's parts, which borrow from nothing but constants and the test's own values.
struct Asked<'r> {
    method: &'r str,
    path: &'r str,
    fields: Vec<Header<'r>>,
}

fn request<'r>(method: &'r str, target: &'r str, fields: &[(&'r str, &'r str)]) -> Asked<'r> {
    let header = |&(name, value): &(&'r str, &'r str)| Header { name, value: value.as_bytes() };
    let path = target.split('?').next().unwrap();
    Asked { method, path, fields: fields.iter().map(header).collect() }
}

struct Response {
    status: u16,
    fields: Vec<(String, String)>,
    body: Bytes,
    /// The address of the body.
    at: *const u8,
}

impl Response {
    fn field(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(named, _)| named == name);
        field.map(|(_, value)| value.as_str())
    }

    fn names(&self) -> Vec<&str> {
        self.fields.iter().map(|(name, _)| name.as_str()).collect()
    }
}

fn respond(asked: &Asked, responses: &Responses, now: i64) -> Response {
    let Asked { method, path, fields } = asked;
    let choice = choose(&Request { method, path, fields }, responses, now);
    rendered(choice, responses, now)
}

fn rendered(choice: Choice, responses: &Responses, now: i64) -> Response {
    let mut head = Vec::new();
    let body = choice.render(responses, &Now::new(now), Persistence::Default, &mut head);
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.strip_suffix("\r\n\r\n").unwrap().split("\r\n");
    let status = lines.next().unwrap().strip_prefix("HTTP/1.1 ").unwrap();
    let field = |line: &str| line.split_once(": ").map(|(name, value)| (name.into(), value.into()));
    Response {
        status: status[..3].parse().unwrap(),
        fields: lines.map(|line| field(line).unwrap()).collect(),
        body: Bytes::copy_from_slice(body.bytes),
        at: body.bytes.as_ptr(),
    }
}

fn get(fields: &[(&str, &str)]) -> Response {
    respond(&request("GET", "/", fields), &responses(), NOW)
}

fn tag() -> String {
    responses().content.identity.tag
}

#[test]
fn a_200_has_its_fields_in_order() {
    let responses = responses_with(&["--header", "x-a: 1", "--header", "x-b: 2"]);
    let whole = respond(&request("GET", "/any?thing", &[("accept-encoding", "br")]), &responses, NOW);
    let names = [
        "content-type", "content-length", "content-encoding", "etag", "last-modified", "accept-ranges",
        "vary", "x-a", "x-b", "date",
    ];
    assert_eq!((whole.status, whole.names()), (200, names.to_vec()));
    assert_eq!(whole.field("content-type"), Some(TYPE));
    assert_eq!(whole.field("content-encoding"), Some("br"));
    assert_eq!(whole.field("last-modified"), Some(MODIFIED));
    assert_eq!(whole.field("vary"), Some("accept-encoding"));
    let part = respond(&request("GET", "/", &[("range", "bytes=1-3")]), &responses, NOW);
    let names = [
        "content-type", "content-length", "content-range", "etag", "last-modified", "accept-ranges", "vary",
        "x-a", "x-b", "date",
    ];
    assert_eq!((part.status, part.names()), (206, names.to_vec()));
    assert_eq!(part.field("content-range"), Some("bytes 1-3/2000"));
    assert_eq!(part.field("content-length"), Some("3"));
    assert_eq!(part.field("etag"), Some(&*tag()));
    assert_eq!(part.body, "123");
    let same = respond(&request("GET", "/", &[("if-none-match", "*")]), &responses, NOW);
    let names = ["etag", "last-modified", "vary", "x-a", "x-b", "date"];
    assert_eq!((same.status, same.names(), same.body.len()), (304, names.to_vec(), 0));
}

#[test]
fn failures_have_their_text_and_what_their_status_demands() {
    let failed = |response: Response, status, text: &str, names: &[&str]| {
        assert_eq!((response.status, &response.body[..]), (status, text.as_bytes()));
        assert_eq!(response.names(), names);
        assert_eq!(response.field("content-type"), Some(TYPE));
        assert_eq!(response.field("content-length"), Some(&*text.len().to_string()));
    };
    let responses = responses_with(&["--path", "/x"]);
    let of = |method, target| respond(&request(method, target, &[("if-match", "x")]), &responses, NOW);
    let plain = ["content-type", "content-length", "date"];
    failed(of("GET", "/x/"), 404, "No such resource", &plain);
    failed(of("POST", "/"), 404, "No such resource", &plain);
    failed(of("GET", "/X"), 404, "No such resource", &plain);
    failed(of("OPTIONS", "*"), 404, "No such resource", &plain);
    let allow = ["content-type", "content-length", "allow", "date"];
    failed(of("POST", "/x?y"), 404, "No such resource", &allow);
    failed(of("get", "/x"), 404, "No such resource", &allow);
    failed(of("GET", "/x"), 412, "Precondition Failed", &plain);
    let ranged = get(&[("range", "bytes=2000-")]);
    assert_eq!(ranged.field("content-range"), Some("bytes */2000"));
    let names = ["content-type", "content-length", "content-range", "date"];
    failed(ranged, 416, "Range Not Satisfiable", &names);
    let refused = rendered(Choice::failure(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE), &responses, NOW);
    failed(refused, 431, "Request Header Fields Too Large", &plain);
}

#[test]
fn a_head_request_is_treated_as_get_but_without_ranges() {
    let fields = [("range", "bytes=0-0"), ("accept-encoding", "gzip"), ("if-range", "x")];
    let head = respond(&request("HEAD", "/", &fields), &responses(), NOW);
    assert_eq!((head.status, head.field("content-encoding")), (200, Some("gzip")));
    let get = get(&fields[1..]);
    assert_eq!(head.fields, get.fields);
}

#[test]
fn a_range_selects_identity_before_preconditions() {
    let tag = tag();
    let of = |fields: &[(&str, &str)]| {
        let fields = [fields, &[("accept-encoding", "br")]].concat();
        let response = get(&fields);
        (response.status, response.field("content-encoding") == Some("br"))
    };
    let ranged = ("range", "bytes=0-0");
    assert_eq!(of(&[ranged]), (206, false));
    assert_eq!(of(&[ranged, ranged]), (200, true));
    assert_eq!(of(&[("range", "bytes=0-0,2-2")]), (200, true));
    assert_eq!(of(&[ranged, ("if-none-match", &tag)]), (304, false));
    assert_eq!(of(&[("range", "bytes=2000-"), ("if-none-match", &tag)]), (304, false));
    assert_eq!(of(&[("if-none-match", &tag)]), (200, true));
    assert_eq!(of(&[ranged, ("if-match", "\"x\"")]), (412, false));
    assert_eq!(of(&[ranged, ("if-match", &tag)]), (206, false));
}

#[test]
fn last_modified_is_never_later_than_date() {
    let set_back = NOW - 7200;
    let fields = [("if-modified-since", "Sat, 21 Nov 2026 05:00:00 GMT")];
    let responses = responses();
    let whole = respond(&request("GET", "/", &[]), &responses, set_back);
    assert_eq!(whole.field("last-modified"), whole.field("date"));
    assert_eq!(respond(&request("GET", "/", &fields), &responses, set_back).status, 304);
    let at = respond(&request("GET", "/", &[]), &responses, NOW - 3600);
    assert_eq!(at.field("last-modified"), Some(MODIFIED));
}

#[test]
fn the_body_is_the_loaded_buffer() {
    let responses = responses();
    let bytes = &responses.content.identity.body;
    let whole = respond(&request("GET", "/", &[]), &responses, NOW);
    assert_eq!((whole.at, whole.body.len()), (bytes.as_ptr(), bytes.len()));
    let part = respond(&request("GET", "/", &[("range", "bytes=7-8")]), &responses, NOW);
    assert_eq!((part.at, part.body.len()), (bytes[7..].as_ptr(), 2));
    let br = respond(&request("GET", "/", &[("accept-encoding", "br")]), &responses, NOW);
    assert_eq!(br.at, responses.content.br.as_ref().unwrap().body.as_ptr());
}

#[test]
fn vary_is_one_line_with_ours_first() {
    let args =
        ["--header", "Vary: origin", "--header", "X-A: 1", "--header", "vary: cookie", "--header", "vary:"];
    let of = |args: &[&str]| {
        let response = respond(&request("GET", "/", &[]), &responses_with(args), NOW);
        assert_eq!(response.names()[5..], ["vary", "x-a", "date"]);
        response.field("vary").unwrap().to_owned()
    };
    assert_eq!(of(&args), "accept-encoding, origin, cookie");
    assert_eq!(of(&[&args[..], &["--compression", "off"]].concat()), "origin, cookie");
}

#[test]
fn the_head_ends_with_the_date_and_what_becomes_of_the_connection() {
    for (persistence, line) in [
        (Persistence::Default, ""),
        (Persistence::Close, "connection: close\r\n"),
        (Persistence::KeepAlive, "connection: keep-alive\r\n"),
    ] {
        let mut head = Vec::new();
        let choice = Choice::failure(StatusCode::NOT_FOUND);
        choice.render(&responses(), &Now::new(NOW), persistence, &mut head);
        let head = String::from_utf8(head).unwrap();
        assert!(head.ends_with(&format!("\r\ndate: {DATE}\r\n{line}\r\n")), "{head}");
    }
}
