//! The memory limits of this process's cgroups, of version 1 or 2.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path};

/// Larger than any of these files, which are read with one call.
const LONGEST_FILE: usize = 16384;

/// Version 1 writes "no limit" as a number near the largest, version 2 as a word.
const UNLIMITED: u64 = 1 << 60;

/// The names of a cgroup's files, and of the parts of its usage that the kernel reclaims when memory is short.
struct Version {
    limit: &'static str,
    usage: &'static str,
    reclaimable: [&'static str; 2],
    /// The limit on socket buffers, if they are counted separately.
    sockets: Option<&'static str>,
}

// Without "total_" these would be of this cgroup alone, but its usage includes those below it.
const V1: Version = Version {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    reclaimable: ["total_inactive_file", "total_active_file"],
    sockets: Some("memory.kmem.tcp.limit_in_bytes"),
};
const V2: Version = Version {
    limit: "memory.max",
    usage: "memory.current",
    reclaimable: ["inactive_file", "active_file"],
    sockets: None,
};

/// The cgroups that limit our memory.
#[derive(Debug, Default)]
pub struct Memory {
    groups: Vec<Group>,
    /// Version 1's limit on socket buffers, in bytes.
    pub sockets: Option<u64>,
}

/// A cgroup with a limit. Its files are held open, since the sandbox lets none be opened later.
#[derive(Debug)]
struct Group {
    limit: File,
    usage: Option<File>,
    stat: Option<File>,
    /// Whether socket buffers count.
    charged: bool,
    reclaimable: [&'static str; 2],
}

impl Memory {
    /// Finds them. A cgroup that cannot be read sets no limit.
    pub fn open() -> Memory {
        Memory::find(Path::new("/sys/fs/cgroup"), Path::new("/proc/self/cgroup")).unwrap_or_default()
    }

    /// The cgroup that `membership` names and those above it. In a container the names are those of the host, and only the
    /// root is there.
    fn find(root: &Path, membership: &Path) -> io::Result<Memory> {
        let membership = fs::read_to_string(membership)?;
        let mut memory = Memory::default();
        for line in membership.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next().unwrap_or(""), Path::new(parts.next().unwrap_or("")));
            match controllers.split(',').any(|name| name == "memory") {
                true => memory.add(&root.join("memory"), path, &V1),
                false if controllers.is_empty() => memory.add(root, path, &V2),
                false => (),
            }
        }
        Ok(memory)
    }

    /// `group` and the ones above it, as far as they have a limit.
    fn add(&mut self, hierarchy: &Path, group: &Path, version: &Version) {
        let inside = group.components().all(|part| part != Component::ParentDir);
        for group in group.ancestors().filter(|_| inside) {
            let directory = hierarchy.join(group.strip_prefix("/").unwrap_or(group));
            let is_limited = |group: &Group| number(&group.limit).is_some_and(|limit| limit < UNLIMITED);
            self.groups.extend(Group::open(&directory, version).ok().filter(is_limited));
            let sockets = version.sockets.and_then(|name| number(&File::open(directory.join(name)).ok()?));
            let sockets = sockets.filter(|&limit| limit < UNLIMITED);
            self.sockets = self.sockets.into_iter().chain(sockets).min();
        }
    }

    /// The smallest limit, in bytes.
    pub fn limit(&self) -> Option<u64> {
        self.groups.iter().filter_map(|group| number(&group.limit)).min()
    }

    /// The number of bytes that may still be used, as far as is known.
    pub fn available(&self) -> u64 {
        self.groups.iter().filter_map(Group::available).min().unwrap_or(u64::MAX)
    }

    /// The number of bytes that may be used for speed alone.
    pub fn spare(&self) -> u64 {
        self.available() / 8
    }

    /// Whether socket buffers are a part of it.
    pub fn is_charged(&self) -> bool {
        self.groups.iter().any(|group| group.charged)
    }
}

impl Group {
    fn open(directory: &Path, version: &Version) -> io::Result<Group> {
        let open = |name| File::open(directory.join(name));
        Ok(Group {
            limit: open(version.limit)?,
            usage: open(version.usage).ok(),
            stat: open("memory.stat").ok(),
            charged: version.sockets.is_none(),
            reclaimable: version.reclaimable,
        })
    }

    fn available(&self) -> Option<u64> {
        let (limit, used) = (number(&self.limit)?, number(self.usage.as_ref()?)?);
        let stat = read(self.stat.as_ref()?)?;
        let lines = stat.lines().filter_map(|line| line.split_once(' '));
        let reclaimable = lines.filter(|(name, _)| self.reclaimable.contains(name));
        let reclaimable: u64 = reclaimable.filter_map(|(_, bytes)| bytes.parse::<u64>().ok()).sum();
        Some(limit.saturating_sub(used.saturating_sub(reclaimable)))
    }
}

fn number(file: &File) -> Option<u64> {
    read(file)?.trim().parse().ok()
}

/// Reads from the beginning, since the kernel writes such a file again each time.
fn read(file: &File) -> Option<String> {
    let mut bytes = vec![0; LONGEST_FILE];
    let length = file.read_at(&mut bytes, 0).ok()?;
    bytes.truncate(length);
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_what_is_left_of_them_are_read_from_both_versions_of_cgroups() {
        let root = std::env::temp_dir().join(format!("kcup-envelope-{}", std::process::id()));
        let (outer, inner) = (root.join("memory/outer"), root.join("memory/outer/inner"));
        fs::create_dir_all(&inner).unwrap();
        for (group, limit) in [(&inner, "9223372036854771712\n"), (&outer, "104857600\n")] {
            fs::write(group.join("memory.limit_in_bytes"), limit).unwrap();
            fs::write(group.join("memory.usage_in_bytes"), "4857600\n").unwrap();
            let stat = "inactive_file 9\ntotal_cache 9\ntotal_inactive_file 50000\ntotal_active_file 7600\n";
            fs::write(group.join("memory.stat"), stat).unwrap();
        }
        fs::write(outer.join("memory.kmem.tcp.limit_in_bytes"), "7000000\n").unwrap();
        fs::write(root.join("memory.max"), "max\n").unwrap();
        fs::write(root.join("memory.current"), "6000000\n").unwrap();
        fs::write(root.join("memory.stat"), "anon 5\ninactive_file 1000000\nactive_file 500000\n").unwrap();
        let of = |membership: &str| {
            fs::write(root.join("membership"), membership).unwrap();
            let memory = Memory::find(&root, &root.join("membership")).unwrap();
            (memory.limit(), memory.available(), memory.is_charged(), memory.sockets)
        };
        assert_eq!(
            of("4:memory:/outer/inner\n1:cpu:/x\n"),
            (Some(104_857_600), 100_057_600, false, Some(7_000_000))
        );
        assert_eq!(of("0::/\n"), (None, u64::MAX, false, None));
        fs::write(root.join("memory.max"), "5000000\n").unwrap();
        assert_eq!(of("0::/not/visible/here\n"), (Some(5_000_000), 500_000, true, None));
        assert_eq!(of("4:memory:/outer\n0::/\n"), (Some(5_000_000), 500_000, true, Some(7_000_000)));
        fs::remove_dir_all(root).unwrap();
    }
}
