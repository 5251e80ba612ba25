//! Options: the values of the table, checked.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use log::LevelFilter;
use structopt::StructOpt;
use structopt::clap::ArgMatches;

use super::check::{Checked, address_and_port, field, filled, host, media_type, path, whole, word};
use super::proxies::{Proxies, proxies};
use super::table::{Row, Table};
use super::value::{Compression, Host, LineFormat, LogFormat, Preset, Sandbox, escaped, quoted};

/// Every option, checked.
#[derive(Debug, Clone)]
pub struct Options {
    /// The file to serve; `None` is standard input, or `text`.
    pub file: Option<PathBuf>,
    /// The content itself.
    pub text: Option<Bytes>,
    pub stdin_read_timeout: Duration,
    pub host: Host,
    /// For an address; 0 lets the system pick a free one.
    pub port: u16,
    pub max_content_bytes: u64,
    /// The only path served; `None` is any path.
    pub path: Option<String>,
    /// The status of the response that has the content.
    pub status: StatusCode,
    pub content_type: Option<HeaderValue>,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub compression: Compression,
    /// The interval at which the file is checked; `None` is never.
    pub reload_interval: Option<Duration>,
    pub max_connections: usize,
    pub header_timeout: Duration,
    pub idle_timeout: Duration,
    pub write_timeout: Duration,
    pub shutdown_timeout: Duration,
    /// The number of workers, at least 1.
    pub threads: usize,
    /// The options that it decides have its values already.
    pub preset: Option<Preset>,
    pub sandbox: Sandbox,
    /// The address of the admin listener; port 0 lets the system pick a free one.
    pub admin: Option<SocketAddr>,
    /// `None` is no access log.
    pub access_log: Option<LineFormat>,
    pub trusted_proxies: Proxies,
    /// `None` is no TLS.
    pub tls: Option<TlsFiles>,
    pub log_level: LevelFilter,
    pub log_format: LogFormat,
}

impl Options {
    /// The name of the content's source in errors.
    pub fn origin(&self) -> String {
        let name = self.name();
        if self.file.is_some() { format!("\"{name}\"") } else { name }
    }

    /// The same in events, where a file's name has no quotes.
    pub fn name(&self) -> String {
        match (&self.text, &self.file) {
            (Some(_), _) => "--text".into(),
            (None, Some(file)) => escaped(file.as_os_str().as_bytes()),
            (None, None) => "standard input".into(),
        }
    }

    /// The same in findings, as compilers have it.
    pub fn file_name(&self) -> String {
        match (&self.text, &self.file) {
            (None, None) => "<stdin>".into(),
            _ => self.name(),
        }
    }
}

/// The files of `--tls-cert` and `--tls-key`.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// The values given on the command line and in the environment.
pub struct Given {
    pub matches: ArgMatches<'static>,
    pub rows: Vec<Row>,
}

impl Given {
    /// Checks the values in the order of the table.
    pub fn meaning(&self) -> Result<Options, String> {
        let table = Table::from_clap(&self.matches);
        let number = |name, text: &str, accepted: RangeInclusive<u64>| {
            self.one(name, text, |text| whole(text, accepted.clone()))
        };
        let seconds = |name, text: &str| number(name, text, 1..=86400).map(Duration::from_secs);
        let interval = |seconds| (seconds > 0).then(|| Duration::from_secs(seconds));
        Ok(Options {
            file: self.filled("file", table.file)?.filter(|file| file != "-").map(PathBuf::from),
            text: self.filled("text", table.text)?.map(|text| text.into_vec().into()),
            stdin_read_timeout: seconds("stdin-read-timeout-seconds", &table.stdin_read_timeout_seconds)?,
            host: host(table.host.as_bytes())
                .map_err(|wrong| self.fault("host", table.host.as_bytes(), &wrong))?,
            port: number("port", &table.port, 0..=65535)? as u16,
            max_content_bytes: number("max-content-bytes", &table.max_content_bytes, 1..=1 << 40)?,
            path: self.maybe("path", &table.path, path)?,
            status: self.one("status", &table.status, word)?,
            content_type: self.maybe("content-type", &table.content_type, media_type)?,
            headers: self.lines("header", &table.header, field)?,
            compression: self.one("compression", &table.compression, word)?,
            reload_interval: number("reload-interval-seconds", &table.reload_interval_seconds, 0..=86400)
                .map(interval)?,
            max_connections: number("max-connections", &table.max_connections, 1..=1_000_000)? as usize,
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
            trusted_proxies: self.maybe("trusted-proxy", &table.trusted_proxy, proxies)?.unwrap_or_default(),
            tls: {
                let files =
                    (self.filled("tls-cert", table.tls_cert)?, self.filled("tls-key", table.tls_key)?);
                let files = files.0.zip(files.1);
                files.map(|(certificate, key)| TlsFiles { certificate: certificate.into(), key: key.into() })
            },
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

    /// An option holds one value; the variable one a line.
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

    fn filled(&self, name: &str, value: Option<OsString>) -> Result<Option<OsString>, String> {
        if let Some(value) = &value {
            filled(value.as_bytes()).map_err(|wrong| self.fault(name, value.as_bytes(), &wrong))?;
        }
        Ok(value)
    }

    /// The options with either a file or a text: the one that is given as an option rather than by its variable (K-10a).
    pub fn with_one_source(&self, mut options: Options) -> Result<Options, String> {
        let Some(text) = &options.text else { return Ok(options) };
        let is_option = |name| self.matches.occurrences_of(name) > 0;
        match (is_option("text"), is_option("file")) {
            (true, true) => return Err(self.fault("text", text, "cannot be given with --file")),
            (false, false) if self.matches.is_present("file") => {
                return Err(self.fault("text", text, "cannot be given with FILE"));
            }
            (false, true) => options.text = None,
            _ => options.file = None,
        }
        Ok(options)
    }

    /// The options, if neither of the two files for TLS is given without the other (K-150).
    pub fn with_both_tls_files(&self, options: Options) -> Result<Options, String> {
        let is_given = |name| self.matches.is_present(name);
        match (is_given("tls-cert"), is_given("tls-key")) {
            (true, false) => Err("--tls-cert needs --tls-key (or TLS_KEY)".into()),
            (false, true) => Err("--tls-key needs --tls-cert (or TLS_CERT)".into()),
            _ => Ok(options),
        }
    }

    /// The words for what is wrong with a value.
    pub fn fault(&self, name: &str, value: &[u8], wrong: &str) -> String {
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
