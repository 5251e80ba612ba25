//! Notifications to the service manager: `sd_notify(3)` (K-142).

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{self, SocketAddr};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::net::UnixDatagram;
use tokio::time::timeout;

/// The time that a manager has to take a notification.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Notifies the service manager, if there is one.
pub struct Notifier(Option<UnixDatagram>);

impl Notifier {
    /// Connects to the manager, which the sandbox forbids later. Call it inside a tokio runtime.
    pub fn from_env() -> Notifier {
        let manager = env::var_os("NOTIFY_SOCKET").and_then(|name| address(&name));
        Notifier(manager.and_then(|manager| connect(&manager).ok()))
    }

    /// Says that kcup listens, or that a reload is over.
    pub async fn ready(&self) {
        self.notify("READY=1").await;
    }

    /// Says that a reload begins.
    pub async fn reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        let microseconds = now.tv_sec * 1_000_000 + now.tv_nsec / 1000;
        self.notify(&format!("RELOADING=1\nMONOTONIC_USEC={microseconds}")).await;
    }

    /// Says that the drain begins.
    pub async fn stopping(&self) {
        self.notify("STOPPING=1").await;
    }

    async fn notify(&self, message: &str) {
        if let Some(socket) = &self.0 {
            // Failures are ignored.
            let _ = timeout(TIMEOUT, socket.send(message.as_bytes())).await;
        }
    }
}

fn connect(manager: &SocketAddr) -> io::Result<UnixDatagram> {
    let socket = net::UnixDatagram::unbound()?;
    socket.connect_addr(manager)?;
    socket.set_nonblocking(true)?;
    UnixDatagram::from_std(socket)
}

/// The address of a path, or of an abstract name after an `@`.
fn address(name: &OsStr) -> Option<SocketAddr> {
    match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name).ok(),
        [b'/', ..] => SocketAddr::from_pathname(name).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_manager_hears_what_happens_in_its_words() {
        let name = format!("kcup-notify-{}", std::process::id());
        let manager = net::UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let notifier = Notifier(connect(&address(format!("@{name}").as_ref()).unwrap()).ok());
        notifier.ready().await;
        notifier.reloading().await;
        notifier.stopping().await;
        let mut buffer = [0; 100];
        let mut heard = || {
            let length = manager.recv(&mut buffer).unwrap();
            String::from_utf8(buffer[..length].to_vec()).unwrap()
        };
        assert_eq!(heard(), "READY=1");
        let reloading = heard();
        let since = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
        assert!(since.parse::<u64>().unwrap() > 0);
        assert_eq!(heard(), "STOPPING=1");
    }

    #[test]
    fn a_manager_has_a_path_or_an_abstract_name() {
        assert!(address(OsStr::new("/run/systemd/notify")).unwrap().as_pathname().is_some());
        assert_eq!(address(OsStr::new("@a")).unwrap().as_abstract_name(), Some(&b"a"[..]));
        for name in ["", "notify", "vsock:2:1"] {
            assert!(address(OsStr::new(name)).is_none(), "{name}");
        }
    }
}
