//! What the guard lets through, httparse reads: its answer is never the 400 that stands in for one.
#![no_main]

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Instant, UNIX_EPOCH};

use bytes::Bytes;
use kcup_rust::config::Compression;
use kcup_rust::content::{Content, Settings};
use kcup_rust::server::clock::Clock;
use kcup_rust::server::codec::Codec;
use kcup_rust::server::guard::{Guard, Verdict};
use libfuzzer_sys::fuzz_target;

thread_local! {
    // One for all heads, as in a worker: what one leaves behind must not spoil the next.
    static CODEC: RefCell<Codec> = RefCell::new(codec());
}

fn codec() -> Codec {
    let settings = Settings {
        file_name: None,
        content_type: None,
        headers: Vec::new(),
        compression: Compression::Auto,
        path: None,
        plain: false,
    };
    let content = Content::new(Bytes::from("kcup ".repeat(400)), UNIX_EPOCH, &settings);
    Codec::new(Arc::new(content), &Clock::new(Instant::now()))
}

fuzz_target!(|head: &[u8]| {
    let Verdict::Complete(facts) = Guard::default().scan(head) else {
        return;
    };
    let keep_alive = facts.keep_alive && !facts.body;
    CODEC.with_borrow_mut(|codec| {
        let answer = codec.answer(&head[facts.skip..facts.length], keep_alive);
        assert_eq!(answer.keep_alive, keep_alive);
        assert!(!answer.head.starts_with(b"HTTP/1.1 400"));
    });
});
