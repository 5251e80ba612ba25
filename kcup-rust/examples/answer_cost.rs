use std::hint::black_box;
use std::sync::Arc;
use std::time::{Instant, UNIX_EPOCH};

use kcup_rust::config::Compression;
use kcup_rust::content::{Content, Settings};
use kcup_rust::server::clock::Clock;
use kcup_rust::server::codec::Codec;
use kcup_rust::server::guard::{Guard, Verdict};

fn main() {
    let times: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1);
    let settings = Settings {
        file_name: None,
        content_type: None,
        headers: vec![],
        compression: Compression::Off,
        path: None,
    };
    let content = Arc::new(Content::new(vec![b'x'; 66].into(), UNIX_EPOCH, &settings));
    let mut clock = Clock::new(Instant::now());
    clock.update();
    let mut codec = Codec::new(content.clone(), &clock);
    codec.refresh(&content, &clock);
    let head = b"GET /content.txt HTTP/1.1\r\nHost: 127.0.0.1:18001\r\n\r\n";
    for _ in 0..times {
        if let Verdict::Complete(_) = Guard::default().scan(black_box(head)) {
            let a = codec.answer(head, true);
            black_box((a.head.len(), a.body.bytes.len()));
        }
    }
}
