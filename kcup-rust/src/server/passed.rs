//! A listener that the service manager made: `sd_listen_fds(3)` (SPEC K-141). Sibling: kcup-go/server/passed.go.

use std::env;
use std::io;
use std::os::fd::{FromRawFd, RawFd};

use socket2::{Domain, Socket, Type};

use super::listen::{set_options, Listener};
use crate::config::quoted;
use crate::content::reason;

/// SD_LISTEN_FDS_START.
const FIRST: RawFd = 3;

/// Takes the listener that was passed, if one was. Call it before anything is opened, and before there are threads: it
/// takes what told of it out of the environment.
pub fn passed() -> Result<Option<Listener>, String> {
    let [process, count, _names] = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"].map(|name| {
        let value = env::var_os(name);
        env::remove_var(name);
        value.filter(|value| !value.is_empty()).map(|value| value.to_string_lossy().into_owned())
    });
    let taken = match (process, count) {
        (Some(process), Some(count)) if process == std::process::id().to_string() => match &*count {
            "1" => inherit().map(Some),
            number if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                Err(format!("there are {number}, and one is expected"))
            }
            other => Err(format!("there are {}, and one is expected", quoted(other.as_bytes()))),
        },
        _ => Ok(None),
    };
    taken.map_err(|why| format!("cannot take the socket that was passed: {why}"))
}

/// Makes of the descriptor what kcup would have made itself.
fn inherit() -> Result<Listener, String> {
    // SAFETY: it touches no memory, whatever the descriptor is.
    let is_open = unsafe { libc::fcntl(FIRST, libc::F_GETFD) } >= 0;
    // SAFETY: it is open, and nobody here has it: it was there before the program began, and was told of only once.
    let socket = is_open.then(|| unsafe { Socket::from_raw_fd(FIRST) });
    let Some(socket) = socket.filter(|socket| is_listener(socket).unwrap_or(false)) else {
        return Err("it is not a listening stream socket".into());
    };
    outfit(socket).map_err(|error| reason(&error))
}

fn is_listener(socket: &Socket) -> io::Result<bool> {
    let known = [Domain::IPV4, Domain::IPV6, Domain::UNIX].contains(&socket.domain()?);
    Ok(known && socket.r#type()? == Type::STREAM && socket.is_listener()?)
}

fn outfit(socket: Socket) -> io::Result<Listener> {
    socket.set_cloexec(true)?;
    socket.set_nonblocking(true)?;
    if socket.domain()? != Domain::UNIX {
        set_options(&socket)?;
    }
    Listener::named(socket)
}
