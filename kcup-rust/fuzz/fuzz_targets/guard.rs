//! A head's verdict does not depend on how its bytes were split, nor on what follows it.
#![no_main]

use kcup_rust::server::guard::{Guard, Verdict};
use libfuzzer_sys::fuzz_target;

fn in_pieces(head: &[u8], piece: usize) -> Verdict {
    let mut guard = Guard::default();
    for end in (piece..head.len()).step_by(piece) {
        match guard.scan(&head[..end]) {
            Verdict::Partial => (),
            verdict => return verdict,
        }
    }
    guard.scan(head)
}

fuzz_target!(|head: &[u8]| {
    let whole = Guard::default().scan(head);
    for piece in [1, 7] {
        assert_eq!(in_pieces(head, piece), whole);
    }
    if let Verdict::Complete(facts) = whole {
        assert_eq!(Guard::default().scan(&head[..facts.length]), whole);
    }
});
