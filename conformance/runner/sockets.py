"""What the kernel holds for a server's connections. Its descriptors are borrowed and closed again at once."""

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import termios
from dataclasses import dataclass
from pathlib import Path

from .process import descriptors

SYS_PIDFD_GETFD = 438  # the same on every architecture
SO_MEMINFO = 55
RMEM_ALLOC, WMEM_ALLOC, SNDBUF, FWD_ALLOC, WMEM_QUEUED = 0, 2, 3, 4, 5
TCP_STATES = {"01": "ESTABLISHED", "04": "FIN_WAIT1", "05": "FIN_WAIT2", "08": "CLOSE_WAIT", "09": "LAST_ACK"}
TCP_STATES |= {"0A": "LISTEN", "0B": "CLOSING"}
libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Held:
    """Of one connection: unread bytes, unacknowledged bytes, and the memory for both."""

    unread: int
    unacknowledged: int
    memory_unread: int
    memory_unacknowledged: int


@contextlib.contextmanager
def borrowed(pid, number):
    """The socket behind a descriptor of another process, or None if it is gone. It stays open while borrowed."""
    process = os.pidfd_open(pid)
    try:
        ours = libc.syscall(SYS_PIDFD_GETFD, process, number, 0)
    finally:
        os.close(process)
    if ours < 0:
        yield None
        return
    with socket.socket(fileno=ours) as taken:
        yield taken


def held(server):
    """What is held for each open connection, by the peer's port, or by the descriptor on a unix socket."""
    found, unix = {}, isinstance(server.address, str)
    for number, target in descriptors(server.process.pid).items():
        if target.startswith("socket:"):
            with borrowed(server.process.pid, number) as taken, contextlib.suppress(OSError):
                if taken and is_of(server, taken.getsockname()):
                    peer = taken.getpeername()
                    found[number if unix else peer[1]] = look(taken)
    return found


def is_of(server, name):
    """Whether a socket with this name was accepted by the server's public listener."""
    if isinstance(server.address, str):
        return isinstance(name, str) and name and server.address.endswith(name)
    return not isinstance(name, str | bytes) and name[1] == server.address[1]


def look(taken):
    memory = struct.unpack("=9I", taken.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 36))
    unix = taken.family == socket.AF_UNIX
    return Held(
        asked(taken, termios.FIONREAD),
        asked(taken, termios.TIOCOUTQ),
        memory[RMEM_ALLOC],
        memory[WMEM_ALLOC] if unix else memory[WMEM_QUEUED],
    )


def asked(taken, request):
    return struct.unpack("i", fcntl.ioctl(taken, request, b"\0\0\0\0"))[0]


def states(server):
    """The number of sockets with the server's port in each state, whether or not a process has them."""
    counts = {}
    for line in Path(f"/proc/{server.process.pid}/net/tcp").read_text().splitlines()[1:]:
        columns = line.split()
        if columns[1].endswith(f":{server.address[1]:04X}"):
            name = TCP_STATES.get(columns[3], columns[3])
            counts[name] = counts.get(name, 0) + 1
    return counts


def in_backlog(server):
    """The number of connections that wait to be accepted."""
    for line in Path(f"/proc/{server.process.pid}/net/tcp").read_text().splitlines()[1:]:
        columns = line.split()
        if columns[1].endswith(f":{server.address[1]:04X}") and TCP_STATES.get(columns[3]) == "LISTEN":
            return int(columns[4].partition(":")[2], 16)
    return 0
