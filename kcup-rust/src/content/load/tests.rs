use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use super::*;

fn options(args: &[&str]) -> Options {
    crate::config::tests::options(&[], args)
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
    let loaded = load(&options(&["-f", &path])).unwrap();
    assert!(loaded.bytes == bytes);
    assert_eq!(loaded.modified, then);
}

#[test]
fn a_time_to_come_is_the_time_of_loading() {
    let scratch = Scratch::new("future");
    let path = scratch.path("x");
    fs::write(&path, "x").unwrap();
    let then = SystemTime::now() + Duration::from_secs(1000);
    File::options().append(true).open(&path).unwrap().set_modified(then).unwrap();
    assert!(load(&options(&["-f", &path])).unwrap().modified <= SystemTime::now());
}

#[test]
fn files_that_say_nothing_of_their_size_are_read_too() {
    let loaded = load(&options(&["-f", "/proc/self/status"])).unwrap();
    assert!(loaded.bytes.starts_with(b"Name:"));
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
    assert!(reader.join().unwrap().unwrap().bytes == bytes);
}

#[test]
fn a_fifo_without_an_end_is_given_up_in_time() {
    let scratch = Scratch::new("slow");
    let path = scratch.fifo();
    let options = options(&["-f", &path, "--stdin-read-timeout-seconds=1"]);
    let why = "not at its end after 1 seconds (raise --stdin-read-timeout-seconds)";
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
