//! Options whose value is one of a few words. A part of check.rs.

use log::LevelFilter;

use super::{one_of, Checked};

/// What has a word for each of its values.
pub trait Word: Copy + 'static {
    /// In the order of SPEC section 1.
    const WORDS: &'static [(&'static str, Self)];
}

pub fn word<T: Word>(text: &str) -> Checked<T> {
    one_of(text, T::WORDS)
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

/// Whether kcup gives up what serving does not need (K-130), and whether it must (K-131).
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

/// How a line of the access log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFormat {
    Common,
    Json,
}

/// Nothing is written where it is off.
impl Word for Option<LineFormat> {
    const WORDS: &'static [(&'static str, Self)] =
        &[("off", None), ("common", Some(LineFormat::Common)), ("json", Some(LineFormat::Json))];
}

impl Word for LevelFilter {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("info", Self::Info),
        ("debug", Self::Debug),
        ("trace", Self::Trace),
    ];
}

/// How diagnostics, and findings, are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

impl Word for LogFormat {
    const WORDS: &'static [(&'static str, Self)] = &[("text", Self::Text), ("json", Self::Json)];
}
