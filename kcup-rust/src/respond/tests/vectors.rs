//! The vectors that both programs have.

use serde::Deserialize;

use super::super::{date, encoding, precondition, range, trim};
use crate::conformance::cases;

#[derive(Deserialize)]
struct Range {
    name: String,
    value: String,
    length: usize,
    want: String,
}

#[test]
fn ranges() {
    for case in cases::<Range>("range") {
        let got = match range::parse(trim(case.value.as_bytes()), case.length) {
            Some(range::Selected::Bytes { first, last }) => format!("{first}-{last}"),
            Some(range::Selected::Unsatisfiable) => "unsatisfiable".into(),
            None => "ignored".into(),
        };
        assert_eq!(got, case.want, "{}", case.name);
    }
}

#[derive(Deserialize)]
struct Encoding {
    name: String,
    lines: Vec<String>,
    available: Vec<String>,
    want: String,
}

#[test]
fn encodings() {
    for case in cases::<Encoding>("accept_encoding") {
        let exists = |coding| case.available.iter().any(|available| available == coding);
        let lines = case.lines.iter().map(String::as_bytes);
        let got = encoding::choose(lines, exists("br"), exists("gzip"));
        assert_eq!(format!("{got:?}").to_lowercase(), case.want, "{}", case.name);
    }
}

#[derive(Deserialize)]
struct Tags {
    name: String,
    lines: Vec<String>,
    tag: String,
    strong: bool,
    weak: bool,
}

#[test]
fn tags() {
    for case in cases::<Tags>("etag") {
        let matches = |same| {
            let lines = case.lines.iter().map(String::as_bytes);
            precondition::matches(lines, case.tag.as_bytes(), same)
        };
        assert_eq!(matches(precondition::same_strongly), case.strong, "{}", case.name);
        assert_eq!(matches(precondition::same_weakly), case.weak, "{}", case.name);
    }
}

#[derive(Deserialize)]
struct Date {
    name: String,
    value: String,
    want: Option<i64>,
}

#[test]
fn dates() {
    for case in cases::<Date>("date") {
        assert_eq!(date::parse(case.value.as_bytes()), case.want, "{}", case.name);
    }
}
