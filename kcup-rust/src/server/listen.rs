//! The listening socket, which kcup binds or the service manager passes (K-16, K-17, K-141: `sd_listen_fds(3)`).

use std::env;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use socket2::{Domain, Protocol, SockRef, Socket, Type};

use super::account::{LEAST_BUFFER, RECEIVE_BUFFER};
use super::unix;
use crate::config::{quoted, Host};
use crate::content::reason;

/// More than the kernel's default of `net.core.somaxconn`, which caps it.
const BACKLOG: i32 = 65535;
/// SD_LISTEN_FDS_START.
const FIRST: RawFd = 3;

/// A socket that listens, for TCP or of unix.
#[derive(Debug)]
pub struct Listener {
    pub socket: OwnedFd,
    /// Its name in the line of K-15.
    pub name: String,
    /// Whether it is a unix socket.
    pub unix: bool,
}

impl Listener {
    /// Binds and listens. Port 0 picks a free one. The error is the line of K-16.
    pub fn bind(host: &Host, port: u16) -> Result<Listener, String> {
        let (bound, asked) = match host {
            Host::Ip(ip) => (bind(*ip, port), SocketAddr::new(*ip, port).to_string()),
            Host::Unix(path) => (unix::bind(path), host.to_string()),
        };
        let listener = bound.and_then(|socket| {
            socket.listen(BACKLOG)?;
            Listener::named(socket)
        });
        listener.map_err(|error| format!("cannot listen on {asked}: {}", reason(&error)))
    }

    /// Takes the listener that the service manager passed, if it did (K-141). Call it before anything is opened, and before
    /// there are threads: it changes the environment.
    pub fn passed() -> Result<Option<Listener>, String> {
        let [process, count, _names] = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"].map(|name| {
            let value = env::var_os(name);
            // SAFETY: there is no other thread yet.
            unsafe { env::remove_var(name) };
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

    /// `socket` with its name, whoever bound it.
    fn named(socket: Socket) -> io::Result<Listener> {
        let address = socket.local_addr()?;
        let (name, unix) = match address.as_socket() {
            Some(address) => (format!("http://{address}/"), false),
            None => (unix::name(&address), true),
        };
        Ok(Listener { socket: socket.into(), name, unix })
    }
}

/// Sets the options of a TCP listener, which accepted sockets inherit. With fixed sizes no buffer grows by itself.
fn set_options(socket: &Socket) -> io::Result<()> {
    socket.set_recv_buffer_size(RECEIVE_BUFFER as usize / 2)?;
    socket.set_tcp_nodelay(true)?;
    outfit(socket.into())
}

/// Sets the options that accepted unix sockets do not inherit. A receive buffer there is the client's send buffer.
pub fn outfit(socket: SockRef) -> io::Result<()> {
    // FIONREAD counts an urgent byte, so recv(2) has to return it like any other.
    socket.set_out_of_band_inline(true)?;
    socket.set_send_buffer_size(LEAST_BUFFER as usize / 2)
}

fn bind(ip: IpAddr, port: u16) -> io::Result<Socket> {
    let address = SocketAddr::new(ip, port);
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.set_reuse_address(true)?;
    set_options(&socket)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Sets the passed socket up as kcup's own would be.
fn inherit() -> Result<Listener, String> {
    // SAFETY: it touches no memory, whatever the descriptor is.
    let is_open = unsafe { libc::fcntl(FIRST, libc::F_GETFD) } >= 0;
    // SAFETY: it is open, and nothing here owns it: it was there before the program began.
    let socket = is_open.then(|| unsafe { Socket::from_raw_fd(FIRST) });
    let Some(socket) = socket.filter(|socket| is_listener(socket).unwrap_or(false)) else {
        return Err("it is not a listening stream socket".into());
    };
    let ready = || {
        socket.set_cloexec(true)?;
        socket.set_nonblocking(true)?;
        if socket.domain()? != Domain::UNIX {
            set_options(&socket)?;
        }
        Listener::named(socket)
    };
    ready().map_err(|error| reason(&error))
}

fn is_listener(socket: &Socket) -> io::Result<bool> {
    let known = [Domain::IPV4, Domain::IPV6, Domain::UNIX].contains(&socket.domain()?);
    Ok(known && socket.r#type()? == Type::STREAM && socket.is_listener()?)
}
