//! A unix socket at a path (K-140).

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket_with};
use rustix::process::umask;

use super::sys::FLAGS;
use crate::config::escaped;

/// The directory decides who may connect.
const MODE: u32 = 0o666;

/// Binds a socket, and replaces one that nobody listens on. No other thread may create files meanwhile.
pub fn bind(path: &Path) -> io::Result<OwnedFd> {
    let (address, socket) = (SocketAddrUnix::new(path)?, new_socket()?);
    // Not chmod(2) afterwards, which would follow a link that somebody put there meanwhile.
    let before = umask(Mode::from_raw_mode(!MODE & 0o777));
    let bound = match rustix::net::bind(&socket, &address) {
        Err(Errno::ADDRINUSE) => {
            make_way(path, &address).and_then(|()| Ok(rustix::net::bind(&socket, &address)?))
        }
        bound => bound.map_err(io::Error::from),
    };
    umask(before);
    bound.map(|()| socket)
}

/// Removes a socket whose server has ended.
fn make_way(path: &Path, address: &SocketAddrUnix) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return Err(io::Error::other("it is not a socket"));
    }
    match connect(new_socket()?, address) {
        Err(Errno::CONNREFUSED) => fs::remove_file(path),
        _ => Err(ErrorKind::AddrInUse.into()),
    }
}

fn new_socket() -> rustix::io::Result<OwnedFd> {
    socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)
}

/// The name of a unix socket: its path, or its abstract name after an `@`.
pub fn name(address: &SocketAddrUnix) -> String {
    match address.path_bytes() {
        // rustix leaves the NUL at the end of the longest path.
        Some(path) => format!("unix:{}", escaped(path.strip_suffix(b"\0").unwrap_or(path))),
        None => format!("unix:@{}", escaped(address.abstract_name().unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::{UnixDatagram, UnixListener};

    /// A path of the test's own, gone when dropped.
    struct Place(std::path::PathBuf);

    impl Place {
        fn new(name: &str) -> Place {
            Place(std::env::temp_dir().join(format!("kcup-unix-{}-{name}", std::process::id())))
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    fn named(socket: &OwnedFd) -> String {
        name(&rustix::net::getsockname(socket).unwrap().try_into().unwrap())
    }

    #[test]
    fn a_socket_that_was_left_behind_is_replaced_and_open_to_all() {
        let place = Place::new("left");
        for _ in 0..2 {
            let socket = bind(&place.0).unwrap();
            assert_eq!(fs::metadata(&place.0).unwrap().permissions().mode() & 0o777, MODE);
            assert_eq!(named(&socket), format!("unix:{}", place.0.display()));
        }
    }

    #[test]
    fn what_others_use_is_left_to_them() {
        let (heard, read, file) = (Place::new("heard"), Place::new("read"), Place::new("file"));
        let _listener = UnixListener::bind(&heard.0).unwrap();
        let _datagrams = UnixDatagram::bind(&read.0).unwrap();
        fs::write(&file.0, "").unwrap();
        for (place, why) in [(&heard, "in use"), (&read, "in use"), (&file, "it is not a socket")] {
            let error = bind(&place.0).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
            assert!(place.0.exists());
        }
    }

    #[test]
    fn an_abstract_name_has_an_at_sign() {
        let socket = new_socket().unwrap();
        let chosen = format!("kcup-unix-{}", std::process::id());
        let address = SocketAddrUnix::new_abstract_name(chosen.as_bytes()).unwrap();
        rustix::net::bind(&socket, &address).unwrap();
        assert_eq!(named(&socket), format!("unix:@{chosen}"));
    }
}
