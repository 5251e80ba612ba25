//! The table of options. Values are text here; `options.rs` checks them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use structopt::clap::AppSettings;
use structopt::StructOpt;

/// A doc comment is the option's help. A bracket at its end describes a default that is not literal.
#[derive(StructOpt)]
#[structopt(settings = &[AppSettings::AllArgsOverrideSelf, AppSettings::AllowLeadingHyphen])]
pub struct Table {
    /// file to serve; - is standard input [default: standard input]
    #[structopt(short, long, env, value_name = "PATH", parse(from_os_str))]
    pub file: Option<OsString>,

    /// serve this text instead of a file [default: none]
    #[structopt(long, env, value_name = "T", parse(from_os_str))]
    pub text: Option<OsString>,

    /// seconds to wait for the end of standard input
    #[structopt(long, env, value_name = "N", default_value = "60")]
    pub stdin_read_timeout_seconds: String,

    /// address to listen on, or unix:PATH
    #[structopt(short, long, env, value_name = "ADDR", default_value = "127.0.0.1", parse(from_os_str))]
    pub host: OsString,

    /// port to listen on; 0 picks a free one
    #[structopt(short, long, env, value_name = "N", default_value = "5000")]
    pub port: String,

    /// largest content to serve, in bytes
    #[structopt(long, env, value_name = "N", default_value = "67108864")]
    pub max_content_bytes: String,

    /// serve only this exact path [default: any path]
    #[structopt(long, env = "SERVE_PATH", value_name = "P")]
    pub path: Option<String>,

    /// status code of the response that has the content
    #[structopt(long, env, value_name = "N", default_value = "200")]
    pub status: String,

    /// content-type to send, verbatim [default: by file name, otherwise by content]
    #[structopt(long, env, value_name = "T")]
    pub content_type: Option<String>,

    /// field to add to every response for the content (repeatable; variable: one per line) [default: none]
    #[structopt(long, env = "HEADERS", value_name = "'Name: value'", number_of_values = 1)]
    pub header: Vec<String>,

    /// auto or off: br and gzip variants, made when the content is loaded
    #[structopt(long, env, value_name = "C", default_value = "auto")]
    pub compression: String,

    /// check the file every N seconds and reload it if it has changed; 0 disables this
    #[structopt(long, env, value_name = "N", default_value = "0")]
    pub reload_interval_seconds: String,

    /// most connections open at once; at the limit the longest-idle one is closed
    #[structopt(long, env, value_name = "N", default_value = "20000")]
    pub max_connections: String,

    /// seconds from the first to the last byte of a request head
    #[structopt(long, env, value_name = "N", default_value = "10")]
    pub header_timeout_seconds: String,

    /// seconds until an idle connection is closed
    #[structopt(long, env, value_name = "N", default_value = "75")]
    pub idle_timeout_seconds: String,

    /// seconds until a client that accepts hardly any data is disconnected
    #[structopt(long, env, value_name = "N", default_value = "30")]
    pub write_timeout_seconds: String,

    /// seconds that a drain may take
    #[structopt(long, env, value_name = "N", default_value = "5")]
    pub shutdown_timeout_seconds: String,

    /// worker threads [default: the CPUs this cgroup grants]
    #[structopt(long, env, value_name = "N")]
    pub threads: Option<String>,

    /// mta-sts: check the content and serve it as an MTA-STS policy [default: none]
    #[structopt(long, env, value_name = "P")]
    pub preset: Option<String>,

    /// auto, off or required: restrict the process with Landlock and seccomp
    #[structopt(long, env, value_name = "S", default_value = "auto")]
    pub sandbox: String,

    /// second address to listen on, for /metrics, /healthz and /readyz [default: none]
    #[structopt(long, env, value_name = "ADDR:PORT")]
    pub admin: Option<String>,

    /// off, common or json: one line per response on standard output
    #[structopt(long, env, value_name = "F", default_value = "off")]
    pub access_log: String,

    /// error, warn, info, debug or trace
    #[structopt(long, env, value_name = "L", default_value = "info")]
    pub log_level: String,

    /// text or json, on standard error
    #[structopt(long, env, value_name = "F", default_value = "text")]
    pub log_format: String,
}

/// A row of the table, for the command line and `--help`.
pub struct Row {
    /// Without its two hyphens.
    pub name: &'static str,
    pub short: Option<char>,
    pub variable: &'static str,
    pub value_name: &'static str,
    pub help: &'static str,
    /// In words if it is not literal.
    pub default: &'static str,
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

/// The rows in the order of the table. clap 2 shows its options only through a field that it does not document, but
/// there will be no other clap 2.
pub fn rows() -> Vec<Row> {
    let text = |text: Option<&'static OsStr>| text.and_then(OsStr::to_str);
    Table::clap()
        .p
        .opts
        .iter()
        .map(|option| {
            let help = option.b.help.unwrap_or_default().trim_end_matches(']');
            let (help, default) = help.split_once(" [default: ").unwrap_or((help, ""));
            let value_names = option.v.val_names.as_ref();
            Row {
                name: option.b.name,
                short: option.s.short,
                variable: text(option.v.env.as_ref().map(|(name, _)| *name)).unwrap_or_default(),
                value_name: value_names.and_then(|names| names.values().next().copied()).unwrap_or_default(),
                help,
                default: text(option.v.default_val).unwrap_or(default),
            }
        })
        .collect()
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
    if ["file", "text", "host"].contains(&row.name) {
        return value;
    }
    match String::from_utf8_lossy(value.as_bytes()) {
        std::borrow::Cow::Borrowed(_) => value,
        std::borrow::Cow::Owned(text) => text.into(),
    }
}
