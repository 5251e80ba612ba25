//! Responds to wrk's request as often as the argument says, for callgrind to count; see `make bench-guard`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use kcup_rust::config::{self, Parsed};
use kcup_rust::content::{Content, Source};
use kcup_rust::respond::{Now, Responses};
use kcup_rust::server::codec;
use kcup_rust::server::guard::{Guard, Verdict};

const HEAD: &[u8] = b"GET /content.txt HTTP/1.1\r\nHost: 127.0.0.1:5000\r\n\r\n";

fn main() {
    let times: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1);
    let (responses, now, mut out) = (responses(Bytes::from_static(b"Hello")), Now::new(0), Vec::new());
    for _ in 0..times {
        let Verdict::Complete(facts) = Guard::default().scan(black_box(HEAD)) else {
            unreachable!("the head is whole");
        };
        black_box(codec::response(&HEAD[..facts.length], facts.keep_alive, &responses, &now, &mut out));
    }
    println!("{times}");
}

fn responses(bytes: Bytes) -> Arc<Responses> {
    let Ok(Parsed::Serve(options)) = config::parse(["kcup".into()]) else {
        unreachable!("the options are valid");
    };
    let source = Source::new(bytes, Some(UNIX_EPOCH)).expect("it is not empty");
    Arc::new(Responses::new(Content::new(source, &options).expect("it is no policy"), &options))
}
