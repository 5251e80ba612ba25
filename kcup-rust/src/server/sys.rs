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

/// What the kernel holds of what was written, in bytes of its memory; nothing where it does not say.
pub fn held(socket: &impl AsRawFd) -> Option<u32> {
    // linux/sock_diag.h: of these nine, what is in flight, what is set aside for the socket, and what is queued. A unix
    // socket knows only the first.
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

fn ask(socket: &impl AsRawFd, request: libc::Ioctl) -> u32 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the descriptor is open, and both requests write one int.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), request, &mut bytes) };
    if done < 0 {
        return 0;
    }
    bytes.try_into().unwrap_or(0)
}
