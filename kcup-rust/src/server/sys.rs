//! What only the kernel knows of a socket. Sibling: kcup-go/server/sys.go.

use std::os::fd::AsRawFd;

/// How many bytes wait to be read.
pub fn readable(socket: &impl AsRawFd) -> u32 {
    ask(socket, libc::FIONREAD)
}

/// How many bytes of what was written the peer has not acknowledged.
pub fn unacknowledged(socket: &impl AsRawFd) -> u32 {
    ask(socket, libc::TIOCOUTQ)
}

fn ask(socket: &impl AsRawFd, request: libc::Ioctl) -> u32 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the descriptor is open, and both requests write one int.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), request, &mut bytes) };
    if done < 0 {
        return 0;
    }
    bytes.try_into().unwrap_or(0)
}
