//! The listening socket, which kcup binds or the service manager passes (K-16, K-17, K-141: `sd_listen_fds(3)`).

use std::env;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::{Errno, FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketType, bind, getsockname, ipproto, listen, socket_with, sockopt,
};

use super::account::{LEAST_BUFFER, RECEIVE_BUFFER};
use super::sys::FLAGS;
use super::unix;
use crate::config::{Host, quoted};
use crate::content::reason;

/// More than the kernel's default of `net.core.somaxconn`, which caps it.
const BACKLOG: i32 = 65535;
/// SD_LISTEN_FDS_START.
const FIRST: RawFd = 3;

/// A socket that listens, for TCP or of unix.
#[derive(Debug)]
pub struct Listener {
    pub socket: OwnedFd,
    /// Its name, without TLS.
    pub name: String,
    /// Whether it is a unix socket.
    pub unix: bool,
}

impl Listener {
    /// Binds and listens. Port 0 picks a free one. The error is the line of K-16.
    pub fn bind(host: &Host, port: u16) -> Result<Listener, String> {
        let (bound, asked) = match host {
            Host::Ip(ip) => (bind_tcp(*ip, port), SocketAddr::new(*ip, port).to_string()),
            Host::Unix(path) => (unix::bind(path), host.to_string()),
        };
        let listener = bound.and_then(|socket| {
            listen(&socket, BACKLOG)?;
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

    /// Its name in the line of K-15.
    pub fn place(&self, tls: bool) -> String {
        match self.name.strip_prefix("http:") {
            Some(address) if tls => format!("https:{address}"),
            _ => self.name.clone(),
        }
    }

    /// `socket` with its name, whoever bound it.
    fn named(socket: OwnedFd) -> io::Result<Listener> {
        let address = getsockname(&socket)?;
        let (name, unix) = match SocketAddr::try_from(address.clone()) {
            Ok(address) => (format!("http://{address}/"), false),
            Err(_) => (unix::name(&SocketAddrUnix::try_from(address)?), true),
        };
        Ok(Listener { socket, name, unix })
    }
}

/// Sets the options of a TCP listener, which accepted sockets inherit. With fixed sizes no buffer grows by itself.
fn set_options(socket: &OwnedFd) -> rustix::io::Result<()> {
    sockopt::set_socket_recv_buffer_size(socket, RECEIVE_BUFFER as usize / 2)?;
    sockopt::set_tcp_nodelay(socket, true)?;
    set_accepted_options(socket)
}

/// Sets the options that accepted unix sockets do not inherit. A receive buffer there is the client's send buffer.
pub fn set_accepted_options(socket: impl AsFd) -> rustix::io::Result<()> {
    // FIONREAD counts an urgent byte, so recv(2) has to return it like any other.
    sockopt::set_socket_oobinline(&socket, true)?;
    sockopt::set_socket_send_buffer_size(&socket, LEAST_BUFFER as usize / 2)
}

fn bind_tcp(ip: IpAddr, port: u16) -> io::Result<OwnedFd> {
    let family = if ip.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let socket = match socket_with(family, SocketType::STREAM, FLAGS, Some(ipproto::TCP)) {
        // The kernel has no IPv6 (K-17).
        Err(Errno::AFNOSUPPORT) if ip == Ipv6Addr::UNSPECIFIED => {
            return bind_tcp(Ipv4Addr::UNSPECIFIED.into(), port);
        }
        socket => socket?,
    };
    if ip.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, false)?;
    }
    sockopt::set_socket_reuseaddr(&socket, true)?;
    set_options(&socket)?;
    bind(&socket, &SocketAddr::new(ip, port))?;
    Ok(socket)
}

/// Sets the passed socket up as kcup's own would be.
fn inherit() -> Result<Listener, String> {
    // SAFETY: it touches no memory, whatever the descriptor is.
    let is_open = unsafe { libc::fcntl(FIRST, libc::F_GETFD) } >= 0;
    // SAFETY: it is open, and nothing here owns it: it was there before the program began.
    let socket = is_open.then(|| unsafe { OwnedFd::from_raw_fd(FIRST) });
    let Some(socket) = socket.filter(|socket| is_listener(socket).unwrap_or(false)) else {
        return Err("it is not a listening stream socket".into());
    };
    let ready = || {
        fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
        ioctl_fionbio(&socket, true)?;
        if sockopt::socket_domain(&socket)? != AddressFamily::UNIX {
            set_options(&socket)?;
        }
        Listener::named(socket)
    };
    ready().map_err(|error| reason(&error))
}

fn is_listener(socket: &OwnedFd) -> rustix::io::Result<bool> {
    let known = [AddressFamily::INET, AddressFamily::INET6, AddressFamily::UNIX];
    Ok(known.contains(&sockopt::socket_domain(socket)?)
        && sockopt::socket_type(socket)? == SocketType::STREAM
        && sockopt::socket_acceptconn(socket)?)
}
