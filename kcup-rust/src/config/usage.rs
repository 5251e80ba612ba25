//! The syntax of the command line, and the words for what is wrong with it (K-04, K-05).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::command::Command;
use super::table::{Row, readable};
use super::value::quoted;

/// A command line whose values are not checked yet.
pub enum Line {
    /// With its text.
    Help(&'static str),
    Version,
    /// Only `--option`, `value`, `--option`, `value`, for the library; and the rest.
    Given(Vec<OsString>, Command),
}

/// What `-h` is, for people who expect help.
const HOST: &str = "the host to listen on (see kcup --help)";

/// Splits a command line (`args` without the program's name) into options and values.
///
/// The library does not do this: clap 2 takes `---port` for `--port`, drops every `=` before a value, and panics on an
/// unknown option followed by bytes that are not UTF-8.
pub fn arrange(args: impl IntoIterator<Item = OsString>, rows: &[Row]) -> Result<Line, String> {
    let mut args = args.into_iter();
    let (mut pairs, mut command) = (Vec::new(), Command::default());
    while let Some(arg) = args.next() {
        if arg == "--" {
            args.by_ref().try_for_each(|arg| command.take_word(arg))?;
            break;
        }
        if !looks_like_option(&arg) {
            command.take_word(arg)?;
            continue;
        }
        // No host begins with "elp" (K-05a).
        if arg.as_bytes().starts_with(b"-help") {
            return Err(format!("unknown option {}: -h is {HOST}", quoted(arg.as_bytes())));
        }
        let (name, value) = split(&arg);
        if name == b"--help" || name == b"--version" {
            return match value {
                Some(_) => Err(format!("{} takes no value", String::from_utf8_lossy(name))),
                None if name == b"--help" => Ok(Line::Help(command.help())),
                None => Ok(Line::Version),
            };
        }
        let row = rows.iter().find(|row| row.is_named(name));
        let Some(long) = row.map(|row| row.name).or_else(|| command.option(name)) else {
            return Err(format!("unknown option {} (see kcup --help)", quoted(name)));
        };
        let value = match value {
            Some(value) => OsString::from_vec(value.to_vec()),
            None => {
                let next = args.next().filter(|next| !looks_like_option(next));
                next.ok_or_else(|| match name {
                    b"-h" => format!("-h needs a value: {HOST}"),
                    _ => format!("--{long} needs a value"),
                })?
            }
        };
        match row {
            Some(row) => pairs.extend([format!("--{long}").into(), readable(row, value)]),
            None => command.take_option(long, &value),
        }
    }
    if let Some(file) = command.take_served_file() {
        pairs.extend(["--file".into(), file]);
    }
    Ok(Line::Given(pairs, command.ended()?))
}

/// `-` is a value.
fn looks_like_option(argument: &OsStr) -> bool {
    let bytes = argument.as_bytes();
    bytes.len() > 1 && bytes[0] == b'-'
}

/// `--name=value`, `--name`, `-nvalue`, `-n=value`, `-n`.
fn split(argument: &OsStr) -> (&[u8], Option<&[u8]>) {
    let bytes = argument.as_bytes();
    if bytes.starts_with(b"--") {
        return match bytes.iter().position(|&byte| byte == b'=') {
            Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
            None => (bytes, None),
        };
    }
    let letter = bytes[1..].utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    let (name, value) = bytes.split_at(1 + letter.map_or(1, char::len_utf8));
    match value {
        [] => (name, None),
        [b'=', value @ ..] | value => (name, Some(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::rows;
    use super::*;

    #[test]
    fn a_shape_that_is_wrong_is_worded_as_promised() {
        for (args, want) in [
            (&["--x"][..], "unknown option \"--x\" (see kcup --help)"),
            (&["--x=1"], "unknown option \"--x\" (see kcup --help)"),
            (&["-V"], "unknown option \"-V\" (see kcup --help)"),
            (&["-éa"], "unknown option \"-é\" (see kcup --help)"),
            (&["--por", "1"], "unknown option \"--por\" (see kcup --help)"),
            (&["--port"], "--port needs a value"),
            (&["-p", "-1"], "--port needs a value"),
            (&["-f", "--port", "1"], "--file needs a value"),
            (&["-f", "--"], "--file needs a value"),
            (&["-h"], "-h needs a value: the host to listen on (see kcup --help)"),
            (&["-help"], "unknown option \"-help\": -h is the host to listen on (see kcup --help)"),
            (&["--help=x"], "--help takes no value"),
            (&["x", "y"], "unexpected argument \"y\" (see kcup --help)"),
            (&["-", "mta-sts"], "unexpected argument \"mta-sts\" (see kcup --help)"),
            (&["---port", "1"], "unknown option \"---port\" (see kcup --help)"),
            (&["--", "--port", "1"], "unexpected argument \"1\" (see kcup --help)"),
            (&["healthcheck", "x"], "unexpected argument \"x\" (see kcup --help)"),
        ] {
            match arrange(args.iter().map(OsString::from), &rows()) {
                Err(fault) => assert_eq!(fault, want),
                Ok(_) => panic!("{args:?}"),
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn no_command_line_panics(args in proptest::collection::vec("(-{0,3})(help|port|file|x|)(=|)\\PC{0,4}", 0..4)) {

            let _ = arrange(args.into_iter().map(OsString::from), &rows());
        }

        #[test]
        fn what_is_quoted_stays_on_one_line(bytes: Vec<u8>) {
            let text = quoted(&bytes);
            proptest::prop_assert!(!text.contains(|char: char| char.is_control()));
        }
    }
}
