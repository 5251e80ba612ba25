//! What the guard lets through, httparse reads: its response is never the 400 that stands in for one.
#![no_main]

use std::cell::RefCell;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use kcup_rust::config::{self, Parsed};
use kcup_rust::content::{Content, Source};
use kcup_rust::respond::{Now, Responses};
use kcup_rust::server::codec;
use kcup_rust::server::guard::{Guard, Verdict};
use libfuzzer_sys::fuzz_target;

thread_local! {
    // One for all heads, as in a worker: a head must not spoil the next.
    static STATE: RefCell<(Arc<Responses>, Vec<u8>)> = RefCell::new((responses(Bytes::from("kcup ".repeat(400))), Vec::new()));
}

fn responses(bytes: Bytes) -> Arc<Responses> {
    let Ok(Parsed::Serve(options)) = config::parse(["kcup".into()]) else {
        unreachable!("the options are valid");
    };
    let source = Source::new(bytes, Some(UNIX_EPOCH)).expect("it is not empty");
    Arc::new(Responses::new(Content::new(source, &options).expect("it is no policy"), &options))
}

fuzz_target!(|head: &[u8]| {
    let Verdict::Complete(facts) = Guard::default().scan(head) else {
        return;
    };
    let keep_alive = facts.keep_alive && !facts.body;
    STATE.with_borrow_mut(|(responses, out)| {
        let response = codec::response(&head[facts.skip..facts.length], keep_alive, responses, &Now::new(0), out);
        assert_eq!(response.keep_alive, keep_alive);
        assert!(!response.head.starts_with(b"HTTP/1.1 400"));
    });
});
