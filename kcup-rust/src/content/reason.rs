//! The words for what the system says, since every C library has its own.

use std::io::{self, ErrorKind};

use rustix::io::Errno;

/// Says what could not be done, and why: `.map_err(cannot("start"))`.
pub fn cannot(what: &str) -> impl Fn(io::Error) -> String + '_ {
    move |error| format!("cannot {what}: {}", reason(&error))
}

/// A number of something, in the singular if it is one.
pub fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Why something failed, in lower case and without a number.
pub fn reason(error: &io::Error) -> String {
    let known = match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => "no such file",
        ErrorKind::PermissionDenied => "permission denied",
        ErrorKind::IsADirectory => {
            "it is a directory (Docker creates one when the source of a mount is missing)"
        }
        ErrorKind::AddrInUse => "address already in use",
        ErrorKind::AddrNotAvailable => "address not available",
        _ if Errno::from_io_error(error) == Some(Errno::MFILE) => "too many open files",
        _ => {
            let text = error.to_string().to_lowercase();
            return text.split_once(" (os error").map_or(text.clone(), |(reason, _)| reason.into());
        }
    };
    known.into()
}
