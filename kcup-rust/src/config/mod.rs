//! Owns: the table of options, and what a command line and an environment mean.
//! Must not: read files, open sockets.
//! Sibling: kcup-go/config/config.go

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};

/// What a command line asks for.
#[derive(Debug)]
pub enum Parsed {
    /// Serve with these options.
    Serve(Options),
    /// `--help` or `--version`: print this on standard output and exit 0.
    Print(String),
}

/// Every option, checked.
#[derive(Debug, Clone)]
pub struct Options {
    /// The file to serve; `None` is standard input.
    pub file: Option<PathBuf>,
    pub stdin_read_timeout: Duration,
    pub host: IpAddr,
    /// 0 lets the system pick a free one.
    pub port: u16,
    pub max_content_bytes: u64,
    /// The only path served; `None` is any path.
    pub path: Option<String>,
    pub content_type: Option<HeaderValue>,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub compression: Compression,
    pub max_connections: usize,
    pub header_timeout: Duration,
    pub idle_timeout: Duration,
    pub write_timeout: Duration,
    pub shutdown_timeout: Duration,
    /// Workers, at least 1.
    pub threads: usize,
    pub log_level: log::LevelFilter,
    pub log_format: LogFormat,
}

/// Whether variants are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    Auto,
    Off,
}

/// How diagnostics are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// Reads the command line (`args` begins with the program's name) and the environment.
///
/// An error is the usage error's one line without `kcup: ` before it. Call this before any thread exists: it takes
/// empty variables out of the environment.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Parsed, String> {
    let _ = args;
    todo!()
}
