"""Control groups, version 1 and 2: CPU time and memory of a server and its children, and limits on both.

A group has only the controllers that are needed: one for CPU shares, for example, would change how the server and the
load share a CPU. CPU time is always counted. Creating a group needs root.
"""

import contextlib
import os
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")
PERIOD = 100_000
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Group:
    """The directory of each controller; in version 2 it is the same for all."""

    paths: dict[str, Path]

    def processes(self):
        return [int(line) for line in (self.paths["cpuacct"] / "cgroup.procs").read_text().split()]

    def enter(self):
        """Moves the calling process into the group."""
        for path in set(self.paths.values()):
            (path / "cgroup.procs").write_text(str(os.getpid()))

    def cpu_seconds(self):
        """User and system time of everything that has run in it."""
        path = self.paths["cpuacct"]
        if (path / "cpuacct.usage").exists():
            return int((path / "cpuacct.usage").read_text()) / 1e9
        return int(re.search(r"usage_usec (\d+)", (path / "cpu.stat").read_text())[1]) / 1e6

    def memory(self):
        """Bytes, including the kernel's; None if memory is not measured."""
        if "memory" not in self.paths:
            return None
        return int(self._file("memory", "memory.usage_in_bytes", "memory.current").read_text())

    def kills(self):
        """How many processes of the group the kernel has killed for want of memory."""
        if "memory" not in self.paths:
            return 0
        events = self._file("memory", "memory.oom_control", "memory.events").read_text()
        return int(re.search(r"oom_kill (\d+)", events)[1])

    def limit(self, cpus, memory_mb):
        if cpus:
            quota = int(cpus * PERIOD)
            file = self._file("cpu", "cpu.cfs_quota_us", "cpu.max")
            file.write_text(f"{quota} {PERIOD}" if file.name == "cpu.max" else str(quota))
        if memory_mb:
            self._file("memory", "memory.limit_in_bytes", "memory.max").write_text(str(memory_mb * MEGABYTE))

    def _file(self, controller, version_1, version_2):
        path = self.paths[controller]
        return path / (version_1 if (path / version_1).exists() else version_2)

    def remove(self):
        """Ends what is left in the group, by process ids, and then removes it."""
        while left := self.processes():
            for process in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.01)
        for path in set(self.paths.values()):
            path.rmdir()


@contextlib.contextmanager
def new_group(name, cpus=None, memory_mb=None):
    """A new group with limits in CPUs and millions of bytes; removed at the end with everything that runs in it."""
    limits = {"cpu": cpus, "memory": memory_mb}
    limited = [controller for controller, limit in limits.items() if limit]
    directory = f"kcup-bench-{name}-{os.getpid()}"
    group = Group({controller: _base(controller) / directory for controller in ["cpuacct", *limited]})
    try:
        if limited and is_version_2():
            (MOUNT / "cgroup.subtree_control").write_text(" ".join(f"+{controller}" for controller in limited))
        for path in set(group.paths.values()):
            path.mkdir()
        group.limit(cpus, memory_mb)
    except OSError as error:
        raise SystemExit(f"cannot make a control group: {error} (it takes root, and {MOUNT} to be writable)") from None
    try:
        yield group
    finally:
        group.remove()


def is_version_2():
    return (MOUNT / "cgroup.controllers").exists()


def _base(controller):
    """The controller's directory, with links resolved: version 1 may have two controllers in one directory."""
    return MOUNT if is_version_2() else (MOUNT / controller).resolve()


def group_of(pid):
    """The group of a process; for a container, of its first process."""
    paths = {}
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in ["cpuacct", "memory"] if is_version_2() else controllers.split(","):
            paths[controller] = _base(controller) / path.lstrip("/")
    if not {"cpuacct", "memory"} <= paths.keys():
        raise SystemExit("no control group with CPU time and memory: is the engine on this machine?")
    return Group(paths)
