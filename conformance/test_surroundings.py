"""K-84, K-85, K-86, K-89: limits that depend on the surroundings: descriptors and the cgroup's memory limit."""

import contextlib
import re
import resource
import time

import pytest

from runner.cgroup import VERSION_1, socket_memory_group
from runner.metrics import HOT, PARKED, closed, scrape
from runner.peers import ADMIN, GET, MIB, accepted, asked, ends, is_open, served_within
from runner.process import descriptors, until
from runner.reload import get, plain, reload, rename_over
from runner.wire import Connection

JSON = ("--log-format", "json")
SOON = 2.0


def announced(server, *levels):
    """The number of connections that was logged last, at one of these levels."""
    *_, last = re.findall(r"(\d+) connections", "\n".join(server.events(*levels)))
    return int(last)


def few_descriptors(number):
    """For preexec_fn: limits the descriptors."""
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))


def charged(memory, size):
    """A group that is also charged for what accept(2) takes from the kernel, as in version 2; version 1 does so only
    while some group limits the memory of sockets."""
    if VERSION_1.is_dir():
        memory(1 << 40, socket_memory_group)
    return memory(size)


def crowd(server, stack, count):
    """This many new connections, each with a timely response, for which silent ones make room."""
    began = time.monotonic()
    held = [stack.enter_context(asked(server.address)) for _ in range(count)]
    assert time.monotonic() - began <= SOON + count / 200, "newcomers wait"
    return held


@pytest.mark.spec("K-84", "K-85")
@pytest.mark.parametrize("admin", [False, True], ids=["alone", "admin"])
@pytest.mark.parametrize("threads", [1, 8])
def test_as_many_connections_as_were_announced_fit_the_descriptors(serve, admin, threads):
    """Together with all admin connections and a reload: descriptors never run out."""
    server = serve(
        *JSON,
        *(ADMIN if admin else ()),
        *("--threads", str(threads)),
        preexec_fn=few_descriptors(256),
    )
    most = announced(server, "info", "warn")
    with contextlib.ExitStack() as stack:
        if admin:
            for _ in range(64):
                stack.enter_context(Connection(server.admin))
        held = crowd(server, stack, most + 40)
        assert open_of(held) == most
        for size in range(1, 4):
            new = plain(b"new\n" * size)
            rename_over(server.directory / "hello.txt", new.content)
            reload(server, new)
        assert len(descriptors(server.process.pid)) < 256
    assert server.events("warn", "error") == []


@pytest.mark.spec("K-85b", "K-08")
@pytest.mark.parametrize(("args", "needed"), [([], 34), (["--threads", "3"], 38), (["--admin", "127.0.0.1:0"], 98)])
def test_with_too_few_descriptors_it_does_not_start(serve, args, needed):
    """One line says what is wrong, whatever a library does without descriptors. With enough of them kcup serves."""
    args = ["--threads", "1", *args, "--log-level", "error", "--access-log", "json"]
    for allowed in (4, 5, 6, 7, 8, 12, 19, needed - 1):
        server = serve(*args, wait=False, preexec_fn=few_descriptors(allowed))
        assert server.wait() == 1
        expected = f"{needed} descriptors are needed, and {allowed} are allowed (raise the limit on open files)"
        assert server.stderr() == f"kcup: cannot start: {expected}\n"
    server = serve(*args, preexec_fn=few_descriptors(needed))
    assert get(server.address).status == 200
    server.signal()
    assert (server.wait(10), server.stderr()) == (0, "")


@pytest.mark.spec("K-84")
@pytest.mark.parametrize("threads", [1, 8])
def test_descriptors_are_not_set_aside_in_vain(serve, threads):
    """Most of 256 are for connections; two for each worker and a few more are not."""
    server = serve(*JSON, "--threads", str(threads), preexec_fn=few_descriptors(256))
    assert 256 - 40 - 3 * threads <= announced(server, "info", "warn") <= 256 - 8 - threads


@pytest.mark.spec("K-84a", "K-85")
def test_when_descriptors_become_short_silent_ones_make_room(serve):
    """The announced number no longer fits: accepting fails, and each new connection displaces a silent one."""
    server = serve("--max-connections", "1000", *ADMIN)
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(asked(server.address)) for _ in range(20)]
        pid = server.process.pid
        few, (_, hard) = len(descriptors(pid)) + 2, resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (few, hard))
        for _ in range(10):
            stack.enter_context(served_within(server.address, SOON))
        assert any(is_open(connection) for connection in held), "more made room than had to"
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (few + 50, hard))
        until(lambda: 1 <= scrape(server)[closed("evicted")] <= 12)
    assert get(server.address).status == 200


@pytest.mark.spec("K-84")
def test_fewer_connections_fit_a_small_memory_limit_and_a_warning_says_so(serve, memory):
    """That many can be open; one more displaces one, and nothing is killed."""
    group = charged(memory, 24 * MIB)
    with contextlib.ExitStack() as stack:
        server = serve(*JSON, *ADMIN, preexec_fn=group.enter)
        most = announced(server, "warn")
        assert 64 <= most < 19000
        silent(server, stack, most)
        held = crowd(server, stack, 200)
        assert all(is_open(connection) for connection in held)
        until(lambda: 190 <= scrape(server)[closed("evicted")] <= 200)
        assert most - 1 <= scrape(server)[HOT] + scrape(server)[PARKED] <= most
        assert group.kills() == 0


@pytest.mark.spec("K-84")
def test_a_connection_is_reckoned_at_4096_bytes(serve, memory):
    few, more = (announced(serve(*JSON, preexec_fn=memory(size * MIB).enter), "warn") for size in (24, 40))
    assert more - few == (40 - 24) * MIB * 3 // 4 // 4096


@pytest.mark.spec("K-84")
def test_a_memory_limit_that_is_large_enough_changes_nothing(serve, memory):
    args = ("--max-connections", "5000", "--log-level", "debug")
    server = serve(*JSON, *args, preexec_fn=memory(256 * MIB).enter)
    assert not [event for event in server.events("info", "warn", "error") if "connections" in event]
    assert announced(server, "debug") == 5000


@pytest.mark.spec("K-86")
def test_heads_that_are_not_whole_fit_the_memory_limit(serve, memory):
    """There are many times more than fit: the oldest is closed, the last gets its response, and nothing is killed."""
    part, group = GET[:-2] + b"X: " + b"x" * 15900, memory(24 * MIB)
    server = serve(*ADMIN, "--threads", "1", "--header-timeout-seconds", "60", preexec_fn=group.enter)
    with contextlib.ExitStack() as stack:
        held = []
        for _ in range(48 * MIB // len(part)):
            held.append(stack.enter_context(Connection(server.address)))
            held[-1].send(part)
        ends(held[0])
        held[-1].send(b"\r\n\r\n")
        assert held[-1].response().status == 200
        until(lambda: scrape(server)[closed("shed")] >= len(held) / 2)
    assert group.kills() == 0


@pytest.mark.spec("K-86")
@pytest.mark.parametrize("threads", [1, 2])
def test_requests_behind_a_response_are_bounded_too(serve, threads):
    server = serve("--threads", str(threads), content=bytes(MIB))
    before = server.cpu_seconds()
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            peer = stack.enter_context(Connection(server.address, receive_buffer=4096))
            peer.socket.settimeout(0.2)
            with contextlib.suppress(TimeoutError, OSError):
                peer.socket.sendall(GET * 100000)
        assert get(server.address).status == 200
    assert server.cpu_seconds() - before < 5, "it spins"


@pytest.mark.spec("K-89", "K-104")
def test_the_limits_follow_the_content(serve, memory):
    """A large content takes memory from connections: those over the limit make room. When it goes, they may return."""
    small, large, group = plain(b"small\n"), plain(b"large" * (8 * MIB // 5)), charged(memory, 40 * MIB)
    server = serve(*JSON, *ADMIN, "--compression", "off", content=small.content, preexec_fn=group.enter)
    most, path = announced(server, "warn"), server.directory / "hello.txt"
    with contextlib.ExitStack() as stack:
        held = silent(server, stack, most - 100)
        rename_over(path, large.content)
        reload(server, large)
        until(lambda: open_of(held) <= most - 1000)
        until(lambda: scrape(server)[closed("evicted")] >= 900)
        rename_over(path, small.content)
        reload(server, small)
        until(lambda: announced(server, "info") >= most - 10)
        before = open_of(held)
        held += silent(server, stack, 900)
        assert get(server.address).status == 200
        assert (open_of(held), group.kills()) == (before + 900, 0)


def silent(server, stack, count):
    """This many accepted connections without a request."""
    return [stack.enter_context(connection) for connection in accepted(server, count)]


def open_of(held):
    return sum(is_open(connection) for connection in held)


@pytest.mark.spec("K-89")
def test_a_reload_of_as_much_displaces_nobody(serve, memory):
    server = serve(preexec_fn=charged(memory, 48 * MIB).enter)
    with contextlib.ExitStack() as stack:
        held = silent(server, stack, 2000)
        for number in range(5):
            new = plain(f"number {number}\n".encode())
            rename_over(server.directory / "hello.txt", new.content)
            reload(server, new)
        assert open_of(held) == 2000
