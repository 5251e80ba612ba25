"""K-103, K-104: a file that changes while it is read, and a content for which there is no memory."""

import contextlib
import os
import signal
import threading
import time

import pytest

from runner.cgroup import memory_group
from runner.process import descriptors, until
from runner.reload import STAYS, get, plain, reload, rename_over, warned
from runner.twin import Server, read_line

KEEPS_CHANGING = "it keeps changing while it is read"
MIB = 1 << 20
PATIENCE = 60  # kcup yields to others here, who may be many
# Reading it takes long enough, for a process that yields to others, that a busy one nearly always changes it meanwhile.
SIZE = 32 * MIB
ATTEMPTS = 5


def touch(path, step):
    moment = 10**18 + 1000 * step
    os.utime(path, ns=(moment, moment))


def grow(path, step):
    os.truncate(path, SIZE + step)


@contextlib.contextmanager
def changing(path, change):
    """Changes it without a pause until the end."""
    done = threading.Event()

    def work():
        step = 0
        while not done.is_set():
            step += 1
            change(path, step)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@pytest.fixture
def large(tmp_path):
    path = tmp_path / "large"
    path.touch()
    os.truncate(path, SIZE)
    return path


def started(twin, path, **options):
    args = ["--file", str(path), "--log-format", "json"]
    return Server(twin, args, preexec_fn=lambda: os.nice(10), **options)


@pytest.mark.spec("K-103", "K-11")
@pytest.mark.parametrize("change", [touch, grow], ids=lambda change: change.__name__)
def test_a_file_that_keeps_changing_is_no_content(twin, large, change):
    with changing(large, change):
        server, took = next(filter(None, (refused(twin, large) for _ in range(ATTEMPTS))))
    assert took >= 0.9, "it did not try again"
    assert server.process.returncode == 1
    assert server.said == f'kcup: cannot read content from "{large}": {KEEPS_CHANGING}\n'


def refused(twin, path):
    """A kcup that has ended, and how long that took; nothing if we were kept from running, so that it could start."""
    began = time.monotonic()
    with started(twin, path, wait=False) as server:
        if read_line(server.process.stdout, PATIENCE):
            return None
        server.wait()
        server.said = server.stderr()
        return server, time.monotonic() - began


@pytest.mark.spec("K-103")
def test_a_file_that_no_longer_changes_is_read_from_its_beginning(twin, large):
    with started(twin, large, wait=False) as server:
        with changing(large, touch):
            until(lambda: str(large) in descriptors(server.process.pid).values())
            write_at(large, 0, b"first")
            write_at(large, SIZE - 4, b"last")
        server.wait_listening()
        body = get(server.address).body
        assert (len(body), body[:5], body[-4:]) == (SIZE, b"first", b"last")


def write_at(path, position, data):
    with open(path, "r+b") as file:
        file.seek(position)
        file.write(data)


@pytest.mark.spec("K-103", "K-101")
def test_a_reload_of_a_file_that_keeps_changing_fails(twin, large):
    """One is enough: any of them may have come between two changes."""
    expected = f'cannot read content from "{large}": {KEEPS_CHANGING}{STAYS}'
    with started(twin, large) as server:
        with changing(large, touch):
            until(lambda: server.signal(signal.SIGHUP) or server.events("warn", "error"), PATIENCE)
        assert set(server.events("warn", "error")) == {expected}
        assert get(server.address).one("content-length") == str(SIZE)


@pytest.mark.spec("K-104")
def test_a_reload_that_has_no_room_fails(twin):
    """Both contents together are more than the limit allows; a smaller one is reloaded, before and after."""
    first, second, large = (plain(bytes([size]) * size * MIB) for size in (24, 23, 120))
    files = [("content", first.content, None)]
    args = ["--file", "content", "--log-format", "json", "--max-content-bytes", str(200 * MIB), "--max-connections=9"]
    with memory_group(128 * MIB) as group, Server(twin, args, files=files, preexec_fn=group.enter) as server:
        path = server.directory / "content"
        rename_over(path, second.content)
        reload(server, second)
        rename_over(path, large.content)
        server.signal(signal.SIGHUP)
        expected = [f'cannot read content from "content": there is not enough memory for it{STAYS}']
        assert warned(server, 1) == expected
        rename_over(path, first.content)
        reload(server, first)
        assert get(server.address).body == first.content
        assert (server.events("warn", "error"), group.kills()) == (expected, 0)
