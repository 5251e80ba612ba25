"""The kind "startup": time from exec to the first byte of a response, memory at rest, sizes of program and image."""

import os
import re
import socket
import struct
import time
from pathlib import Path

from cgroup import MEGABYTE, new_group
from engine import image_sizes
from servers import REQUEST, Unserved, content_in_directory, reject_taken_port, start, stop, text_of_size, values

WORKERS = 1
START_SECONDS = 10
# Between two attempts to connect, long enough to leave a CPU to the server.
RETRY_SECONDS = 0.0002
# For a runtime to free the memory that starting took.
SETTLE_SECONDS = 0.5


def measure(contender, point, run):
    content = text_of_size(point["size"])
    with content_in_directory(content) as file, new_group(contender.name) as group:
        reject_taken_port(contender)
        stamps, stamp = os.pipe()

        def prepare():
            group.enter()
            os.write(stamp, struct.pack("d", time.monotonic()))  # last: exec follows

        running = start(contender, values(contender, file, content, WORKERS), prepare)
        try:
            ended = wait_for_first_byte(contender, running)
            (began,) = struct.unpack("d", os.read(stamps, 8))
            time.sleep(SETTLE_SECONDS)
            resident = sum(proportional_share(pid) for pid in group.processes())
        finally:
            stop(running)
            os.close(stamps)
            os.close(stamp)
    size = os.stat(os.path.realpath(contender.path())).st_size
    record = {
        "first_byte_ms": (ended - began) * 1000,
        "resident_mb": resident / MEGABYTE,
        "program_mb": size / MEGABYTE,
    }
    return [{**record, **(image_sizes(contender.image) if contender.image and run.first_round else {})}]


def wait_for_first_byte(contender, running):
    """Returns when it came, on the monotonic clock, which is the same in all processes."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and running.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", contender.port)) as connection:
                connection.sendall(REQUEST)
                if connection.recv(1):
                    return time.monotonic()
        except ConnectionError:
            time.sleep(RETRY_SECONDS)
    raise Unserved("does not start")


def proportional_share(pid):
    """Bytes of memory of a process; shared memory is divided among the processes that share it."""
    return int(re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)[1]) * 1024
