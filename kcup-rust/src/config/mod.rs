//! Owns: the table of options, and what a command line and an environment mean.
//! Must not: read files, open sockets.
//! Sibling: kcup-go/config/config.go

mod check;
mod command;
mod preset;
mod table;
#[cfg(test)]
pub(crate) mod tests;
mod usage;

use std::ffi::OsString;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use log::LevelFilter;
use structopt::clap::ArgMatches;
use structopt::StructOpt;

use check::Checked;
use table::{Row, Table};
use usage::Line;

pub use check::{Compression, LineFormat, LogFormat, Sandbox};
pub use command::Question;
pub use preset::Preset;
pub use usage::{escaped, quoted};

/// What a command line asks for.
#[derive(Debug)]
// There is one in the life of a process.
#[allow(clippy::large_enum_variant)]
pub enum Parsed {
    /// Serve with these options.
    Serve(Options),
    /// Answer a question about the policy that these options name.
    Ask(Options, Question),
    /// Ask the server that these options would make whether it is well.
    CheckHealth(Options),
    /// `--help`, `--version`, or a new policy: print this on standard output and exit 0.
    Print(String),
}

/// Every option, checked.
#[derive(Debug, Clone)]
pub struct Options {
    /// The file to serve; `None` is standard input.
    pub file: Option<PathBuf>,
    pub stdin_read_timeout: Duration,
    pub host: Host,
    /// Of an address; 0 lets the system pick a free one.
    pub port: u16,
    pub max_content_bytes: u64,
    /// The only path served; `None` is any path.
    pub path: Option<String>,
    pub content_type: Option<HeaderValue>,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub compression: Compression,
    /// How often the file is looked at; `None` is never.
    pub reload_interval: Option<Duration>,
    pub max_connections: usize,
    pub header_timeout: Duration,
    pub idle_timeout: Duration,
    pub write_timeout: Duration,
    pub shutdown_timeout: Duration,
    /// Workers, at least 1.
    pub threads: usize,
    /// What it says of other options is in them already.
    pub preset: Option<Preset>,
    pub sandbox: Sandbox,
    /// Where health and numbers are told; port 0 lets the system pick a free one.
    pub admin: Option<SocketAddr>,
    /// How lines of the access log are written; `None` is not at all.
    pub access_log: Option<LineFormat>,
    pub log_level: LevelFilter,
    pub log_format: LogFormat,
}

impl Options {
    /// The name of the content's source in errors.
    pub fn origin(&self) -> String {
        match &self.file {
            Some(file) => quoted(file.as_os_str().as_bytes()),
            None => "standard input".into(),
        }
    }
}

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    Ip(IpAddr),
    /// The path of a unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Host::Ip(address) => address.fmt(out),
            Host::Unix(path) => write!(out, "unix:{}", escaped(path.as_os_str().as_bytes())),
        }
    }
}

/// Reads the command line (`args` begins with the program's name) and the environment.
///
/// An error is the usage error's one line without `kcup: ` before it. Call this before any thread exists: it takes
/// empty variables out of the environment.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Parsed, String> {
    let rows = table::rows();
    table::tidy_environment(&rows);
    let mut args = args.into_iter();
    let program = args.next().unwrap_or_default();
    let (pairs, command) = match usage::arrange(args, &rows)? {
        Line::Help => return Ok(Parsed::Print(usage::help(&rows))),
        Line::Version => {
            let text = concat!("kcup ", env!("CARGO_PKG_VERSION"), " (rust)\n");
            return Ok(Parsed::Print(text.into()));
        }
        Line::Given(pairs, command) => (pairs, command),
    };
    let matches = Table::clap()
        .get_matches_from_safe(std::iter::once(program).chain(pairs))
        .map_err(|error| usage::unread(&error))?;
    let given = Given { matches, rows };
    command.meaning(given.with_preset(given.meaning()?)?)
}

/// What was given for each row, and where.
struct Given {
    matches: ArgMatches<'static>,
    rows: Vec<Row>,
}

impl Given {
    /// Checks the values in the order of the table.
    fn meaning(&self) -> Result<Options, String> {
        use check::{address_and_port, field, media_type, path, whole, word};
        let table = Table::from_clap(&self.matches);
        let seconds = |name, text: &String| {
            let number = self.one(name, text, |text| whole(text, 1..=86400))?;
            Ok::<_, String>(Duration::from_secs(number))
        };
        Ok(Options {
            file: self.file(table.file)?,
            stdin_read_timeout: seconds("stdin-read-timeout-seconds", &table.stdin_read_timeout_seconds)?,
            host: check::host(table.host.as_bytes())
                .map_err(|wrong| self.fault("host", table.host.as_bytes(), &wrong))?,
            port: self.one("port", &table.port, |text| whole(text, 0..=65535))? as u16,
            max_content_bytes: self
                .one("max-content-bytes", &table.max_content_bytes, |text| whole(text, 1..=1 << 40))?,
            path: self.maybe("path", &table.path, path)?,
            content_type: self.maybe("content-type", &table.content_type, media_type)?,
            headers: self.lines("header", &table.header, field)?,
            compression: self.one("compression", &table.compression, word)?,
            reload_interval: self
                .one("reload-interval-seconds", &table.reload_interval_seconds, |text| whole(text, 0..=86400))
                .map(|seconds| Some(Duration::from_secs(seconds)).filter(|interval| !interval.is_zero()))?,
            max_connections: self
                .one("max-connections", &table.max_connections, |text| whole(text, 1..=1_000_000))?
                as usize,
            header_timeout: seconds("header-timeout-seconds", &table.header_timeout_seconds)?,
            idle_timeout: seconds("idle-timeout-seconds", &table.idle_timeout_seconds)?,
            write_timeout: seconds("write-timeout-seconds", &table.write_timeout_seconds)?,
            shutdown_timeout: seconds("shutdown-timeout-seconds", &table.shutdown_timeout_seconds)?,
            threads: self
                .maybe("threads", &table.threads, |text| whole(text, 1..=1024))?
                .map_or_else(granted_cpus, |number| number as usize),
            preset: self.maybe("preset", &table.preset, word)?,
            sandbox: self.one("sandbox", &table.sandbox, word)?,
            admin: self.maybe("admin", &table.admin, address_and_port)?,
            access_log: self.one("access-log", &table.access_log, word)?,
            log_level: self.one("log-level", &table.log_level, word)?,
            log_format: self.one("log-format", &table.log_format, word)?,
        })
    }

    fn one<T>(&self, name: &str, text: &str, check: impl Fn(&str) -> Checked<T>) -> Result<T, String> {
        check(text).map_err(|wrong| self.fault(name, text.as_bytes(), &wrong))
    }

    fn maybe<T>(
        &self,
        name: &str,
        text: &Option<String>,
        check: impl Fn(&str) -> Checked<T>,
    ) -> Result<Option<T>, String> {
        text.as_ref().map(|text| self.one(name, text, check)).transpose()
    }

    /// Each option holds one; the variable one a line.
    fn lines<T>(
        &self,
        name: &str,
        texts: &[String],
        check: impl Fn(&str) -> Checked<T>,
    ) -> Result<Vec<T>, String> {
        let one = |text| self.one(name, text, &check);
        match self.matches.occurrences_of(name) as usize {
            0 => {
                let lines = texts.iter().flat_map(|text| text.split('\n'));
                lines.filter(|line| !line.is_empty()).map(one).collect()
            }
            // clap 2 appends the variable's value to those of an option that may be given more than once.
            given => texts.iter().take(given).map(|text| one(text)).collect(),
        }
    }

    fn file(&self, file: Option<OsString>) -> Result<Option<PathBuf>, String> {
        if let Some(file) = &file {
            check::filled(file.as_bytes()).map_err(|wrong| self.fault("file", file.as_bytes(), &wrong))?;
        }
        Ok(file.filter(|file| file != "-").map(PathBuf::from))
    }

    fn fault(&self, name: &str, value: &[u8], wrong: &str) -> String {
        let given = self.matches.occurrences_of(name) > 0;
        let source = match self.rows.iter().find(|row| row.name == name) {
            Some(row) if !given => row.variable.to_string(),
            _ => format!("--{name}"),
        };
        format!("{source}: {} {wrong}", quoted(value))
    }
}

fn granted_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
