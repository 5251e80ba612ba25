//! The commands: serving, `kcup healthcheck` (K-110), and `kcup mta-sts` with its words and its own options (K-93, K-97 to
//! K-99).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::check::{Checked, filled, one_of, whole, word};
use super::options::Options;
use super::value::{Host, LogFormat, quoted};
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

/// A command, and the words that may follow it.
struct Verb {
    name: &'static str,
    /// What `--help` prints: made from `share/options.toml`.
    help: &'static str,
    takes_file: bool,
    options: &'static [&'static str],
    verbs: &'static [Verb],
}

/// What most of them have.
const PLAIN: Verb = Verb { name: "", help: "", takes_file: false, options: &[], verbs: &[] };

static SERVE: Verb =
    Verb { help: include_str!("help/kcup.txt"), takes_file: true, verbs: &[HEALTHCHECK, MTA_STS], ..PLAIN };

const HEALTHCHECK: Verb = Verb { name: "healthcheck", help: include_str!("help/healthcheck.txt"), ..PLAIN };

const MTA_STS: Verb =
    Verb { name: "mta-sts", help: include_str!("help/mta-sts.txt"), verbs: &[LINT, TXT, NEW], ..PLAIN };

const LINT: Verb = Verb {
    name: "lint",
    help: include_str!("help/mta-sts-lint.txt"),
    takes_file: true,
    options: &["format"],
    ..PLAIN
};

const TXT: Verb = Verb {
    name: "txt",
    help: include_str!("help/mta-sts-txt.txt"),
    takes_file: true,
    options: &["domain"],
    ..PLAIN
};

const NEW: Verb = Verb {
    name: "new",
    help: include_str!("help/mta-sts-new.txt"),
    options: &["mode", "mx", "max-age"],
    ..PLAIN
};

/// The parts of a command line that are neither options of the table nor their values.
pub struct Command {
    verb: &'static Verb,
    file: Option<OsString>,
    given: Vec<(&'static str, String)>,
}

impl Default for Command {
    fn default() -> Command {
        Command { verb: &SERVE, file: None, given: Vec::new() }
    }
}

impl Command {
    pub fn take_word(&mut self, word: OsString) -> Result<(), String> {
        match self.verb.verbs.iter().find(|verb| word == verb.name) {
            Some(verb) if self.file.is_none() => self.verb = verb,
            _ if self.verb.takes_file && self.file.is_none() => self.file = Some(word),
            _ if self.verb.name == "mta-sts" => {
                return Err(format!("mta-sts: {} is not one of lint, txt, new", quoted(word.as_bytes())));
            }
            _ => return Err(unexpected(&word)),
        }
        Ok(())
    }

    /// Whether it is about a server: serves, or asks one.
    pub fn has_server(&self) -> bool {
        ["", "healthcheck"].contains(&self.verb.name)
    }

    /// The text of `--help` after the words so far.
    pub fn help(&self) -> &'static str {
        self.verb.help
    }

    /// The file to serve, if one stands on the command line without an option.
    pub fn take_served_file(&mut self) -> Option<OsString> {
        self.file.take_if(|_| self.verb.name.is_empty())
    }

    /// The option of the verb that `argument` (`--mode`) names, without its hyphens.
    pub fn option(&self, argument: &[u8]) -> Option<&'static str> {
        let name = argument.strip_prefix(b"--")?;
        self.verb.options.iter().find(|option| option.as_bytes() == name).copied()
    }

    pub fn take_option(&mut self, name: &'static str, value: &OsStr) {
        self.given.push((name, value.to_string_lossy().into_owned()));
    }

    /// Checks that the command is complete at the end of the command line.
    pub fn ended(self) -> Result<Command, String> {
        match self.verb.name {
            "mta-sts" => Err("mta-sts needs one of lint, txt, new".into()),
            _ => Ok(self),
        }
    }

    /// Checks the values of the command's own options.
    pub fn meaning(self, mut options: Options) -> Result<Parsed, String> {
        match self.verb.name {
            "" => return Ok(Parsed::Serve(options)),
            "healthcheck" if options.port == 0 && matches!(options.host, Host::Ip(_)) => {
                return Err("healthcheck needs a port".into());
            }
            "healthcheck" => return Ok(Parsed::CheckHealth(options)),
            _ => {}
        }
        if let Some(file) = &self.file {
            filled(file.as_bytes()).map_err(|wrong| format!("FILE: \"\" {wrong}"))?;
            options.file = Some(file).filter(|file| *file != "-").map(Into::into);
            options.text = None;
        }
        let question = match self.verb.name {
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
