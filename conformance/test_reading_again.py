"""K-103: a file that changes while it is read."""

import mmap
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from runner.metrics import reloads, scrape
from runner.peers import ADMIN, MIB
from runner.process import until
from runner.reload import STAYS, get, warned
from runner.syscalls import Watch
from runner.twin import Server

KEEPS_CHANGING = "it keeps changing while it is read"
SIZE = 4 * MIB  # takes several reads


def touch(path, step):
    moment = 10**18 + 1000 * step
    os.utime(path, ns=(moment, moment))


def grow(path, step):
    os.truncate(path, SIZE + step)


@pytest.fixture
def large(tmp_path):
    path = tmp_path / "large"
    path.touch()
    os.truncate(path, SIZE)
    return path


def started(twin, path, change, *args, **options):
    """Calls `change(path, step)` before each read(2) of the file, so that it is in time on a busy machine, too."""
    step = 0

    def judge(_, arguments):
        nonlocal step
        if os.readlink(f"/proc/{watch.thread}/fd/{arguments[0]}") == str(path):
            step += 1
            change(path, step)

    watch = Watch(("read",), judge)
    args = ["--file", str(path), "--log-format", "json", *args]
    return Server(twin, args, preexec_fn=watch.enter, **options)


@pytest.mark.spec("K-103", "K-11")
@pytest.mark.parametrize("change", [touch, grow], ids=lambda change: change.__name__)
def test_a_file_that_keeps_changing_is_no_content(twin, large, change):
    began = time.monotonic()
    with started(twin, large, change, wait=False) as server:
        assert server.wait() == 1
        assert time.monotonic() - began >= 0.9, "it did not try again"
        assert server.stderr() == f'kcup: cannot read content from "{large}": {KEEPS_CHANGING}\n'


@pytest.mark.spec("K-103")
def test_a_file_that_no_longer_changes_is_read_from_its_beginning(twin, large):
    def write(path, step):
        if step == 2:
            with open(path, "r+b") as file:
                file.write(b"first")
                file.seek(SIZE - 4)
                file.write(b"last")

    with started(twin, large, write) as server:
        body = get(server.address).body
        assert (len(body), body[:5], body[-4:]) == (SIZE, b"first", b"last")


@pytest.mark.spec("K-103")
def test_a_file_that_is_empty_while_it_is_written_is_read_again(twin, tmp_path):
    """It is empty throughout the first reading."""
    path = tmp_path / "empty"
    path.touch()

    def write(path, step):
        if step == 1:
            touch(path, step)
        elif step == 2:
            path.write_bytes(b"written")

    with started(twin, path, write) as server:
        assert get(server.address).body == b"written"


@pytest.mark.spec("K-103")
def test_what_a_long_write_has_not_finished_is_not_served(twin, large):
    """During one write(2) the bytes change while size and times do not. Memory that is written again simulates it; the
    time set here stays recent."""
    with open(large, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[0] = memory[-1] = 0
        tomorrow = time.time() + 86400
        os.utime(large, (tomorrow, tomorrow))

        def write(_, step):
            if step == 2:
                memory[0] = memory[-1] = 1

        with started(twin, large, write) as server:
            body = get(server.address).body
            assert (body[0], body[-1]) == (1, 1)


@pytest.mark.spec("K-103", "K-101")
def test_a_reload_of_a_file_that_keeps_changing_fails(twin, large):
    """It is read ten times and no more, by the kernel's count of bytes."""
    begun = threading.Event()
    touch(large, 0)  # a file that was modified long ago is read only once
    with started(twin, large, lambda *step: begun.is_set() and touch(*step), *ADMIN) as server:
        begun.set()
        before = bytes_read(server)
        server.signal(signal.SIGHUP)
        assert warned(server, 1) == [f'cannot read content from "{large}": {KEEPS_CHANGING}{STAYS}']
        reads = (bytes_read(server) - before) / SIZE
        assert 10.9 <= reads <= 11.1, f"it was read {reads:.1f} times"
        until(lambda: scrape(server)[reloads("failed")] == 1)
        assert get(server.address).one("content-length") == str(SIZE)


def bytes_read(server):
    lines = Path(f"/proc/{server.process.pid}/io").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("rchar:")))
