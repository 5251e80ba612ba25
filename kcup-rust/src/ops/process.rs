//! What the kernel says of this process, for the metrics `process_*`. Sibling: kcup-go/ops/process.go.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{Dir, Mode, OFlags};
use rustix::io;
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{getrlimit, Resource};
use rustix::time::{clock_gettime, ClockId};

/// How old a number may be (SPEC K-119).
const AGE: Duration = Duration::from_secs(1);
/// More than `/proc/self/stat` is long: 52 numbers and a name.
const STAT_BYTES: usize = 2048;

#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers {
    /// User and system time, in hundredths of a second.
    pub cpu: u64,
    pub open_fds: u64,
    pub max_fds: u64,
    /// Bytes.
    pub virtual_memory: u64,
    /// Bytes.
    pub resident_memory: u64,
    /// Hundredths of a second since 1970.
    pub start_time: u64,
}

/// The files of `/proc` that tell, open for good: the sandbox lets none be opened later. What cannot be had is told as 0.
#[derive(Debug)]
pub struct Process {
    stat: Option<File>,
    descriptors: Option<Mutex<Descriptors>>,
    /// When the system started, in hundredths of a second since 1970.
    boot: u64,
}

impl Process {
    pub fn open() -> Process {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let up = clock_gettime(ClockId::Boottime);
        let up = up.tv_sec as u64 * 100 + up.tv_nsec as u64 / 10_000_000;
        Process {
            stat: File::open("/proc/self/stat").ok(),
            descriptors: Descriptors::open("/proc/self/fd").ok().map(Mutex::new),
            boot: (now.as_millis() as u64 / 10).saturating_sub(up),
        }
    }

    pub fn numbers(&self) -> Numbers {
        let [cpu, started, virtual_memory, resident_pages] = self.stat().unwrap_or_default();
        Numbers {
            cpu,
            open_fds: self.count().unwrap_or_default(),
            max_fds: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX),
            virtual_memory,
            resident_memory: resident_pages * page_size() as u64,
            start_time: self.boot + started,
        }
    }

    fn stat(&self) -> Option<[u64; 4]> {
        let mut text = [0; STAT_BYTES];
        let length = self.stat.as_ref()?.read_at(&mut text, 0).ok()?;
        parsed(std::str::from_utf8(&text[..length]).ok()?, clock_ticks_per_second())
    }

    fn count(&self) -> Option<u64> {
        self.descriptors.as_ref()?.lock().ok()?.count().ok()
    }
}

/// The directory that has an entry for each descriptor.
#[derive(Debug)]
struct Descriptors {
    directory: Dir,
    /// When the entries were last listed, and how many there were.
    listed: Option<(Instant, u64)>,
}

impl Descriptors {
    fn open(path: &str) -> io::Result<Descriptors> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(path, flags, Mode::empty()).and_then(Dir::new)?;
        Ok(Descriptors { directory, listed: None })
    }

    /// Since 6.2 Linux tells as the directory's size how many there are. Before it tells 0, and they are listed; which, with
    /// tens of thousands, takes too long to do it each time somebody asks.
    fn count(&mut self) -> io::Result<u64> {
        let told = self.directory.stat()?.st_size as u64;
        match self.listed {
            _ if told > 0 => Ok(told),
            Some((when, count)) if when.elapsed() < AGE => Ok(count),
            _ => Ok(self.list()),
        }
    }

    fn list(&mut self) -> u64 {
        let now = Instant::now();
        self.directory.rewind();
        let names = self.directory.by_ref().map_while(Result::ok);
        let count = names.filter(|entry| !entry.file_name().to_bytes().starts_with(b".")).count() as u64;
        self.listed = Some((now, count));
        count
    }
}

/// CPU time, start since boot (both in hundredths of a second), virtual memory (bytes), resident memory (pages): fields 14
/// and 15, 22, 23, 24 of proc_pid_stat(5).
fn parsed(stat: &str, ticks: u64) -> Option<[u64; 4]> {
    // The second field is a name in parentheses, in which anything may stand.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<u64> = rest.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect();
    let field = |number: usize| fields.get(number - 3).copied();
    let hundredths = |count: u64| count * 100 / ticks;
    Some([hundredths(field(14)? + field(15)?), hundredths(field(22)?), field(23)?, field(24)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_behind_any_name() {
        let stat = "7 (a) b) 1 2 (3) S 1 7 7 0 -1 4194560 9 0 0 0 250 51 0 0 20 0 3 0 1200 26000000 640 18446744073709551615 1";
        assert_eq!(parsed(stat, 100), Some([301, 1200, 26_000_000, 640]));
        assert_eq!(parsed(stat, 1000), Some([30, 120, 26_000_000, 640]));
        assert_eq!(parsed("7 (kcup) S 1", 100), None);
    }

    #[test]
    fn where_the_kernel_does_not_tell_it_is_listed_once_a_second() {
        // A directory of which it never tells.
        let mut tasks = Descriptors::open("/proc/self/task").unwrap();
        assert!(tasks.count().unwrap() >= 1);
        let (when, _) = tasks.listed.unwrap();
        tasks.listed = Some((when, 1000));
        assert_eq!(tasks.count(), Ok(1000));
        tasks.listed = Some((when - AGE, 1000));
        assert!(tasks.count().unwrap() < 1000);
    }

    #[test]
    fn numbers_are_those_of_this_process_and_can_be_read_again() {
        let process = Process::open();
        let before = process.numbers();
        let _more = [File::open("/dev/null").unwrap(), File::open("/dev/null").unwrap()];
        let after = process.numbers();
        // Other tests open and close descriptors meanwhile.
        assert!(before.open_fds > 3 && after.open_fds > 3);
        assert!(after.resident_memory > 100_000 && after.virtual_memory >= after.resident_memory);
        assert!(after.cpu >= before.cpu && after.max_fds >= after.open_fds);
        assert_eq!(after.start_time, before.start_time);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        assert!((now - 3600..=now + 1).contains(&(after.start_time / 100)), "{}", after.start_time);
    }
}
