"""K-142: when the service manager is notified, and of what."""

import contextlib
import itertools
import os
import random
import select
import signal
import socket
import tempfile
import threading
import time

import pytest

from runner.process import until
from runner.reload import GET, become, get, plain, rename_over, serves
from runner.syscalls import Watch
from runner.wire import Connection

LIMIT = 15


class Manager:
    """The receiving end, at a path or, with @, at an abstract name."""

    def __init__(self, name):
        self.name = name
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(name.replace("@", "\0", 1) if name.startswith("@") else name)

    def told(self, limit=LIMIT):
        """The next message, as its members."""
        self.socket.settimeout(limit)
        message = self.socket.recv(4096).decode()
        return dict(line.split("=", 1) for line in message.removesuffix("\n").split("\n"))

    def has_told(self):
        """Whether there is an unread message."""
        return bool(select.select([self.socket], [], [], 0)[0])


@pytest.fixture(params=["path", "abstract"])
def manager(request):
    with tempfile.TemporaryDirectory() as directory:
        name = f"{directory}/notify"
        made = Manager(name if request.param == "path" else f"@kcup{name}")
        yield made
        made.socket.close()


def started(serve, manager, *args, **options):
    return serve("--log-format", "json", *args, env={"NOTIFY_SOCKET": manager.name}, **options)


def told_of_a_reload(manager, began):
    """RELOADING=1 with a time of CLOCK_MONOTONIC, in one message, and then READY=1."""
    message = manager.told()
    assert message.pop("RELOADING") == "1"
    moment = int(message.pop("MONOTONIC_USEC"))
    assert began * 1_000_000 <= moment <= time.monotonic() * 1_000_000
    assert message == {}
    assert manager.told() == {"READY": "1"}


@pytest.mark.spec("K-142")
def test_what_is_told_in_its_order(serve, manager):
    server = started(serve, manager)
    assert manager.told(0) == {"READY": "1"}, "it is told before the line of K-15"
    new = plain(b"new\n")
    rename_over(server.directory / "hello.txt", new.content)
    began = time.monotonic()
    server.signal(signal.SIGHUP)
    told_of_a_reload(manager, began)
    assert serves(server, new), "it is ready when the new content is served"
    become(server.directory / "hello.txt", {"content": ""})
    began = time.monotonic()
    server.signal(signal.SIGHUP)
    told_of_a_reload(manager, began)
    server.signal()
    assert manager.told() == {"STOPPING": "1"}
    assert server.wait(10) == 0
    assert not manager.has_told()


@pytest.mark.spec("K-142", "K-19")
def test_it_is_told_when_the_drain_begins_and_not_when_it_ends(serve, manager):
    server = started(serve, manager, "--shutdown-timeout-seconds", "60")
    assert manager.told() == {"READY": "1"}
    with Connection(server.address) as connection:
        connection.send(GET + GET[:9])
        connection.response()
        server.signal()
        assert manager.told() == {"STOPPING": "1"}
        server.signal(signal.SIGHUP)
        connection.send(GET[9:])
        connection.response()
    assert server.wait(10) == 0
    assert not manager.has_told()


@pytest.mark.spec("K-142")
def test_nothing_is_told_when_it_cannot_start(serve, manager):
    server = started(serve, manager, "--file", "not-there", content=None, wait=False)
    assert server.wait() == 1
    assert not manager.has_told()


@pytest.mark.spec("K-142")
def test_nothing_is_told_before_it_listens(serve, manager):
    reading, writing = os.pipe()
    with open(reading, "rb") as stdin:
        server = started(serve, manager, content=None, wait=False, preexec_fn=lambda: os.dup2(stdin.fileno(), 0))
    os.write(writing, b"Hello")
    assert not manager.has_told()
    os.close(writing)
    server.wait_listening()
    assert manager.told(0) == {"READY": "1"}


@pytest.mark.spec("K-100", "K-142")
def test_signals_during_a_reload_are_one_more_after_it(serve, manager):
    """Compression takes a while; if this process was delayed until it was over, the test is repeated."""
    server = started(serve, manager)
    assert manager.told() == {"READY": "1"}
    for attempt in range(10):
        new = plain(random.Random(attempt).randbytes(512 * 1024).hex().encode())
        rename_over(server.directory / "hello.txt", new.content)
        server.signal(signal.SIGHUP)
        assert "RELOADING" in manager.told()
        for _ in range(200):
            server.signal(signal.SIGHUP)
        in_time = not manager.has_told()
        assert manager.told() == {"READY": "1"}
        assert "RELOADING" in manager.told()
        if in_time:
            break
        until(lambda: manager.told() == {"READY": "1"} and not manager.has_told())
    assert in_time
    assert manager.told() == {"READY": "1"}
    server.signal()
    assert manager.told() == {"STOPPING": "1"}
    assert server.wait(10) == 0
    assert not manager.has_told()


@pytest.mark.spec("K-142")
def test_nothing_is_told_after_the_end(serve, manager):
    """The kernel delays the READY=1 of a reload while the drain begins."""
    held, ended = threading.Event(), threading.Event()

    def judge(_, arguments):
        if server and said(arguments) == b"READY=1":
            held.set()
            ended.wait(2)

    def said(arguments):
        with open(f"/proc/{server.process.pid}/mem", "rb") as memory:
            memory.seek(arguments[1])
            return memory.read(arguments[2])

    server = None
    server = started(serve, manager, preexec_fn=Watch(("send",), judge, at_once=True).enter)
    assert manager.told() == {"READY": "1"}
    server.signal(signal.SIGHUP)
    assert "RELOADING" in manager.told()
    assert held.wait(LIMIT)
    server.signal()
    told = manager.told()
    ended.set()
    assert server.wait(10) == 0
    while manager.has_told():
        assert told != {"STOPPING": "1"}
        told = manager.told()
    assert told == {"STOPPING": "1"}


@pytest.mark.spec("K-142")
@pytest.mark.parametrize("name", ["/not/there", "@kcup-nobody", "relative", "@", "/" + "a" * 200])
def test_a_manager_that_cannot_be_told_is_nothing(serve, name):
    server = serve("--log-format", "json", env={"NOTIFY_SOCKET": name})
    rename_over(server.directory / "hello.txt", b"new\n")
    server.signal(signal.SIGHUP)
    until(lambda: get(server.address).body == b"new\n")
    server.signal()
    assert server.wait(10) == 0


def fill(manager):
    """Fills the manager's queue with messages of others. Returns how many."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.setblocking(False)
        for count in itertools.count():
            try:
                other.sendto(b"WATCHDOG=1", manager.socket.getsockname())
            except BlockingIOError:
                return count


def before_its_line(serve, manager):
    """A server as soon as it listens, at a path that is known beforehand."""
    server = started(serve, manager, "--host", "unix:socket", wait=False)
    server.address = str(server.directory / "socket")

    def listens():
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
            Connection(server.address).socket.close()
            return True

    until(listens)
    return server


def longest_wait(server, seconds=0.7):
    """How long a new connection waits at worst. None has to wait for the second that the manager is given."""
    worst, end = 0, time.monotonic() + seconds
    while (began := time.monotonic()) < end:
        assert get(server.address).status == 200
        worst = max(worst, time.monotonic() - began)
    return worst


@pytest.mark.spec("K-142")
def test_a_manager_that_does_not_read_holds_nobody_up(serve, manager):
    """Its queue is full before kcup sends anything: at the start, during a reload, at the end."""
    fill(manager)
    server = before_its_line(serve, manager)
    waits = [longest_wait(server)]
    server.wait_listening()
    new = plain(b"new\n")
    rename_over(server.directory / "hello.txt", new.content)
    server.signal(signal.SIGHUP)
    waits.append(longest_wait(server))
    until(lambda: serves(server, new))
    waits.append(longest_wait(server))
    assert max(waits) < 0.5, waits
    server.signal()
    assert server.wait(10) == 0


@pytest.mark.spec("K-142")
def test_a_manager_that_reads_within_a_second_is_told(serve, manager):
    """If the second was over before the test could read, it is repeated."""
    for _ in range(5):
        before = fill(manager)
        server = before_its_line(serve, manager)
        longest_wait(server, 0.05)
        assert [manager.told() for _ in range(before)] == [{"WATCHDOG": "1"}] * before
        server.wait_listening()
        if manager.has_told():
            break
        server.stop()
    assert manager.told(0) == {"READY": "1"}


@pytest.mark.spec("K-142", "K-102")
def test_polling_is_not_told_of(serve, manager):
    server = started(serve, manager, "--reload-interval-seconds", "1")
    assert manager.told() == {"READY": "1"}
    new = plain(b"new\n")
    rename_over(server.directory / "hello.txt", new.content)
    until(lambda: serves(server, new))
    assert not manager.has_told()
    server.signal()
    assert manager.told() == {"STOPPING": "1"}
