//! K-47 and K-49.

use super::*;

#[test]
fn if_range_keeps_the_range_only_with_a_strong_validator() {
    let tag = tag();
    let ranged = ("range", "bytes=0-0");
    let of = |validator: &str, now| {
        let fields = [ranged, ("if-range", validator)];
        respond(&request("GET", "/", &fields), &responses(), now).status
    };
    assert_eq!(of(&tag, NOW), 206);
    assert_eq!(of(MODIFIED, NOW), 206);
    assert_eq!(of("Saturday, 21-Nov-26 06:00:00 GMT", NOW), 206);
    for other in [&format!("W/{tag}"), "*", "", "\"x\"", DATE, &format!("{tag}, {tag}")] {
        assert_eq!(of(other, NOW), 200, "{other}");
    }
    assert_eq!(of(MODIFIED, NOW - 3599), 206);
    assert_eq!(of(MODIFIED, NOW - 3600), 200);
    assert_eq!(get(&[ranged, ("if-range", &tag), ("if-range", &tag)]).status, 200);
}

#[test]
fn preconditions_are_evaluated_in_order() {
    let tag = tag();
    let (earlier, later) = ("Sat, 21 Nov 2026 05:59:59 GMT", "Sat, 21 Nov 2026 06:00:01 GMT");
    for (fields, status) in [
        (&[("if-match", &*tag)][..], 200),
        (&[("if-match", "*"), ("if-none-match", "*")], 304),
        (&[("if-match", "\"x\""), ("if-none-match", "*")], 412),
        (&[("if-match", "\"x\""), ("if-match", &*tag)], 200),
        (&[("if-match", &*format!("W/{tag}"))], 412),
        (&[("if-match", &*tag), ("if-unmodified-since", earlier)], 200),
        (&[("if-unmodified-since", earlier)], 412),
        (&[("if-unmodified-since", MODIFIED)], 200),
        (&[("if-unmodified-since", earlier), ("if-unmodified-since", earlier)], 200),
        (&[("if-unmodified-since", "yesterday")], 200),
        (&[("if-none-match", &*format!("W/{tag}"))], 304),
        (&[("if-none-match", "\"x\""), ("if-modified-since", later)], 200),
        (&[("if-none-match", &*format!("{tag} x")), ("if-modified-since", later)], 200),
        (&[("if-modified-since", MODIFIED)], 304),
        (&[("if-modified-since", earlier)], 200),
        (&[("if-modified-since", "Saturday, 21-Nov-26 06:00:00 GMT")], 304),
        (&[("if-modified-since", "Sat Nov 21 06:00:00 2026")], 304),
        (&[("if-modified-since", MODIFIED), ("if-unmodified-since", earlier)], 412),
    ] {
        assert_eq!(get(fields).status, status, "{fields:?}");
    }
}

#[test]
fn preconditions_are_about_the_variant_that_was_selected() {
    let weak = get(&[("accept-encoding", "gzip")]).field("etag").unwrap().to_string();
    assert!(weak.starts_with("W/\"") && weak.ends_with("-gzip\""));
    let strong = tag();
    let of = |name, tag: &str| get(&[("accept-encoding", "gzip"), (name, tag)]).status;
    assert_eq!(of("if-none-match", &weak), 304);
    assert_eq!(of("if-none-match", &weak[2..]), 304);
    assert_eq!(of("if-none-match", &strong), 200);
    assert_eq!(of("if-match", &weak), 412);
    assert_eq!(of("if-match", &strong), 200);
    let same = get(&[("accept-encoding", "gzip"), ("if-none-match", &weak)]);
    assert_eq!(same.field("etag"), Some(&*weak));
}
