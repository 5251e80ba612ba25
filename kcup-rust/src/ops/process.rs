//! The kernel's numbers on this process, for the metrics `process_*`.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::fstat;
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

/// The greatest age of a number (K-119).
const AGE: Duration = Duration::from_secs(1);
/// More than `/proc/self/stat` is long: 52 numbers and a name.
const STAT_BYTES: usize = 2048;
/// More than `/proc/self/status` has up to `FDSize`, which is about its ninth line.
const STATUS_BYTES: usize = 1024;

/// The values of the metrics `process_*` (K-119).
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

/// Files of `/proc`, which stay open: the sandbox lets none be opened later. A number that cannot be read is 0.
#[derive(Debug)]
pub struct Process {
    stat: Option<File>,
    descriptors: Option<Mutex<Descriptors>>,
    /// When the system started, in hundredths of a second since 1970.
    boot: u64,
}

impl Process {
    /// Opens the files. Call it before the sandbox is entered.
    pub fn open() -> Process {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let up = clock_gettime(ClockId::Boottime);
        let up = up.tv_sec as u64 * 100 + up.tv_nsec as u64 / 10_000_000;
        Process {
            stat: File::open("/proc/self/stat").ok(),
            descriptors: Descriptors::open().ok().map(Mutex::new),
            boot: (now.as_millis() as u64 / 10).saturating_sub(up),
        }
    }

    /// Reads the numbers, which are at most a second old.
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
        self.descriptors.as_ref()?.lock().ok()?.count()
    }
}

/// The directory with an entry for each descriptor, and the file with the number of their slots.
#[derive(Debug)]
struct Descriptors {
    directory: File,
    status: File,
    /// The time at which they were last counted one by one, and their number.
    counted: Option<(Instant, u64)>,
}

impl Descriptors {
    fn open() -> io::Result<Descriptors> {
        let (directory, status) = (File::open("/proc/self/fd")?, File::open("/proc/self/status")?);
        Ok(Descriptors { directory, status, counted: None })
    }

    /// Since Linux 6.2 the directory's size is the number of descriptors. Before it is 0, and each slot has to be looked at,
    /// which takes too long for each request. The directory is never listed: that would leave 900 bytes in the kernel for each
    /// descriptor, charged to our cgroup.
    fn count(&mut self) -> Option<u64> {
        let told = fstat(&self.directory).ok()?.st_size as u64;
        match self.counted {
            _ if told > 0 => Some(told),
            Some((when, count)) if when.elapsed() < AGE => Some(count),
            _ => self.count_slots(),
        }
    }

    fn count_slots(&mut self) -> Option<u64> {
        let mut text = [0; STATUS_BYTES];
        let length = self.status.read_at(&mut text, 0).ok()?;
        let lines = std::str::from_utf8(&text[..length]).ok()?.lines();
        let slots: i32 = lines.filter_map(|line| line.strip_prefix("FDSize:")).next()?.trim().parse().ok()?;
        // SAFETY: asking for a descriptor's flags does nothing to it, whoever it belongs to, and to none EBADF.
        let is_open = |&slot: &i32| unsafe { libc::fcntl(slot, libc::F_GETFD) } >= 0;
        let count = (0..slots).filter(is_open).count() as u64;
        self.counted = Some((Instant::now(), count));
        Some(count)
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
    fn where_the_kernel_does_not_tell_they_are_counted_once_a_second() {
        let tasks = File::open("/proc/self/task").unwrap(); // of whose size it never tells
        let mut descriptors = Descriptors { directory: tasks, ..Descriptors::open().unwrap() };
        let listed = || std::fs::read_dir("/proc/self/fd").unwrap().count() as u64 - 1;
        // Other tests open and close descriptors meanwhile.
        assert!((0..1000).any(|_| {
            descriptors.counted = None;
            let before = listed();
            descriptors.count() == Some(before) && listed() == before
        }));
        let (when, _) = descriptors.counted.unwrap();
        descriptors.counted = Some((when, 1000));
        assert_eq!(descriptors.count(), Some(1000));
        descriptors.counted = Some((when - AGE, 1000));
        assert!(descriptors.count().unwrap() < 1000);
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
