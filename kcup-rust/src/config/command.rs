//! `kcup mta-sts`: its words, its own options, and what they ask for (K-93, K-97 to K-99). Sibling: kcup-go/config/command.go.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::check::{filled, one_of, whole, Checked};
use super::usage::{quoted, unexpected};
use super::{LogFormat, Options, Parsed};
use crate::mta_sts;

/// What is asked of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// What is wrong with it?
    Lint(LogFormat),
    /// Which TXT record belongs to it, maybe as the zone-file line of this domain?
    Txt(Option<String>),
}

struct Verb {
    name: &'static str,
    takes_file: bool,
    options: &'static [&'static str],
}

const VERBS: [Verb; 3] = [
    Verb { name: "lint", takes_file: true, options: &["format"] },
    Verb { name: "txt", takes_file: true, options: &["domain"] },
    Verb { name: "new", takes_file: false, options: &["mode", "mx", "max-age"] },
];

/// What `--help` shows of the verbs.
pub const USAGES: [&str; 3] =
    ["lint [FILE] [--format text|json]", "txt [FILE] [--domain D]", "new --mode M --mx HOST ... --max-age N"];

/// What of a command line is neither an option of the table nor its value.
#[derive(Default)]
pub struct Command {
    is_named: bool,
    verb: Option<&'static Verb>,
    file: Option<OsString>,
    given: Vec<(&'static str, String)>,
}

impl Command {
    pub fn take_word(&mut self, word: OsString) -> Result<(), String> {
        match self.verb {
            None if !self.is_named => {
                self.is_named = word == "mta-sts";
                self.is_named.then_some(()).ok_or_else(|| unexpected(&word))
            }
            None => {
                self.verb = VERBS.iter().find(|verb| word == verb.name);
                let fault = || format!("mta-sts: {} is not one of lint, txt, new", quoted(word.as_bytes()));
                self.verb.map(|_| ()).ok_or_else(fault)
            }
            Some(verb) if verb.takes_file && self.file.is_none() => {
                self.file = Some(word);
                Ok(())
            }
            Some(_) => Err(unexpected(&word)),
        }
    }

    /// The option of the verb that `argument` (`--mode`) names, without its hyphens.
    pub fn option(&self, argument: &[u8]) -> Option<&'static str> {
        let name = argument.strip_prefix(b"--")?;
        self.verb?.options.iter().find(|option| option.as_bytes() == name).copied()
    }

    pub fn take_option(&mut self, name: &'static str, value: &OsStr) {
        self.given.push((name, value.to_string_lossy().into_owned()));
    }

    /// Nothing more stands on the command line.
    pub fn ended(self) -> Result<Command, String> {
        match self.verb {
            None if self.is_named => Err("mta-sts needs one of lint, txt, new".into()),
            _ => Ok(self),
        }
    }

    /// Checks the values of the verb's own options.
    pub fn meaning(self, mut options: Options) -> Result<Parsed, String> {
        let Some(verb) = self.verb else {
            return Ok(Parsed::Serve(options));
        };
        if let Some(file) = &self.file {
            filled(file.as_bytes()).map_err(|wrong| format!("FILE: \"\" {wrong}"))?;
            options.file = Some(file).filter(|file| *file != "-").map(Into::into);
        }
        let question = match verb.name {
            "lint" => Question::Lint(self.last("format", log_format)?.unwrap_or(LogFormat::Text)),
            "txt" => Question::Txt(self.last("domain", domain)?),
            _ => return self.new_policy().map(Parsed::Print),
        };
        Ok(Parsed::Ask(options, question))
    }

    fn new_policy(&self) -> Result<String, String> {
        let mode = self.last("mode", |text| one_of(text, &mta_sts::MODES))?;
        let hosts = self.all("mx", host)?;
        let max_age = self.last("max-age", |text| whole(text, 0..=mta_sts::MAX_MAX_AGE.into()))?;
        let needed = |name| format!("mta-sts new needs --{name}");
        let mode = mode.ok_or_else(|| needed("mode"))?;
        if hosts.is_empty() && mode != mta_sts::Mode::None {
            return Err(needed("mx"));
        }
        let max_age = max_age.ok_or_else(|| needed("max-age"))?;
        mta_sts::policy(mode, &hosts, max_age as u32).map_err(|wrong| format!("mta-sts new: {wrong}"))
    }

    /// Of an option given more than once the last value.
    fn last<T>(&self, name: &str, check: impl Fn(&str) -> Checked<T>) -> Result<Option<T>, String> {
        let given = self.given.iter().rfind(|(given, _)| *given == name);
        given.map(|(_, text)| one(name, text, check)).transpose()
    }

    fn all<T>(&self, name: &str, check: impl Fn(&str) -> Checked<T>) -> Result<Vec<T>, String> {
        let given = self.given.iter().filter(|(given, _)| *given == name);
        given.map(|(_, text)| one(name, text, &check)).collect()
    }
}

fn one<T>(name: &str, text: &str, check: impl Fn(&str) -> Checked<T>) -> Result<T, String> {
    check(text).map_err(|wrong| format!("--{name}: {} {wrong}", quoted(text.as_bytes())))
}

fn log_format(text: &str) -> Checked<LogFormat> {
    one_of(text, &[("text", LogFormat::Text), ("json", LogFormat::Json)])
}

fn domain(text: &str) -> Checked<String> {
    mta_sts::domain(text).map(String::from).ok_or_else(|| "is not a domain name".into())
}

fn host(text: &str) -> Checked<String> {
    match mta_sts::wrong_with(text) {
        Some(wrong) => Err(wrong.into()),
        None => Ok(text.into()),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::super::tests::parse_with;
    use super::*;

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
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance/vectors/mta_sts.toml");
        toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
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
        assert_eq!(
            lint(&["-fy", "mta-sts", "-p1", "lint", "--format", "json"]),
            (file("y"), LogFormat::Json)
        );
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
            (&["lint"], "unexpected argument \"lint\" (see kcup --help)"),
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
}
