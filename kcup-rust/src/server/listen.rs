//! The listening socket. Sibling: kcup-go/server/listen.go.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use socket2::{Domain, Protocol, SockRef, Socket, Type};

use super::account::{LEAST_BUFFER, RECEIVE_BUFFER};
use super::unix;
use crate::config::Host;
use crate::content::reason;

/// More than the kernel's default of `net.core.somaxconn`, which caps it.
pub const BACKLOG: i32 = 65535;

/// A socket that listens, of TCP or unix.
#[derive(Debug)]
pub struct Listener {
    pub socket: OwnedFd,
    /// What it is called in the line of SPEC K-15.
    pub name: String,
    /// Whether it is of unix.
    pub unix: bool,
}

impl Listener {
    /// Binds and listens. Port 0 picks a free one. The error is SPEC K-16's line.
    pub fn bind(host: &Host, port: u16) -> Result<Listener, String> {
        let (bound, asked) = match host {
            Host::Ip(ip) => (bind(*ip, port), SocketAddr::new(*ip, port).to_string()),
            Host::Unix(path) => (unix::bind(path), host.to_string()),
        };
        let listener = bound.and_then(Listener::named);
        listener.map_err(|error| format!("cannot listen on {asked}: {}", reason(&error)))
    }

    /// `socket` with its name, whoever bound it.
    pub fn named(socket: Socket) -> io::Result<Listener> {
        let address = socket.local_addr()?;
        let (name, unix) = match address.as_socket() {
            Some(address) => (format!("http://{address}/"), false),
            None => (unix::name(&address), true),
        };
        Ok(Listener { socket: socket.into(), name, unix })
    }
}

/// What kcup asks of a socket that listens to TCP. Accepted sockets inherit it, and no buffer grows by itself then.
pub fn set_options(socket: &Socket) -> io::Result<()> {
    socket.set_recv_buffer_size(RECEIVE_BUFFER as usize / 2)?;
    socket.set_tcp_nodelay(true)?;
    outfit(socket.into())
}

/// What a unix socket does not inherit. Its receive buffer is the peer's send buffer, and the peer's to pay.
pub fn outfit(socket: SockRef) -> io::Result<()> {
    // An urgent byte is one like any other: FIONREAD counts it, so recv(2) has to return it.
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
    socket.listen(BACKLOG)?;
    Ok(socket)
}
