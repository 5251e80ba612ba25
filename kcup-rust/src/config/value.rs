//! The types of values, and values in errors. Pure.

use std::fmt::{self, Write};
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use hyper::StatusCode;
use log::LevelFilter;

/// A value as errors name it.
pub fn quoted(bytes: &[u8]) -> String {
    format!("\"{}\"", escaped(bytes))
}

/// Text for between quotes, without anything that cannot be printed.
pub fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        let valid = format!("{:?}", chunk.valid());
        text.push_str(&valid[1..valid.len() - 1]);
        for byte in chunk.invalid() {
            _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// The place to listen.
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

/// A type that has a word for each of its values.
pub trait Word: Copy + 'static {
    /// In the order of SPEC section 1.
    const WORDS: &'static [(&'static str, Self)];
}

/// Whether variants are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    Auto,
    Off,
}

impl Word for Compression {
    const WORDS: &'static [(&'static str, Self)] = &[("auto", Self::Auto), ("off", Self::Off)];
}

/// The values of `--status` (K-50).
impl Word for StatusCode {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("200", Self::OK),
        ("400", Self::BAD_REQUEST),
        ("401", Self::UNAUTHORIZED),
        ("403", Self::FORBIDDEN),
        ("404", Self::NOT_FOUND),
        ("410", Self::GONE),
        ("421", Self::MISDIRECTED_REQUEST),
        ("429", Self::TOO_MANY_REQUESTS),
        ("451", Self::UNAVAILABLE_FOR_LEGAL_REASONS),
        ("500", Self::INTERNAL_SERVER_ERROR),
        ("501", Self::NOT_IMPLEMENTED),
        ("502", Self::BAD_GATEWAY),
        ("503", Self::SERVICE_UNAVAILABLE),
        ("504", Self::GATEWAY_TIMEOUT),
    ];
}

/// Whether the process is restricted to what serving needs (K-130), and whether it must be (K-131).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sandbox {
    Auto,
    Off,
    Required,
}

impl Word for Sandbox {
    const WORDS: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("off", Self::Off), ("required", Self::Required)];
}

/// The format of the access log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFormat {
    Common,
    Json,
}

/// `None` if the access log is off.
impl Word for Option<LineFormat> {
    const WORDS: &'static [(&'static str, Self)] =
        &[("off", None), ("common", Some(LineFormat::Common)), ("json", Some(LineFormat::Json))];
}

impl Word for LevelFilter {
    const WORDS: &'static [(&'static str, Self)] =
        &[("error", Self::Error), ("warn", Self::Warn), ("info", Self::Info), ("debug", Self::Debug)];
}

/// The format of diagnostics and of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

impl Word for LogFormat {
    const WORDS: &'static [(&'static str, Self)] = &[("text", Self::Text), ("json", Self::Json)];
}

/// The kind of content that a preset is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// An MTA-STS policy (RFC 8461).
    MtaSts,
}

impl Word for Preset {
    const WORDS: &'static [(&'static str, Self)] = &[("mta-sts", Self::MtaSts)];
}
