"""K-103 to K-105: a file that changes while it is read, content for which there is no memory, and what was before."""

import contextlib
import mmap
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from subprocess import DEVNULL, PIPE

import pytest

from runner.cgroup import memory_group
from runner.metrics import reloads, scrape
from runner.process import closings, descriptors, until
from runner.reload import GET, STAYS, get, plain, reload, rename_over, warned
from runner.twin import Server, read_line
from runner.wire import Connection

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


def started(twin, path, *args, **options):
    args = ["--file", str(path), "--log-format", "json", *args]
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


@pytest.mark.spec("K-103")
def test_a_file_that_is_empty_while_it_is_written_is_read_again(twin, tmp_path):
    """It is written when the first reading is over; now and then that was too short for a change to fall into it."""
    assert any(served_once_written(twin, tmp_path / str(attempt)) for attempt in range(100))


def served_once_written(twin, path):
    path.touch()
    with closings(path) as is_closed, started(twin, path, wait=False) as server:
        with changing(path, touch):
            until(is_closed)
        path.write_bytes(b"written")
        server.line = read_line(server.process.stdout, PATIENCE)
        if not server.line:
            return False
        server.wait_listening()
        return get(server.address).body == b"written"


@pytest.mark.spec("K-103")
def test_what_a_long_write_has_not_finished_is_not_served(twin, large):
    """While one write(2) goes on the bytes become others, and neither the size nor a time tells of it. So it is with
    memory that is written to again; the time set here stays fresh."""
    with open(large, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        for step in range(1, 4):
            memory[-1] = 0
            tomorrow = time.time() + 86400
            os.utime(large, (tomorrow, tomorrow))
            with started(twin, large, wait=False) as server:
                until(lambda: str(large) in descriptors(server.process.pid).values())
                memory[0] = memory[-1] = step
                server.wait_listening()
                body = get(server.address).body
                assert body[0] == body[-1]


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


@pytest.mark.spec("K-103")
def test_it_is_read_again_ten_times_and_no_more(twin, large):
    """Counted in bytes, by the kernel: whole reads of a file that is never the same."""
    with started(twin, large, "--admin", "127.0.0.1:0") as server, changing(large, touch):
        for _ in range(ATTEMPTS):
            before, over = bytes_read(server), sum(results(server))
            server.signal(signal.SIGHUP)
            until(lambda: sum(results(server)) > over, PATIENCE)  # noqa: B023
            if results(server)[1]:
                break
        else:
            pytest.skip("we were kept from changing the file while it was read")
        reads = (bytes_read(server) - before) / SIZE
    assert 9.5 <= reads <= 11.5, f"it was read {reads:.1f} times"


def bytes_read(server):
    lines = Path(f"/proc/{server.process.pid}/io").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("rchar:")))


def results(server):
    """Reloads that were over, and of those the ones that failed."""
    seen = scrape(server)
    return seen[reloads("ok")], seen[reloads("failed")]


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


@pytest.mark.spec("K-104", "K-11")
@pytest.mark.parametrize("size", [40, 63, 120])
@pytest.mark.parametrize("way", ["file", "standard input", "pipe"])
def test_content_that_the_limit_cannot_hold_is_refused(twin, tmp_path, way, size):
    """One line, and not the kernel's way to end it; what fits is served."""
    path = tmp_path / "content"
    path.touch()
    os.truncate(path, size * MIB)
    args = [*(["--file", str(path)] if way == "file" else []), "--sandbox=off", "--threads=1"]
    command = [str(twin.binary), *args, "--port=0", "--max-content-bytes", str(1 << 30)]
    with memory_group(64 * MIB) as group, contextlib.ExitStack() as stack:
        stdin = stack.enter_context(open(path, "rb"))
        if way == "pipe":
            cat = stack.enter_context(subprocess.Popen(["cat"], stdin=stdin, stdout=PIPE, stderr=DEVNULL))
            stack.callback(cat.kill)
            stdin = cat.stdout
        process = subprocess.Popen(command, env={}, stdin=stdin, stdout=PIPE, stderr=PIPE, preexec_fn=group.enter)
        stack.enter_context(process)
        stack.callback(process.kill)
        listens = process.stdout.readline().startswith(b"kcup listening")
        assert (listens, group.kills()) == (size == 40, 0)
        if not listens:
            origin = f'"{path}"' if way == "file" else "standard input"
            said = process.stderr.read().decode()
            assert said == f"kcup: cannot read content from {origin}: there is not enough memory for it\n"
            assert process.wait(20) == 1


@pytest.mark.spec("K-104", "K-45")
@pytest.mark.parametrize("size", [56000, MIB])
def test_variants_that_there_is_no_room_for_are_not_made(twin, size):
    """A mebibyte of text in 9 MiB is served without, a short one with them."""
    warning = "not compressed: there is not enough memory for it"
    args = ["--file=content.txt", "--log-format=json", "--threads=1", "--max-connections=9"]
    with memory_group(9 * MIB) as group:
        files = [("content.txt", b"line of text\n" * (size // 13), None)]
        with Server(twin, args, files=files, preexec_fn=group.enter) as server:
            assert encoding(server) == (None if size == MIB else "br")
            assert (server.events("warn").count(warning), group.kills()) == (size == MIB, 0)


def encoding(server):
    with Connection(server.address) as connection:
        connection.send(b"GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: br\r\n\r\n")
        return connection.answer().one("content-encoding")


@pytest.mark.spec("K-105")
def test_old_content_is_gone_soon_after_its_last_reader(twin):
    """With and without somebody who asks now and then."""
    first, *others = (plain(bytes([n]) * 16 * MIB) for n in range(5))
    with memory_group(128 * MIB) as group:
        files = [("content", first.content, None)]
        with Server(twin, ["--file=content"], files=files, preexec_fn=group.enter) as server:
            rest = group.used()
            for content in others:
                with Connection(server.address, receive_buffer=65536) as reader:
                    reader.send(GET)
                    reader.receive(1000)
                    rename_over(server.directory / "content", content.content)
                    reload(server, content)
                    time.sleep(0.5)  # so that no collector is still at work for the reload
                    assert group.used() > rest + 15 * MIB, "the reader's content is gone"
                # A second, on a busy machine more, and not the 119 that a collector with little to do took.
                until(lambda: group.used() < rest + 8 * MIB, 5)
