use serde::Deserialize;

use super::*;
use crate::config::tests::parse_with;
use crate::conformance;

#[derive(Deserialize)]
struct Vectors {
    new: Vec<New>,
    txt: Vec<Txt>,
}

#[derive(Deserialize)]
struct New {
    name: String,
    args: Vec<String>,
    policy: Option<String>,
    refused: Option<String>,
}

#[derive(Deserialize)]
struct Txt {
    name: String,
    policy: String,
    args: Vec<String>,
    printed: Option<String>,
    refused: Option<String>,
}

fn vectors() -> Vectors {
    conformance::file("mta_sts")
}

fn asked(verb: &str, args: &[String]) -> Result<Parsed, String> {
    let args = args.iter().map(String::as_str);
    parse_with(&[], &["mta-sts", verb].into_iter().chain(args).collect::<Vec<_>>())
}

#[test]
fn new_prints_or_refuses_what_the_vectors_say() {
    for vector in vectors().new {
        match asked("new", &vector.args) {
            Ok(Parsed::Print(policy)) => assert_eq!(Some(policy), vector.policy, "{}", vector.name),
            Err(fault) => assert_eq!(Some(fault), vector.refused, "{}", vector.name),
            other => panic!("{}: {other:?}", vector.name),
        }
    }
}

#[test]
fn txt_answers_or_refuses_what_the_vectors_say() {
    for vector in vectors().txt {
        match (asked("txt", &vector.args), vector.printed) {
            (Ok(Parsed::Ask(_, Question::Txt(domain))), Some(want)) => {
                let record = mta_sts::record(vector.policy.as_bytes());
                let line = domain.map(|domain| mta_sts::zone_line(&domain, &record));
                assert_eq!(line.unwrap_or(record) + "\n", want, "{}", vector.name);
            }
            (Ok(Parsed::Ask(..)), None) => assert!(vector.refused.is_none(), "{}", vector.name),
            (Err(fault), _) => assert_eq!(Some(fault), vector.refused, "{}", vector.name),
            other => panic!("{}: {other:?}", vector.name),
        }
    }
}

#[test]
fn words_and_options_stand_in_any_order_that_the_contract_has() {
    let lint = |args: &[&str]| match parse_with(&[("FILE", "v")], args) {
        Ok(Parsed::Ask(options, Question::Lint(format))) => (options.file, format),
        other => panic!("{args:?}: {other:?}"),
    };
    let file = |name: &str| Some(name.into());
    assert_eq!(lint(&["mta-sts", "lint"]), (file("v"), LogFormat::Text));
    assert_eq!(lint(&["mta-sts", "lint", "x"]), (file("x"), LogFormat::Text));
    assert_eq!(lint(&["mta-sts", "lint", "-"]), (None, LogFormat::Text));
    assert_eq!(lint(&["-fy", "mta-sts", "-p1", "lint", "--format", "json"]), (file("y"), LogFormat::Json));
    assert_eq!(lint(&["mta-sts", "lint", "--format=json", "x", "--format=text"]).1, LogFormat::Text);
    assert_eq!(lint(&["mta-sts", "lint", "--", "--x"]).0, file("--x"));
    assert_eq!(lint(&["--", "mta-sts", "lint", "x"]).0, file("x"));
}

#[test]
fn faults_are_worded_as_promised() {
    for (args, want) in [
        (&["mta-sts"][..], "mta-sts needs one of lint, txt, new"),
        (&["mta-sts", "--port=1"], "mta-sts needs one of lint, txt, new"),
        (&["mta-sts", "x"], "mta-sts: \"x\" is not one of lint, txt, new"),
        (&["mta-sts", ""], "mta-sts: \"\" is not one of lint, txt, new"),
        (&["lint", "a"], "unexpected argument \"a\" (see kcup --help)"),
        (&["mta-sts", "lint", "a", "b"], "unexpected argument \"b\" (see kcup --help)"),
        (&["mta-sts", "new", "a"], "unexpected argument \"a\" (see kcup --help)"),
        (&["mta-sts", "lint", "--domain=a"], "unknown option \"--domain\" (see kcup --help)"),
        (&["--format=json", "mta-sts", "lint"], "unknown option \"--format\" (see kcup --help)"),
        (&["mta-sts", "--format=json", "lint"], "unknown option \"--format\" (see kcup --help)"),
        (&["mta-sts", "lint", "--format"], "--format needs a value"),
        (&["mta-sts", "lint", "--format=xml"], "--format: \"xml\" is not one of text, json"),
        (&["mta-sts", "lint", ""], "FILE: \"\" is empty"),
        (
            &["mta-sts", "lint", "--format=x", "-p", "x"],
            "--port: \"x\" is not a whole number from 0 to 65535",
        ),
    ] {
        assert_eq!(parse_with(&[], args).unwrap_err(), want, "{args:?}");
    }
}
