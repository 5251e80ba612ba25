//! A unix socket at a path (K-140).

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use rustix::fs::Mode;
use rustix::process::umask;
use socket2::{Domain, SockAddr, Socket, Type};

use crate::config::escaped;

/// The directory decides who may connect.
const MODE: u32 = 0o666;

/// Binds a socket, and replaces one that nobody listens on. No other thread may create files meanwhile.
pub fn bind(path: &Path) -> io::Result<Socket> {
    let address = SockAddr::unix(path)?;
    let socket = new_socket()?;
    // Not chmod(2) afterwards, which would follow a link that somebody put there meanwhile.
    let before = umask(Mode::from_raw_mode(!MODE & 0o777));
    let bound = match socket.bind(&address) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            make_way(path, &address).and_then(|()| socket.bind(&address))
        }
        bound => bound,
    };
    umask(before);
    bound?;
    Ok(socket)
}

/// Removes a socket whose server has ended.
fn make_way(path: &Path, address: &SockAddr) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return Err(io::Error::other("it is not a socket"));
    }
    match new_socket()?.connect(address) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        _ => Err(ErrorKind::AddrInUse.into()),
    }
}

fn new_socket() -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The name of a unix socket: its path, or its abstract name after an `@`.
pub fn name(address: &SockAddr) -> String {
    let path = address.as_pathname().map(|path| escaped(path.as_os_str().as_bytes()));
    let abstract_name = || format!("@{}", escaped(address.as_abstract_namespace().unwrap_or_default()));
    format!("unix:{}", path.unwrap_or_else(abstract_name))
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

    #[test]
    fn a_socket_that_was_left_behind_is_replaced_and_open_to_all() {
        let place = Place::new("left");
        for _ in 0..2 {
            let socket = bind(&place.0).unwrap();
            assert_eq!(fs::metadata(&place.0).unwrap().permissions().mode() & 0o777, MODE);
            assert_eq!(name(&socket.local_addr().unwrap()), format!("unix:{}", place.0.display()));
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
        let chosen = format!("\0kcup-unix-{}", std::process::id());
        socket.bind(&SockAddr::unix(&chosen).unwrap()).unwrap();
        assert_eq!(name(&socket.local_addr().unwrap()), format!("unix:@{}", &chosen[1..]));
    }
}
