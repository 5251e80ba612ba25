//! The commands: serving, `kcup healthcheck` (K-110), and `kcup mta-sts` with its words and its own options (K-93, K-97 to
//! K-99).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::check::{filled, one_of, whole, word, Checked};
use super::options::Options;
use super::value::{quoted, Host, LogFormat};
use crate::mta_sts;

/// A command, with its options.
#[derive(Debug)]
pub enum Parsed {
    /// Serve with these options.
    Serve(Options),
    /// Answer a question about the policy that these options name.
    Ask(Options, Question),
    /// Check the health of the server that these options would start.
    CheckHealth(Options),
    /// Print this on standard output: help, the version, or a new policy.
    Print(String),
}

/// A question about a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Is anything wrong with it?
    Lint(LogFormat),
    /// Its TXT record, or the zone-file line of it for this domain.
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

/// The usage lines of `--help`.
pub const USAGES: [&str; 4] = [
    "healthcheck [OPTIONS]",
    "mta-sts lint [FILE] [--format text|json]",
    "mta-sts txt [FILE] [--domain D]",
    "mta-sts new --mode M --mx HOST ... --max-age N",
];

/// The words so far.
#[derive(Default)]
enum Words {
    #[default]
    None,
    /// A file to serve, and nothing else (K-01a).
    File,
    Healthcheck,
    MtaSts,
    Verb(&'static Verb),
}

/// The parts of a command line that are neither options of the table nor their values.
#[derive(Default)]
pub struct Command {
    words: Words,
    file: Option<OsString>,
    given: Vec<(&'static str, String)>,
}

impl Command {
    pub fn take_word(&mut self, word: OsString) -> Result<(), String> {
        match self.words {
            Words::None if word == "healthcheck" => self.words = Words::Healthcheck,
            Words::None if word == "mta-sts" => self.words = Words::MtaSts,
            Words::None => (self.words, self.file) = (Words::File, Some(word)),
            Words::MtaSts => {
                let verb = VERBS.iter().find(|verb| word == verb.name);
                let fault = || format!("mta-sts: {} is not one of lint, txt, new", quoted(word.as_bytes()));
                self.words = verb.map(Words::Verb).ok_or_else(fault)?;
            }
            Words::Verb(verb) if verb.takes_file && self.file.is_none() => self.file = Some(word),
            _ => return Err(unexpected(&word)),
        }
        Ok(())
    }

    /// The file to serve, if one stands on the command line without an option.
    pub fn take_served_file(&mut self) -> Option<OsString> {
        matches!(self.words, Words::File).then(|| self.file.take()).flatten()
    }

    /// The option of the verb that `argument` (`--mode`) names, without its hyphens.
    pub fn option(&self, argument: &[u8]) -> Option<&'static str> {
        let name = argument.strip_prefix(b"--")?;
        let Words::Verb(verb) = self.words else {
            return None;
        };
        verb.options.iter().find(|option| option.as_bytes() == name).copied()
    }

    pub fn take_option(&mut self, name: &'static str, value: &OsStr) {
        self.given.push((name, value.to_string_lossy().into_owned()));
    }

    /// Checks that the command is complete at the end of the command line.
    pub fn ended(self) -> Result<Command, String> {
        match self.words {
            Words::MtaSts => Err("mta-sts needs one of lint, txt, new".into()),
            _ => Ok(self),
        }
    }

    /// Checks the values of the command's own options.
    pub fn meaning(self, mut options: Options) -> Result<Parsed, String> {
        let verb = match self.words {
            Words::Verb(verb) => verb,
            Words::Healthcheck if options.port == 0 && matches!(options.host, Host::Ip(_)) => {
                return Err("healthcheck needs a port".into());
            }
            Words::Healthcheck => return Ok(Parsed::CheckHealth(options)),
            Words::None | Words::File | Words::MtaSts => return Ok(Parsed::Serve(options)),
        };
        if let Some(file) = &self.file {
            filled(file.as_bytes()).map_err(|wrong| format!("FILE: \"\" {wrong}"))?;
            options.file = Some(file).filter(|file| *file != "-").map(Into::into);
            options.text = None;
        }
        let question = match verb.name {
            "lint" => Question::Lint(self.last("format", word)?.unwrap_or(LogFormat::Text)),
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

    /// The last value of an option.
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

pub fn unexpected(argument: &OsStr) -> String {
    format!("unexpected argument {} (see kcup --help)", quoted(argument.as_bytes()))
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
mod tests;
