"""What the kernel reports about a running process: its listening port, its descriptors, whether it waits."""

import contextlib
import fcntl
import os
import select
import signal
import struct
import termios
import time
from pathlib import Path

from .kernel import call, libc

IN_CLOSE_NOWRITE = 0x10
LISTEN = "0A"
PATIENCE = 60.0  # for events without a promised time, on a busy machine


def until(condition, limit=15.0):
    """Waits for a condition that another process brings about. Returns its value, or fails after PATIENCE."""
    deadline = time.monotonic() + limit
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited {limit:.0f} seconds for {condition}"
        time.sleep(0.005)
    return value


def in_time(attempt):
    """Repeats an attempt that returns False if this process was too slow; its assertions count only if it returns
    True."""
    assert any(attempt() for _ in range(10)), "this machine was too slow, ten times"


def write_fifo(path, data):
    """Writes everything as soon as the FIFO exists and has a reader."""

    def opened():
        with contextlib.suppress(OSError):
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)

    with open(until(opened), "wb") as fifo:
        fifo.write(data)


@contextlib.contextmanager
def closings(path):
    """A condition: since the call, a reader has closed the file. See inotify(7)."""
    with open(call(libc.inotify_init1, os.O_NONBLOCK), "rb", buffering=0) as watch:
        call(libc.inotify_add_watch, watch.fileno(), os.fsencode(path), IN_CLOSE_NOWRITE)
        yield lambda: select.select([watch], [], [], 0)[0]


def descriptors(pid):
    found = {}
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/{pid}/fd/{name}")
        except FileNotFoundError:
            continue
    return found


def listening_port(pid):
    """The port of the process's IPv4 listener, or None."""
    inodes = {target[8:-1] for target in descriptors(pid).values() if target.startswith("socket:[")}
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        columns = line.split()
        if columns[3] == LISTEN and columns[9] in inodes:
            return int(columns[1].rpartition(":")[2], 16)
    return None


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def unread(descriptor):
    """How many unread bytes a pipe holds."""
    return struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0\0\0\0"))[0]


def has_read_all(server, connections):
    """Whether the server has read every byte that its sockets for these connections hold."""
    ours = {f"{connection.socket.getsockname()[1]:04X}" for connection in connections}
    port = f":{server.address[1]:04X} "
    lines = Path(f"/proc/{server.process.pid}/net/tcp").read_text().splitlines()[1:]  # of thousands, maybe
    rows = [line.split() for line in lines if port in line]
    ends = [[row[1].rpartition(":")[2], row[2].rpartition(":")[2], row[4].partition(":")[2]] for row in rows]
    queues = [queue for local, remote, queue in ends if local == f"{server.address[1]:04X}" and remote in ours]
    return len(queues) == len(ours) and set(queues) == {"00000000"}


def frozen(server):
    """Stops the process and waits until none of its threads runs. SIGCONT continues it."""
    server.signal(signal.SIGSTOP)
    status = Path(f"/proc/{server.process.pid}/stat")
    until(lambda: status.read_text().rpartition(")")[2].split()[0] == "T")


def sleeps(pid):
    """Whether no thread of the process runs or waits for a CPU."""
    for status in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if status.read_text().rpartition(")")[2].split()[0] == "R":
                return False
    return True


def pending_signals(pid):
    """Whether the process has not yet handled a signal that it was sent."""
    status = Path(f"/proc/{pid}/status").read_text()
    return any(int(line.split()[1], 16) for line in status.splitlines() if line.startswith(("SigPnd:", "ShdPnd:")))
