//! A date written as it was read is read as the same second; one with two digits is at most 50 years ahead.
#![no_main]

use kcup_rust::content::calendar::{HttpDate, Moment};
use kcup_rust::respond::date::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|value: &[u8]| {
    for now in [1_767_225_600, 1_835_438_400] {
        if let Some(seconds) = parse(value, now).filter(|_| value.len() == 29) {
            let text = HttpDate(Moment::at(seconds)).to_string();
            assert_eq!(parse(text.as_bytes(), 0), Some(seconds));
        }
    }
});
