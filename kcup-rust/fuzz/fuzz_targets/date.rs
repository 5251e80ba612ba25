//! A date that is written again, in the preferred form, is read as the same second.
#![no_main]

use kcup_rust::content::calendar::{HttpDate, Moment};
use kcup_rust::respond::date::parse;
use libfuzzer_sys::fuzz_target;

/// The leap second behind it would be of the year 10000.
const LAST: i64 = 253_402_300_799;

fuzz_target!(|value: &[u8]| {
    for now in [1_767_225_600, 1_835_438_400] {
        if let Some(seconds) = parse(value, now).filter(|seconds| *seconds <= LAST) {
            let text = HttpDate(Moment::at(seconds)).to_string();
            assert_eq!(parse(text.as_bytes(), 0), Some(seconds));
        }
    }
});
