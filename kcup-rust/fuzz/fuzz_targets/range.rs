//! What a range selects lies within the content.
#![no_main]

use kcup_rust::respond::range::{parse, Selected};
use kcup_rust::respond::trim;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|value: &[u8]| {
    for length in [1, 10, 1_000_000] {
        if let Some(Selected::Bytes { first, last }) = parse(trim(value), length) {
            assert!(first <= last && last < length);
        }
    }
});
