"""A memory cgroup with a limit, of either version. Tests that need one are skipped if none can be made."""

import contextlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from .process import until

VERSION_1, VERSION_2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class MemoryGroup:
    path: Path

    def enter(self):
        """For preexec_fn: moves the process into the group."""
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def limit(self, size):
        """Changes the limit to this many bytes."""
        name = "memory.limit_in_bytes" if VERSION_1.is_dir() else "memory.max"
        (self.path / name).write_text(str(size))

    def used(self):
        name = "memory.usage_in_bytes" if VERSION_1.is_dir() else "memory.current"
        return int((self.path / name).read_text())

    def kills(self):
        """How many processes of the group the kernel has killed for want of memory."""
        name = "memory.oom_control" if VERSION_1.is_dir() else "memory.events"
        rows = dict(line.split() for line in (self.path / name).read_text().splitlines())
        return int(rows["oom_kill"])


def memory_group(size):
    """A group that processes may join; it is removed once they have ended."""
    return limited_group(lambda group: group.limit(size))


def socket_memory_group(size):
    """A group that limits only the memory of TCP sockets, which exists only in version 1."""
    return limited_group(lambda group: (group.path / "memory.kmem.tcp.limit_in_bytes").write_text(str(size)))


@contextlib.contextmanager
def limited_group(limit):
    try:
        parent = VERSION_1 if VERSION_1.is_dir() else VERSION_2
        group = MemoryGroup(Path(tempfile.mkdtemp(prefix="kcup-", dir=parent)))
    except OSError as error:
        pytest.skip(f"no memory cgroup can be made here: {error}")
    try:
        limit(group)
    except OSError as error:
        group.path.rmdir()
        pytest.skip(f"no memory cgroup can be made here: {error}")
    try:
        yield group
    finally:
        until(lambda: not (group.path / "cgroup.procs").read_text())
        group.path.rmdir()
