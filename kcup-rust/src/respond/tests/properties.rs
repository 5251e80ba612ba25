//! Properties that hold for all input.

use proptest::prelude::*;

use super::super::{date, encoding, precondition, range};
use super::{NOW, request, respond, responses};

proptest! {
    #[test]
    fn a_range_lies_within_the_content(value in "(bytes=)?[0-9, \t-]*", length in 1usize..) {
        if let Some(range::Selected::Bytes { first, last }) = range::parse(value.as_bytes(), length) {
            prop_assert!(first <= last && last < length);
        }
    }

    #[test]
    fn a_range_is_what_it_says(first in 0usize..100, last in 0usize..100, length in 1usize..100) {
        let want = match (first, last) {
            _ if last < first => None,
            _ if first >= length => Some(range::Selected::Unsatisfiable),
            _ => Some(range::Selected::Bytes { first, last: last.min(length - 1) }),
        };
        prop_assert_eq!(range::parse(format!("bytes={first}-{last}").as_bytes(), length), want);
    }

    #[test]
    fn no_bytes_make_a_parser_panic(bytes: Vec<u8>) {
        range::parse(&bytes, 10);
        encoding::choose([&bytes[..]].into_iter(), true, true);
        let strong = precondition::matches([&bytes[..]].into_iter(), b"\"a\"", precondition::same_strongly);
        let weak = precondition::matches([&bytes[..]].into_iter(), b"\"a\"", precondition::same_weakly);
        prop_assert!(weak || !strong);
    }

    #[test]
    fn a_date_is_read_as_it_was_written(seconds in 0i64..=253_402_300_799) {
        prop_assert_eq!(date::parse(date::http(seconds).as_bytes()), Some(seconds));
    }

    #[test]
    fn a_variant_that_is_chosen_exists(line in "((br|gzip|identity|\\*)(;q=[01](\\.[0-9])?)?,? ?)*", br: bool, gzip: bool) {
        match encoding::choose([line.as_bytes()].into_iter(), br, gzip) {
            encoding::Coding::Br => prop_assert!(br),
            encoding::Coding::Gzip => prop_assert!(gzip),
            encoding::Coding::Identity => {}
        }
    }

    #[test]
    fn every_response_is_whole(
        range in "bytes=[0-9]{0,5}-[0-9]{0,5}",
        encoding in "(br|gzip|identity)(;q=0)?",
        tag in "(\\*|W/\"x\"|\"x\")",
    ) {
        let responses = responses();
        let fields = [("range", &*range), ("accept-encoding", &*encoding), ("if-none-match", &*tag)];
        let response = respond(&request("GET", "/", &fields), &responses, NOW);
        let length = response.field("content-length").map(|length| length.parse().unwrap());
        prop_assert_eq!(length.unwrap_or(0), response.body.len());
        prop_assert!([200, 206, 304, 416].contains(&response.status));
    }
}
