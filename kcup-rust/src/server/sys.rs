//! The flags of sockets, and questions that only the kernel can answer about one.

use std::os::fd::{AsFd, AsRawFd};

use rustix::ioctl::{Getter, ioctl};
use rustix::net::SocketFlags;

/// Those of every socket that listens or is accepted.
pub const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// The number of bytes that wait to be read.
pub fn readable(socket: impl AsFd) -> u64 {
    rustix::io::ioctl_fionread(socket).unwrap_or(0)
}

/// The number of bytes written that the peer has not acknowledged.
pub fn unacknowledged(socket: impl AsFd) -> u32 {
    const TIOCOUTQ: rustix::ioctl::Opcode = libc::TIOCOUTQ as rustix::ioctl::Opcode;
    // SAFETY: TIOCOUTQ writes one int.
    let queued = unsafe { ioctl(socket, Getter::<TIOCOUTQ, libc::c_int>::new()) };
    queued.map_or(0, |bytes| bytes.try_into().unwrap_or(0))
}

/// The kernel's memory, in bytes, that holds what was written; `None` if it does not say.
pub fn held(socket: &impl AsRawFd) -> Option<u32> {
    // linux/sock_diag.h has these nine. A unix socket knows only what is in flight.
    const IN_FLIGHT: usize = 2;
    const SET_ASIDE: usize = 4;
    const QUEUED: usize = 5;
    let mut all = [0u32; 9];
    let mut size = size_of_val(&all) as libc::socklen_t;
    // SAFETY: the descriptor is open, and no more than `size` bytes are written.
    let done = unsafe {
        let (level, option) = (libc::SOL_SOCKET, libc::SO_MEMINFO);
        libc::getsockopt(socket.as_raw_fd(), level, option, all.as_mut_ptr().cast(), &mut size)
    };
    let queued = all[IN_FLIGHT].max(all[QUEUED]);
    (done == 0).then(|| if queued > 0 { queued + all[SET_ASIDE] } else { 0 })
}
