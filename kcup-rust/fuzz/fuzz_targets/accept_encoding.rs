//! The coding chosen is one that exists. LF, which no value can contain, separates the lines of the field.
#![no_main]

use kcup_rust::respond::encoding::{choose, Coding};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|lines: &[u8]| {
    for (br, gzip) in [(false, false), (true, false), (false, true), (true, true)] {
        match choose(lines.split(|&byte| byte == b'\n'), br, gzip) {
            Coding::Br => assert!(br),
            Coding::Gzip => assert!(gzip),
            Coding::Identity => (),
        }
    }
});
