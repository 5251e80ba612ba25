//! What the cgroups of this process, of version 1 or 2, allow it. Sibling: kcup-go/server/cgroup.go.

use std::fs;
use std::path::{Component, Path};

/// The memory limit, in bytes.
pub fn memory_limit() -> Option<u64> {
    smallest(Path::new("/sys/fs/cgroup"), Path::new("/proc/self/cgroup"))
}

/// The smallest limit of the cgroup that `membership` names and of those above it. In a container the names are those
/// of the host, and only the root is there.
fn smallest(root: &Path, membership: &Path) -> Option<u64> {
    let membership = fs::read_to_string(membership).ok()?;
    let limits = membership.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let (hierarchy, file) = match controllers.split(',').any(|name| name == "memory") {
            true => (root.join("memory"), "memory.limit_in_bytes"),
            false if controllers.is_empty() => (root.to_owned(), "memory.max"),
            false => return Vec::new(),
        };
        limits_of(&hierarchy, Path::new(path), file)
    });
    // Version 1 writes "no limit" as a number near the largest, version 2 as a word.
    limits.filter(|limit| *limit < 1 << 60).min()
}

fn limits_of(hierarchy: &Path, group: &Path, file: &str) -> Vec<u64> {
    let inside = group.components().all(|part| part != Component::ParentDir);
    let groups = group.ancestors().filter(|_| inside);
    let read = |group: &Path| {
        let group = group.strip_prefix("/").unwrap_or(group);
        fs::read_to_string(hierarchy.join(group).join(file)).ok()?.trim().parse().ok()
    };
    groups.filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_from_both_versions_of_cgroups() {
        let root = std::env::temp_dir().join(format!("kcup-envelope-{}", std::process::id()));
        let group = root.join("memory/outer/inner");
        fs::create_dir_all(&group).unwrap();
        fs::write(group.join("memory.limit_in_bytes"), "9223372036854771712\n").unwrap();
        fs::write(root.join("memory/outer/memory.limit_in_bytes"), "104857600\n").unwrap();
        fs::write(root.join("memory.max"), "max\n").unwrap();
        let of = |membership: &str| {
            fs::write(root.join("membership"), membership).unwrap();
            smallest(&root, &root.join("membership"))
        };
        assert_eq!(of("4:memory:/outer/inner\n1:cpu:/x\n"), Some(104_857_600));
        assert_eq!(of("0::/\n"), None);
        fs::write(root.join("memory.max"), "5000000\n").unwrap();
        assert_eq!(of("0::/not/visible/here\n"), Some(5_000_000));
        fs::remove_dir_all(root).unwrap();
    }
}
