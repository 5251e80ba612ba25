use proptest::prelude::*;
use serde::Deserialize;

use super::rules::ALL;
use super::*;
use crate::conformance::{self, Parts};

#[derive(Deserialize)]
struct Vectors {
    rule: Vec<RuleRow>,
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct RuleRow {
    rule: String,
    severity: String,
    message: String,
    section: String,
    breaks: Vec<String>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    policy: Parts,
    findings: Vec<Found>,
    more: Option<usize>,
    id: Option<String>,
    json: Option<String>,
}

#[derive(Deserialize)]
struct Found {
    rule: String,
    text: String,
    times: Option<usize>,
}

impl Case {
    /// The rule and the line of each finding that is told.
    fn told(&self) -> Vec<(&str, String)> {
        let lines = |found: &'_ Found| {
            let (number, text) = found.text.split_once(':').unwrap();
            let number: usize = number.parse().unwrap();
            (number..number + found.times.unwrap_or(1))
                .map(|line| format!("{line}:{text}"))
                .collect::<Vec<_>>()
        };
        self.findings
            .iter()
            .flat_map(|found| lines(found).into_iter().map(|line| (&*found.rule, line)))
            .collect()
    }
}

fn vectors() -> Vectors {
    conformance::file("mta_sts")
}

#[test]
fn the_rules_are_those_of_the_table() {
    let rows = vectors().rule;
    assert_eq!(rows.len(), ALL.len());
    for (want, rule) in rows.iter().zip(ALL) {
        let row = rule.row();
        assert_eq!(
            (row.slug, row.severity.to_string(), row.message, row.section, row.breaks),
            (
                &*want.rule,
                want.severity.clone(),
                &*want.message,
                &*want.section,
                &*want.breaks.iter().map(String::as_str).collect::<Vec<_>>()
            )
        );
    }
}

#[test]
fn every_vector_has_its_findings() {
    let mut wrong = Vec::new();
    for case in vectors().case {
        let findings = lint(&case.policy.bytes());
        let found: Vec<_> = findings.lines("a b").collect();
        let more = case.more.map(|more| format!("a b: and {more} more"));
        let want: Vec<_> =
            case.told().into_iter().map(|(_, line)| format!("a b:{line}")).chain(more).collect();
        if found != want {
            wrong.push((case.name, found, want));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_vector_without_an_error_has_its_id() {
    for case in vectors().case {
        let policy = case.policy.bytes();
        assert_eq!(case.id.is_none(), lint(&policy).has_error, "{}", case.name);
        if let Some(id) = case.id {
            assert_eq!(record(&policy), format!("v=STSv1; id={id};"), "{}", case.name);
        }
    }
}

#[test]
fn json_is_what_a_parser_reads() {
    for case in vectors().case {
        let text = lint(&case.policy.bytes()).json("<stdin>");
        assert_eq!(case.json.as_ref().unwrap_or(&text), &text, "{}", case.name);
        let serde_json::Value::Array(mut read) = serde_json::from_str(&text).unwrap() else {
            panic!("{text}");
        };
        if let Some(more) = case.more {
            assert_eq!(read.pop().unwrap()["more"], more, "{}", case.name);
        }
        let rules: Vec<_> = read.iter().map(|one| one["rule"].as_str().unwrap()).collect();
        let told = case.told();
        assert_eq!(rules, told.iter().map(|(rule, _)| *rule).collect::<Vec<_>>(), "{}", case.name);
        for (one, (_, line)) in read.iter().zip(&told) {
            let message = one["message"].as_str().unwrap();
            let start = format!(
                "{}:{}: {}: {message} (",
                one["line"],
                one["column"],
                one["severity"].as_str().unwrap()
            );
            assert!(line.starts_with(&start), "{}: {start}", case.name);
        }
    }
}

#[test]
fn a_domain_loses_one_dot_and_nothing_else() {
    let longest = format!("{}bb", "a.".repeat(121));
    for good in ["example.com", "test", "xn--mller-kva.example", &longest] {
        assert_eq!(domain(good), Some(good));
        assert_eq!(domain(&format!("{good}.")), Some(good));
    }
    for bad in ["", ".", "..", "a..", "a b", "_mta-sts.a", "*.a", "-a", "é", &format!("{longest}b")] {
        assert_eq!(domain(bad), None, "{bad}");
    }
    assert_eq!(zone_line("a.b", "v=STSv1; id=0;"), "_mta-sts.a.b. IN TXT \"v=STSv1; id=0;\"");
}

#[test]
fn a_new_policy_is_refused_when_it_is_too_long() {
    let host = format!("{}b", "a.".repeat(126));
    let many = |count| policy(Mode::Testing, &vec![host.clone(); count], 86_400);
    assert!(many(252).is_ok_and(|policy| !lint(policy.as_bytes()).has_error));
    assert_eq!(many(253), Err("the policy is over 65536 bytes"));
}

/// Lines that are mostly right, and random ones.
fn policies() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        "(version|mode|max_age|mx|[ -~]{0,8})[ :]{0,2}(STSv1|enforce|none|[0-9]{0,11}|[*.a-z0-9-]{0,20})[ \r]{0,2}"
            .prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..40),
    ];
    prop::collection::vec(line, 0..8).prop_map(|lines| lines.join(&b'\n'))
}

proptest! {
    #[test]
    fn findings_lie_within_the_policy_and_in_order(policy in policies()) {
        let findings = lint(&policy);
        let lines: Vec<_> = policy.split(|byte| *byte == b'\n').collect();
        for finding in &findings.first {
            prop_assert!((1..=lines.len()).contains(&finding.line));
            prop_assert!((1..=lines[finding.line - 1].len() + 1).contains(&finding.column));
        }
        prop_assert!(findings.first.is_sorted());
    }

    #[test]
    fn line_ends_change_neither_findings_nor_id(policy in policies()) {
        let policy: Vec<u8> = policy.into_iter().filter(|byte| *byte != b'\r').collect();
        let crlf = served(&policy);
        prop_assert_eq!(record(&policy), record(&crlf));
        prop_assert_eq!(lint(&policy), lint(&crlf));
        prop_assert_eq!(served(&crlf), crlf);
    }

    #[test]
    fn a_new_policy_has_no_error(
        mode in prop::sample::select(MODES.map(|(_, mode)| mode).to_vec()),
        hosts in prop::collection::vec("([*]\\.)?[a-zA-Z0-9*._ -]{1,12}|(\\*\\.)?[a-z0-9]{1,9}(\\.[a-z]{1,5}){0,2}", 1..5),
        max_age in 0..=MAX_MAX_AGE,
    ) {
        let hosts: Vec<String> = hosts.into_iter().filter(|host| wrong_with(host).is_none()).collect();
        prop_assume!(!hosts.is_empty() || mode == Mode::None);
        let policy = policy(mode, &hosts, max_age).unwrap();
        prop_assert!(!lint(policy.as_bytes()).has_error, "{policy}");
        prop_assert_eq!(served(policy.as_bytes()), policy.into_bytes());
    }

    #[test]
    fn a_host_is_refused_for_a_new_policy_where_lint_finds_an_error(host in "[ -~]{1,20}|[a-z*.:-]{1,9}") {
        prop_assume!(host.trim_matches([' ', '\t']) == host);
        let text = format!("version: STSv1\nmode: testing\nmx: {host}\nmax_age: 86400\n");
        prop_assert_eq!(wrong_with(&host).is_some(), lint(text.as_bytes()).has_error);
    }
}
