//! Owns: the table of options, and the meaning of a command line and an environment.
//! Must not: read files, open sockets.

mod value;
mod check;
mod table;
mod options;
mod preset;
mod proxies;
mod command;
mod usage;
#[cfg(test)]
pub(crate) mod tests;

use std::ffi::OsString;

use structopt::StructOpt;

use options::Given;
use table::Table;
use usage::Line;

pub use check::is_token_byte;
pub use command::{Parsed, Question};
pub use options::{Options, TlsFiles};
pub use proxies::Proxies;
pub use value::{Compression, Host, LineFormat, LogFormat, Preset, Sandbox, escaped, quoted};

/// Reads the command line (`args` begins with the program's name) and the environment.
///
/// An error is the usage error's one line without `kcup: ` before it. Call this before any thread exists: it changes the
/// environment.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Parsed, String> {
    let rows = table::rows();
    table::tidy_environment(&rows);
    let mut args = args.into_iter();
    let program = args.next().unwrap_or_default();
    let (pairs, command) = match usage::arrange(args, &rows)? {
        Line::Help(text) => return Ok(Parsed::Print(text.into())),
        Line::Version => {
            let text = concat!("kcup ", env!("CARGO_PKG_VERSION"), " (rust)\n");
            return Ok(Parsed::Print(text.into()));
        }
        Line::Given(pairs, command) => (pairs, command),
    };
    let matches = Table::clap()
        .get_matches_from_safe(std::iter::once(program).chain(pairs))
        .map_err(|_| "the command line cannot be read (see kcup --help)")?;
    let given = Given { matches, rows };
    let options = given.with_preset(given.with_one_source(given.meaning()?)?)?;
    let options = if command.has_server() { given.with_both_tls_files(options)? } else { options };
    command.meaning(options)
}
