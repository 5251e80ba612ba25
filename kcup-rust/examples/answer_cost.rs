//! Answers wrk's request as often as the argument says, for callgrind to count; see `make bench-guard`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Instant, UNIX_EPOCH};

use bytes::Bytes;
use kcup_rust::config::Compression;
use kcup_rust::content::{Content, Settings};
use kcup_rust::server::clock::Clock;
use kcup_rust::server::codec::Codec;
use kcup_rust::server::guard::{Guard, Verdict};

const HEAD: &[u8] = b"GET /content.txt HTTP/1.1\r\nHost: 127.0.0.1:5000\r\n\r\n";

fn main() {
    let times: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1);
    let settings = Settings {
        file_name: None,
        content_type: None,
        headers: Vec::new(),
        compression: Compression::Off,
        path: None,
        plain: false,
    };
    let content = Arc::new(Content::new(Bytes::from_static(b"Hello"), UNIX_EPOCH, &settings));
    let mut codec = Codec::new(content, &Clock::new(Instant::now()));
    for _ in 0..times {
        let Verdict::Complete(facts) = Guard::default().scan(black_box(HEAD)) else {
            unreachable!("the head is whole");
        };
        black_box(codec.answer(&HEAD[..facts.length], facts.keep_alive));
    }
    println!("{times}");
}
