"""How evenly a server's event loops share its connections, as the kernel has it: whatever the server is."""

import contextlib
import os
import re
from pathlib import Path

EPOLL = "anon_inode:[eventpoll]"
# As /proc/net/tcp writes it.
ESTABLISHED = "01"


def busiest(pids, port, workers):
    """The connections of the loop that has the most, over an even share: 1.0 is even. None without connections."""
    inodes = connections_to(port)
    loops = [counted for pid in pids for counted in connections_of_loops(pid, inodes)]
    return max(loops) * workers / sum(loops) if sum(loops) else None


def connections_to(port):
    """The inodes of the sockets that are a server's ends of established connections to this port of 127.0.0.1."""
    return {f"socket:[{inode}]" for local, _, inode in established() if local == address(port)}


def established():
    """The local and the remote address, as the kernel writes them, and the inode of each end of a connection."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [(row[1], row[2], row[9]) for row in rows if row[3] == ESTABLISHED]


def address(port):
    return f"0100007F:{port:04X}"


def connections_of_loops(pid, inodes):
    """For each epoll instance of a process, how many of these sockets it watches."""
    files = {}
    # A connection may end while it is looked at, and so may the process.
    with contextlib.suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                files[number] = os.readlink(f"/proc/{pid}/fd/{number}")
    for number in [number for number, name in files.items() if name == EPOLL]:
        with contextlib.suppress(OSError):
            watched = re.findall(r"^tfd:\s+(\d+)", Path(f"/proc/{pid}/fdinfo/{number}").read_text(), re.MULTILINE)
            yield sum(files.get(one) in inodes for one in watched)
