//! What the kernel says of this process, for the metrics `process_*`. Sibling: kcup-go/ops/process.go.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{Dir, Mode, OFlags};
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{getrlimit, Resource};
use rustix::time::{clock_gettime, ClockId};

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
    /// Behind a lock, since reading moves its offset.
    descriptors: Option<Mutex<Dir>>,
    /// When the system started, in hundredths of a second since 1970.
    boot: u64,
}

impl Process {
    pub fn open() -> Process {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptors = rustix::fs::open("/proc/self/fd", flags, Mode::empty()).and_then(Dir::new);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let up = clock_gettime(ClockId::Boottime);
        let up = up.tv_sec as u64 * 100 + up.tv_nsec as u64 / 10_000_000;
        Process {
            stat: File::open("/proc/self/stat").ok(),
            descriptors: descriptors.ok().map(Mutex::new),
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
        let mut directory = self.descriptors.as_ref()?.lock().ok()?;
        directory.rewind();
        let names = directory.by_ref().map_while(Result::ok);
        Some(names.filter(|entry| !entry.file_name().to_bytes().starts_with(b".")).count() as u64)
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
