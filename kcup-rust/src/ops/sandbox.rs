//! The sandbox (SPEC section 12). Sibling: kcup-go/ops/sandbox.go.

use std::fs::canonicalize;
use std::path::{Path, PathBuf};

use landlock::{
    path_beneath_rules, Access, AccessFs, AccessNet, LandlockStatus, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, ABI,
};
use rustix::process::{setrlimit, Resource, Rlimit};

use crate::config::{Options, Sandbox};

/// Gives up what serving does not need (K-130), for good, in this thread and in those that it starts from now on: there must
/// be no others yet, and what is needed later must be open.
pub fn seal(options: &Options) -> Result<(), String> {
    if options.sandbox == Sandbox::Off {
        return Ok(());
    }
    let sealed = restrict(options.file.as_deref()).map_err(|why| format!("cannot enter the sandbox: {why}"));
    match sealed {
        Err(why) if options.sandbox == Sandbox::Auto => log::warn!("{why}"),
        sealed => return sealed,
    }
    Ok(())
}

/// Goes as far as the kernel does, and says what is missing (K-131).
fn restrict(file: Option<&Path>) -> Result<(), String> {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none).map_err(|error| error.to_string())?;
    match landlocked(&file.map_or(Vec::new(), needed)).map_err(|error| error.to_string())? {
        // The first version that knows TCP. What later ones add to files is taken where it is there.
        LandlockStatus::Available { effective_abi, .. } if effective_abi >= ABI::V4 => Ok(()),
        LandlockStatus::Available { .. } => Err("the kernel knows only a part of it".into()),
        _ => Err("the kernel does not know Landlock".into()),
    }
}

/// Sets `no_new_privs` too. Nothing beyond K-130 is asked for: a service manager's socket must stay within reach.
fn landlocked(readable: &[PathBuf]) -> Result<LandlockStatus, RulesetError> {
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI::V5))?
        .handle_access(AccessNet::from_all(ABI::V4))?
        .create()?
        .add_rules(path_beneath_rules(readable, AccessFs::ReadFile))?
        .restrict_self()?;
    Ok(status.landlock)
}

/// The paths beneath which a reload reads: the directory that the name stands in, and that of the file it led to. Of the
/// root only the file itself.
fn needed(file: &Path) -> Vec<PathBuf> {
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
    use std::fs;
    use std::io::{ErrorKind, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::symlink;
    use std::thread;

    /// Runs `inside` in a sandbox. Threads can be sealed one by one, so the other tests are not.
    fn sealed<T: Send + 'static>(file: Option<PathBuf>, inside: impl FnOnce() -> T + Send + 'static) -> T {
        let thread = thread::spawn(move || {
            restrict(file.as_deref()).unwrap();
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
    fn nothing_can_be_opened_bound_or_reached() {
        let directory = directory("nothing");
        let made = directory.join("made");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap();
        let kinds = sealed(None, move || {
            let kind = |error: std::io::Error| error.kind();
            [
                fs::File::open("/etc/passwd").map(drop).map_err(kind),
                fs::read_dir("/").map(drop).map_err(kind),
                fs::write(made, "x").map_err(kind),
                TcpListener::bind("127.0.0.1:0").map(drop).map_err(kind),
                TcpStream::connect(there).map(drop).map_err(kind),
            ]
        });
        assert_eq!(kinds, [Err(ErrorKind::PermissionDenied); 5]);
        fs::remove_dir(directory).unwrap();
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
        let mut answer = String::new();
        TcpStream::connect(there).unwrap().read_to_string(&mut answer).unwrap();
        server.join().unwrap();
        assert_eq!(answer, "served");
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
    fn of_the_root_only_the_file_and_of_what_is_no_regular_file_nothing_is_needed() {
        assert_eq!(needed(Path::new("/dev/null")), Vec::<PathBuf>::new());
        assert_eq!(needed(Path::new("/not/there")), Vec::<PathBuf>::new());
        let here = canonicalize(".").unwrap();
        assert_eq!(needed(Path::new("Cargo.toml")), [here.clone(), here]);
        let root = fs::read_dir("/").unwrap().flatten().map(|entry| entry.path());
        for file in root.filter(|path| path.is_file() && !path.is_symlink()) {
            assert_eq!(needed(&file), [file.clone(), file]);
        }
    }
}
