//! The listening socket. Sibling: kcup-go/server/listen.go.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

/// More than the kernel's default of `net.core.somaxconn`, which caps it.
const BACKLOG: i32 = 65535;

/// The send buffer of each connection. Measured at 1 MiB of content: faster and steadier than the kernel's growing
/// one, and it bounds what slow readers cost. The kernel doubles it for its own bookkeeping. See docs/adr/0004.
const SEND_BUFFER: usize = 256 * 1024;

/// Binds and listens, and gives the URL that it listens on. Port 0 picks a free one. The error is SPEC K-16's line.
pub fn listen(host: IpAddr, port: u16) -> Result<(TcpListener, String), String> {
    let address = SocketAddr::new(host, port);
    let bound = bind(address).and_then(|listener| {
        let url = format!("http://{}/", listener.local_addr()?);
        Ok((listener, url))
    });
    bound.map_err(|error| format!("cannot listen on {address}: {}", reason(&error)))
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.set_reuse_address(true)?;
    // Accepted sockets inherit both.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.set_tcp_nodelay(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Worded here, since every C library words them differently.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::AddrInUse => "address already in use".into(),
        ErrorKind::AddrNotAvailable => "address not available".into(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        _ => error.to_string().to_lowercase(),
    }
}
