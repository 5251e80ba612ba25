//! The table of options. Values are text here; `options.rs` checks them. `share/options.toml` has its words, which
//! `--help` prints.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use structopt::StructOpt;
use structopt::clap::AppSettings;

#[derive(StructOpt)]
#[structopt(settings = &[AppSettings::AllArgsOverrideSelf, AppSettings::AllowLeadingHyphen])]
pub struct Table {
    #[structopt(short, long, env, parse(from_os_str))]
    pub file: Option<OsString>,
    #[structopt(long, env, parse(from_os_str))]
    pub text: Option<OsString>,
    #[structopt(long, env, default_value = "60")]
    pub stdin_read_timeout_seconds: String,
    #[structopt(short, long, env, default_value = "127.0.0.1", parse(from_os_str))]
    pub host: OsString,
    #[structopt(short, long, env, default_value = "5000")]
    pub port: String,
    #[structopt(long, env, default_value = "67108864")]
    pub max_content_bytes: String,
    #[structopt(long, env = "SERVE_PATH")]
    pub path: Option<String>,
    #[structopt(long, env, default_value = "200")]
    pub status: String,
    #[structopt(long, env)]
    pub content_type: Option<String>,
    #[structopt(long, env = "HEADERS", number_of_values = 1)]
    pub header: Vec<String>,
    #[structopt(long, env, default_value = "auto")]
    pub compression: String,
    #[structopt(long, env, default_value = "0")]
    pub reload_interval_seconds: String,
    #[structopt(long, env, default_value = "20000")]
    pub max_connections: String,
    #[structopt(long, env, default_value = "10")]
    pub header_timeout_seconds: String,
    #[structopt(long, env, default_value = "75")]
    pub idle_timeout_seconds: String,
    #[structopt(long, env, default_value = "30")]
    pub write_timeout_seconds: String,
    #[structopt(long, env, default_value = "5")]
    pub shutdown_timeout_seconds: String,
    #[structopt(long, env)]
    pub threads: Option<String>,
    #[structopt(long, env)]
    pub preset: Option<String>,
    #[structopt(long, env, default_value = "auto")]
    pub sandbox: String,
    #[structopt(long, env)]
    pub admin: Option<String>,
    #[structopt(long, env, default_value = "off")]
    pub access_log: String,
    #[structopt(long, env)]
    pub trusted_proxy: Option<String>,
    #[structopt(long, env, parse(from_os_str))]
    pub tls_cert: Option<OsString>,
    #[structopt(long, env, parse(from_os_str))]
    pub tls_key: Option<OsString>,
    #[structopt(long, env, default_value = "info")]
    pub log_level: String,
    #[structopt(long, env, default_value = "text")]
    pub log_format: String,
}

/// A row of the table, for the command line.
pub struct Row {
    /// Without its two hyphens.
    pub name: &'static str,
    pub short: Option<char>,
    pub variable: &'static str,
}

impl Row {
    /// Whether `argument` (`--port`, `-p`) names this row.
    pub fn is_named(&self, argument: &[u8]) -> bool {
        match argument {
            [b'-', b'-', name @ ..] => name == self.name.as_bytes(),
            [b'-', short] => self.short == Some(char::from(*short)),
            _ => false,
        }
    }
}

/// The rows in the order of the table. clap 2, which gets no new releases, shows its options only through a field that
/// it does not document.
pub fn rows() -> Vec<Row> {
    let options = &Table::clap().p.opts;
    let variable = |(name, _): &(&'static OsStr, _)| name.to_str();
    let rows = options.iter().map(|option| Row {
        name: option.b.name,
        short: option.s.short,
        variable: option.v.env.as_ref().and_then(variable).unwrap_or_default(),
    });
    rows.collect()
}

/// Removes our variables from the environment if they are empty, which counts as unset (K-02), and replaces what is not
/// UTF-8 in the others: only a text, and the path of a file or of a socket may contain it.
pub fn tidy_environment(rows: &[Row]) {
    for row in rows {
        let Some(value) = env::var_os(row.variable) else { continue };
        // SAFETY: there is no other thread yet.
        unsafe {
            match value.is_empty() {
                true => env::remove_var(row.variable),
                false => env::set_var(row.variable, readable(row, value)),
            }
        }
    }
}

/// Replaces bytes that are not UTF-8 in a value that is neither a text nor a path.
pub fn readable(row: &Row, value: OsString) -> OsString {
    if ["file", "text", "host", "tls-cert", "tls-key"].contains(&row.name) {
        return value;
    }
    match String::from_utf8_lossy(value.as_bytes()) {
        std::borrow::Cow::Borrowed(_) => value,
        std::borrow::Cow::Owned(text) => text.into(),
    }
}
