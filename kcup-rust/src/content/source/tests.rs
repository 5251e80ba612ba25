use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use super::super::{Content, reason};
use super::*;

fn options(args: &[&str]) -> Options {
    crate::config::tests::options(&[], args)
}

fn always(_: u64) -> bool {
    true
}

fn load(options: &Options) -> Result<Content, String> {
    Content::new(read(options, enough(options), &always)?, options)
}

/// A directory of the test's own, gone when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("kcup-load-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().into()
    }

    fn fifo(&self) -> String {
        let path = self.path("fifo");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_file_is_read_whole_with_its_time() {
    let scratch = Scratch::new("whole");
    let path = scratch.path("x");
    let bytes: Vec<u8> = (0..300_000u32).map(|n| n as u8).collect();
    fs::write(&path, &bytes).unwrap();
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    File::options().append(true).open(&path).unwrap().set_modified(then).unwrap();
    let content = load(&options(&["-f", &path])).unwrap();
    assert!(content.identity.body[..] == bytes);
    assert_eq!(content.modified, 1_000_000);
}

#[test]
fn a_time_to_come_is_the_time_of_loading() {
    let scratch = Scratch::new("future");
    let path = scratch.path("x");
    fs::write(&path, "x").unwrap();
    let then = SystemTime::now() + Duration::from_secs(1000);
    File::options().append(true).open(&path).unwrap().set_modified(then).unwrap();
    assert!(read(&options(&["-f", &path]), u64::MAX, &always).unwrap().modified <= SystemTime::now());
}

#[test]
fn files_that_say_nothing_of_their_size_are_read_too() {
    let source = read(&options(&["-f", "/proc/self/status"]), u64::MAX, &always).unwrap();
    assert!(source.bytes.starts_with(b"Name:") && !source.one_shot);
}

#[test]
fn what_cannot_be_read_is_worded_as_promised() {
    let scratch = Scratch::new("worded");
    let path = scratch.path("x\ny");
    let escaped = scratch.path("x\\ny");
    let of = |args: &[&str]| load(&options(args)).unwrap_err();
    let says = |path: &str, why: &str| format!("cannot read content from \"{path}\": {why}");
    assert_eq!(of(&["-f", &path]), says(&escaped, "no such file"));
    let directory = scratch.path("");
    let why = "it is a directory (Docker creates one when the source of a mount is missing)";
    assert_eq!(of(&["-f", &directory]), says(&directory, why));
    fs::write(&path, "").unwrap();
    assert_eq!(of(&["-f", &path]), says(&escaped, "it is empty"));
    assert_eq!(of(&["-f", "/dev/null"]), says("/dev/null", "it is empty"));
    fs::write(&path, "12345").unwrap();
    let why = "it is larger than 4 bytes (raise --max-content-bytes)";
    assert_eq!(of(&["-f", &path, "--max-content-bytes=4"]), says(&escaped, why));
    assert!(load(&options(&["-f", &path, "--max-content-bytes=5"])).is_ok());
    assert_eq!(of(&["-f", "/dev/zero", "--max-content-bytes=4"]), says("/dev/zero", why));
    let below = format!("{path}/z");
    assert_eq!(of(&["-f", &below]), says(&format!("{escaped}/z"), "no such file"));
}

#[test]
fn a_fifo_is_read_to_its_end_however_late_its_writer_comes() {
    let scratch = Scratch::new("fifo");
    let path = scratch.fifo();
    let reader = std::thread::spawn({
        let options = options(&["-f", &path]);
        move || load(&options)
    });
    let mut writer = File::options().write(true).open(&path).unwrap();
    let bytes = vec![7; 200_000];
    writer.write_all(&bytes).unwrap();
    drop(writer);
    let content = reader.join().unwrap().unwrap();
    assert!(content.identity.body[..] == bytes && content.one_shot);
}

#[test]
fn a_fifo_without_an_end_is_given_up_in_time() {
    let scratch = Scratch::new("slow");
    let path = scratch.fifo();
    let options = options(&["-f", &path, "--stdin-read-timeout-seconds=1"]);
    let why = "not at its end after 1 second (raise --stdin-read-timeout-seconds)";
    for with_writer in [false, true] {
        let held = with_writer.then(|| File::options().read(true).write(true).open(&path).unwrap());
        if let Some(mut held) = held.as_ref() {
            held.write_all(b"some").unwrap();
        }
        let started = Instant::now();
        let fault = load(&options).unwrap_err();
        assert!(fault.ends_with(why), "{fault}");
        assert!((1000..2000).contains(&started.elapsed().as_millis()));
    }
}

#[test]
fn a_reload_reads_regular_files_alone() {
    let scratch = Scratch::new("again");
    let (path, fifo) = (scratch.path("x"), scratch.fifo());
    fs::write(&path, "12345").unwrap();
    let says = |path: &str, why: &str| format!("cannot read content from \"{path}\": {why}");
    let of = |path: &str, once| {
        let again = again(&options(&["-f", path]), once, u64::MAX);
        again.map(|source| source.bytes.to_vec())
    };
    assert_eq!(of(&path, false), Ok(b"12345".to_vec()));
    assert_eq!(of(&path, true), Err(says(&path, "it can be read only once")));
    assert_eq!(of(&fifo, false), Err(says(&fifo, "it is not a regular file")));
    let fault = again(&options(&[]), true, u64::MAX).unwrap_err();
    assert_eq!(fault, "cannot read content from standard input: it can be read only once");
}

#[test]
fn a_look_sees_what_a_read_would() {
    let scratch = Scratch::new("look");
    let path = scratch.path("x");
    let options = options(&["-f", &path, "--max-content-bytes=100000"]);
    for length in [1, 65536, 100_000] {
        fs::write(&path, vec![7; length]).unwrap();
        assert_eq!(look(&options, false).unwrap(), again(&options, false, u64::MAX).unwrap().digest);
    }
    for length in [0, 100_001] {
        fs::write(&path, vec![7; length]).unwrap();
        assert_eq!(look(&options, false).unwrap_err(), again(&options, false, u64::MAX).unwrap_err());
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(look(&options, false).unwrap_err(), again(&options, false, u64::MAX).unwrap_err());
}

#[test]
fn what_there_is_no_room_for_is_not_read_or_not_made() {
    let scratch = Scratch::new("room");
    let path = scratch.path("x");
    fs::write(&path, vec![b'x'; 100_000]).unwrap();
    let short = format!("cannot read content from \"{path}\": there is not enough memory for it");
    for (compression, variants) in [("off", 0), ("auto", 2_697_152)] {
        let options = options(&["-f", &path, "--compression", compression]);
        assert_eq!(needs(&options), (100_000, variants));
        assert_eq!(again(&options, false, 99_999).unwrap_err(), short);
        for room in [100_000, 100_000 + variants - 1, 100_000 + variants] {
            let source = again(&options, false, room.max(100_000)).unwrap();
            assert_eq!(source.plain, room.max(100_000) < 100_000 + variants);
            let is_plain = source.plain || compression == "off";
            assert_eq!(Content::new(source, &options).unwrap().gzip.is_none(), is_plain);
        }
    }
}

#[test]
fn room_is_asked_once_of_a_file_and_as_it_comes_of_a_stream() {
    let (options, bytes) = (options(&[]), vec![b'x'; 300_000]);
    for (hint, once) in [(300_000, true), (0, false), (100_000, false)] {
        let asked = std::cell::RefCell::new(Vec::new());
        let room = |bytes| {
            asked.borrow_mut().push(bytes);
            true
        };
        let (read, plain) = file::read_all(&bytes[..], hint, &options, u64::MAX, &room, || Ok(())).unwrap();
        assert_eq!((read.len(), plain, asked.borrow().len() == 1), (300_000, false, once), "{asked:?}");
    }
    let short = file::read_all(&b"x"[..], 0, &options, u64::MAX, &|_| false, || Ok(()));
    assert_eq!(short.unwrap_err().kind(), ErrorKind::OutOfMemory);
}

#[test]
fn a_file_that_changes_while_it_is_read_is_read_again() {
    let scratch = Scratch::new("steady");
    let path = scratch.path("x");
    fs::write(&path, "x").unwrap();
    let read_beside = |changes: usize| {
        let reads = std::cell::Cell::new(0);
        let steady = file::steady(path.as_ref(), |_, size| {
            reads.set(reads.get() + 1);
            if reads.get() <= changes {
                File::options().append(true).open(&path).unwrap().write_all(b"y").unwrap();
            }
            Ok(size)
        });
        (steady.map(|(size, _)| size).map_err(|error| reason(&error)), reads.get())
    };
    assert_eq!(read_beside(0), (Ok(1), 1));
    assert_eq!(read_beside(2), (Ok(3), 3));
    let changing = "it keeps changing while it is read";
    assert_eq!(read_beside(20), (Err(changing.into()), 11));
    // One that grows ahead of its reader comes to an end.
    let grow = || {
        let file = File::options().append(true).open(&path).unwrap();
        (&file).write_all(b"growing")
    };
    let options = options(&["-f", &path]);
    let read = |from: &mut file::Regular, size| file::read_all(from, size, &options, u64::MAX, &always, grow);
    let grown = file::steady(path.as_ref(), read);
    assert_eq!(reason(&grown.unwrap_err()), changing);
}
