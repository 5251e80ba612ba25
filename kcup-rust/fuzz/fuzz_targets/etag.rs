//! What matches strongly matches weakly. LF, which no value can contain, separates the lines of the field.
#![no_main]

use kcup_rust::respond::precondition::{matches, same_strongly, same_weakly};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|lines: &[u8]| {
    let lines = || lines.split(|&byte| byte == b'\n');
    for tag in ["\"abc\"", "W/\"abc-br\""] {
        let strongly = matches(lines(), tag.as_bytes(), same_strongly);
        assert!(!strongly || matches(lines(), tag.as_bytes(), same_weakly));
    }
});
