//! A request allocates nothing, from the guard's first byte to the response's head, and neither does its access log line.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use kcup_rust::access_log::{AccessLog, Peer};
use kcup_rust::config::{self, LineFormat, Parsed};
use kcup_rust::content::{Content, Source};
use kcup_rust::respond::{Now, Responses};
use kcup_rust::server::codec;
use kcup_rust::server::guard::{Guard, Verdict};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all work is the system allocator's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: as for the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as for the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const REQUEST: &[u8] = b"GET /.well-known/mta-sts.txt HTTP/1.1\r\nhost: mta-sts.example.com\r\n\
    user-agent: curl/8.0\r\naccept: */*\r\naccept-encoding: gzip, br\r\nif-none-match: \"x\"\r\n\
    forwarded: for=x, for=\"[2001:db8:1::1]:4711\"\r\nx-forwarded-for: x, 2001:db8:1::1, 2001:db8::2\r\n\r\n";

fn responses(bytes: Bytes) -> Arc<Responses> {
    let Ok(Parsed::Serve(options)) = config::parse(["kcup".into()]) else {
        unreachable!("the options are valid");
    };
    let source = Source::new(bytes, Some(UNIX_EPOCH)).expect("it is not empty");
    Arc::new(Responses::new(Content::new(source, &options).expect("it is no policy"), &options))
}

/// One test, since the counter is the whole process's.
#[test]
fn a_request_allocates_nothing() {
    let (responses, now) = (responses(Bytes::from(vec![b'x'; 10240])), Now::new(0));
    let mut head = Vec::new();
    let mut exchange = || {
        let Verdict::Complete(facts) = Guard::default().scan(REQUEST) else {
            panic!("the guard refuses the request");
        };
        let response = codec::response(&REQUEST[..facts.length], true, &responses, &now, &mut head);
        assert!(response.keep_alive);
    };
    const ROUNDS: usize = 1000;
    (0..10).for_each(|_| exchange());
    let before = ALLOCATIONS.load(Relaxed);
    (0..ROUNDS).for_each(|_| exchange());
    assert_eq!(ALLOCATIONS.load(Relaxed) - before, 0, "in {ROUNDS} requests");
    lines_allocate_nothing();
}

/// While as many batches wait as the writer allows: one that is handed over then comes back.
fn lines_allocate_nothing() {
    let proxies = match config::parse(["kcup".into(), "--trusted-proxy=2001:db8::/48".into()]) {
        Ok(Parsed::Serve(options)) => options.trusted_proxies,
        _ => unreachable!("the options are valid"),
    };
    for format in [LineFormat::Common, LineFormat::Json] {
        let log = AccessLog::new(format, proxies.clone());
        let mut lines = log.lines(1);
        let peer = Peer::Address("2001:db8::1".parse().unwrap());
        let mut line = || lines.add(peer, Some(REQUEST), 200, 10240, 0);
        while log.lost().load(Relaxed) == 0 {
            line();
        }
        let before = ALLOCATIONS.load(Relaxed);
        (0..1000).for_each(|_| line());
        assert_eq!(ALLOCATIONS.load(Relaxed) - before, 0, "in 1000 lines, {format:?}");
    }
}
