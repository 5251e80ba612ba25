//! The sandbox (SPEC section 12, docs/adr/0009).

mod filter;

use std::fs::canonicalize;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, LandlockStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    path_beneath_rules,
};
use rustix::io;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use rustix::time::{ClockId, clock_gettime};

use crate::config::{Options, Sandbox};

/// Restricts the process to what serving needs (K-130), for good: this thread, and those that it starts from now on. There
/// must be no others yet, and files that are needed later must be open.
pub fn enter(options: &Options) -> Result<(), String> {
    if options.sandbox == Sandbox::Off {
        return Ok(());
    }
    let missing = restrict(&files(options), options.tls.is_some()).join(", ");
    match options.sandbox {
        _ if missing.is_empty() => (),
        Sandbox::Required => {
            return Err(format!("cannot enter the sandbox: the kernel does not offer {missing}"));
        }
        _ => log::warn!("the sandbox is not whole: the kernel does not offer {missing}"),
    }
    Ok(())
}

/// The files that reloads read.
fn files(options: &Options) -> Vec<&Path> {
    let tls = options.tls.iter().flat_map(|tls| [&*tls.certificate, &*tls.key]);
    options.file.as_deref().into_iter().chain(tls).collect()
}

/// Applies the parts that the kernel offers, and returns the others (K-131). The filter is last, since it forbids calls that
/// the other parts need.
fn restrict(files: &[&Path], tls: bool) -> Vec<&'static str> {
    // rustix looks for the vDSO at its first call; before Linux 6.4 that takes a file.
    let _ = clock_gettime(ClockId::Monotonic);
    let no_core = Rlimit { current: Some(0), maximum: Some(0) };
    let parts = [
        ("RLIMIT_CORE", setrlimit(Resource::Core, no_core).is_ok()),
        (
            "Landlock",
            is_landlocked(&Vec::from_iter(files.iter().flat_map(|file| readable(file)))).unwrap_or(false),
        ),
        ("capset", drop_capabilities().is_ok()),
        ("seccomp", filter::enter(tls).is_ok()),
    ];
    parts.into_iter().filter(|(_, done)| !done).map(|(name, _)| name).collect()
}

/// Restricts files only: the filter restricts sockets, and everything that the first versions of Landlock do not.
fn is_landlocked(readable: &[PathBuf]) -> Result<bool, RulesetError> {
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI::V5))?
        .create()?
        .add_rules(path_beneath_rules(readable, AccessFs::ReadFile))?
        .restrict_self()?;
    Ok(matches!(status.landlock, LandlockStatus::Available { .. }))
}

/// Ambient capabilities are dropped with these. Without any, and with `no_new_privs`, execve(2) restores none, so the bounding
/// set may stay.
fn drop_capabilities() -> io::Result<()> {
    let empty = CapabilitySet::empty();
    let none = CapabilitySets { effective: empty, permitted: empty, inheritable: empty };
    // If there are none to drop, a filter from outside may forbid the call.
    match capabilities(None)? == none {
        true => Ok(()),
        false => set_capabilities(None, none),
    }
}

/// The paths beneath which a reload reads: the directory of the name, and that of the file it leads to. If that is the root
/// directory, only the file itself.
fn readable(file: &Path) -> Vec<PathBuf> {
    if !file.is_file() {
        return Vec::new();
    }
    let around = |name: PathBuf| {
        let directory = match name.parent() {
            Some(parent) if parent != Path::new("") => canonicalize(parent),
            _ => canonicalize("."),
        };
        directory.ok().filter(|directory| directory != Path::new("/")).unwrap_or(name)
    };
    let names = [Some(file.to_owned()), canonicalize(file).ok()];
    names.into_iter().flatten().map(around).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{getpid, test_kill_process};
    use std::fs::{self, Permissions};
    use std::io::{ErrorKind, Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::os::unix::net::UnixDatagram;
    use std::process::Command;
    use std::thread;

    /// Runs `inside` in a sandbox. Threads can be sealed one by one, so the other tests are not.
    fn sealed<T: Send + 'static>(file: Option<PathBuf>, inside: impl FnOnce() -> T + Send + 'static) -> T {
        let thread = thread::spawn(move || {
            assert_eq!(restrict(&Vec::from_iter(file.as_deref()), false), Vec::<&str>::new());
            // What is given up is given up in new threads too.
            thread::spawn(inside).join().unwrap()
        });
        thread.join().unwrap()
    }

    /// A directory of this test's own, as real as paths come.
    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("kcup-sandbox-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        canonicalize(path).unwrap()
    }

    #[test]
    fn nothing_can_be_opened_bound_reached_changed_or_started() {
        let directory = directory("nothing");
        let (file, made) = (directory.join("file"), directory.join("made"));
        fs::write(&file, "x").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap();
        let kinds = sealed(None, move || {
            let kind = |error: std::io::Error| error.kind();
            let forbidden = [
                fs::File::open("/etc/passwd").map(drop).map_err(kind),
                fs::read_dir("/").map(drop).map_err(kind),
            ];
            let missing = [
                fs::write(made, "x").map_err(kind),
                fs::set_permissions(&file, Permissions::from_mode(0o777)).map_err(kind),
                chown(&file, Some(1), None).map_err(kind),
                fs::remove_file(&file).map_err(kind),
                TcpListener::bind("127.0.0.1:0").map(drop).map_err(kind),
                TcpStream::connect(there).map(drop).map_err(kind),
                UdpSocket::bind("127.0.0.1:0").map(drop).map_err(kind),
                UnixDatagram::unbound().map(drop).map_err(kind),
                Command::new("/bin/true").spawn().map(drop).map_err(kind),
                test_kill_process(getpid()).map_err(|error| kind(error.into())),
            ];
            (forbidden, missing)
        });
        assert_eq!(kinds.0, [Err(ErrorKind::PermissionDenied); 2]);
        assert_eq!(kinds.1, [Err(ErrorKind::Unsupported); 10]);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn what_was_open_before_goes_on_working() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            sealed(None, move || {
                listener.accept().and_then(|(mut peer, _)| peer.write_all(b"served")).unwrap()
            });
        });
        let mut response = String::new();
        TcpStream::connect(there).unwrap().read_to_string(&mut response).unwrap();
        server.join().unwrap();
        assert_eq!(response, "served");
    }

    #[test]
    fn files_around_a_name_and_around_what_it_led_to_can_be_read() {
        let (names, files, others) = (directory("names"), directory("files"), directory("others"));
        for directory in [&names, &files, &others] {
            fs::write(directory.join("first"), "first").unwrap();
            fs::write(directory.join("second"), "second").unwrap();
        }
        symlink(files.join("first"), names.join("link")).unwrap();
        let all = [&names, &files, &others].map(|directory| directory.join("second"));
        let read = sealed(Some(names.join("link")), move || {
            all.map(|path| fs::read_to_string(path).map_err(|error| error.kind()))
        });
        let second = || Ok("second".to_string());
        assert_eq!(read, [second(), second(), Err(ErrorKind::PermissionDenied)]);
        for directory in [names, files, others] {
            fs::remove_dir_all(directory).unwrap();
        }
    }

    #[test]
    fn of_the_root_only_the_file_and_of_what_is_no_regular_file_nothing_is_readable() {
        assert_eq!(readable(Path::new("/dev/null")), Vec::<PathBuf>::new());
        assert_eq!(readable(Path::new("/not/there")), Vec::<PathBuf>::new());
        let here = canonicalize(".").unwrap();
        assert_eq!(readable(Path::new("Cargo.toml")), [here.clone(), here]);
        let root = fs::read_dir("/").unwrap().flatten().map(|entry| entry.path());
        for file in root.filter(|path| path.is_file() && !path.is_symlink()) {
            assert_eq!(readable(&file), [file.clone(), file]);
        }
    }
}
