"""K-87, K-82: what the kernel holds of responses and requests, and which connection is reset if that is too much."""

import contextlib
import threading
import time

import pytest

from runner.cgroup import socket_memory_group
from runner.metrics import ACCEPTED, closed, scrape
from runner.peers import ADMIN, BIG, GET, MIB, TAIL, is_reset, not_reading
from runner.process import PATIENCE, sleeps, until
from runner.sockets import held
from runner.wire import GONE, Connection

KIB = 1 << 10
MOST, LEAST, REQUESTS = 512 * KIB, 64 * KIB, 32 * KIB
SHARE = 256 * MIB  # if nothing limits it
PATIENT = ("--write-timeout-seconds", "300", "--header-timeout-seconds", "300", "--idle-timeout-seconds", "300")
kinds = pytest.mark.parametrize("kind", ["tcp", "unix"])


def started(serve, kind, *args, **options):
    host = ("--host", "unix:socket") if kind == "unix" else ()
    return serve(*host, *PATIENT, *args, **options)


@pytest.mark.spec("K-87a", "K-140")
@kinds
def test_of_a_response_that_nobody_reads_little_is_held(serve, kind):
    server = started(serve, kind, content=BIG)
    peers = not_reading(server, 5)
    found = settled(server, 5)
    assert max(one.memory_unacknowledged for one in found) <= MOST + 68 * KIB, found
    if kind == "tcp":
        assert max(one.unacknowledged for one in found) <= MOST, found
    assert all(one.unacknowledged > 4 * KIB for one in found), "the socket is not used"
    for peer in peers:
        assert peer.response().body == BIG


def settled(server, count, moving=()):
    """What is held by this many connections, once the server is idle and the sum no longer changes. A listing takes a
    while, and until then it adds up what was never held at the same time. Peers at the ports `moving` may change."""
    last = None

    def same():
        nonlocal last
        at_rest, now = sleeps(server.process.pid) or moving, held(server)
        still = {port: one for port, one in now.items() if port not in moving}
        before, last = last, still
        return [*now.values()] if at_rest and len(now) >= count and still == before else None

    return until(same, PATIENCE)


@pytest.mark.spec("K-87a")
def test_of_requests_behind_a_response_little_is_held(serve):
    """On a unix socket they are charged to the sender."""
    server = started(serve, "tcp", "--threads", "1", content=BIG)
    (peer,) = not_reading(server, 1)
    peer.socket.settimeout(0.5)
    with contextlib.suppress(TimeoutError):
        while True:
            peer.socket.send(GET * 1000)
    (found,) = settled(server, 1)
    assert found.unread <= REQUESTS, found
    assert found.memory_unread <= 2 * REQUESTS, found


@pytest.mark.spec("K-87a")
def test_small_responses_that_nobody_reads_are_bounded_too(serve):
    """Each costs more than its bytes: thousands of them on a connection that keeps sending requests."""
    server = started(serve, "tcp", "--threads", "1")
    with Connection(server.address, receive_buffer=4096) as peer:
        peer.socket.settimeout(0.5)
        with contextlib.suppress(TimeoutError):
            while True:
                peer.socket.send(GET * 100)
        (found,) = settled(server, 1)
        assert found.memory_unacknowledged <= MOST + 68 * KIB, found
        assert found.unread <= REQUESTS, found


@pytest.mark.spec("K-87", "K-87b")
@pytest.mark.parametrize(("kind", "threads"), [("tcp", 1), ("tcp", 3), ("unix", 1)])
def test_over_all_connections_no_more_than_the_share_is_held(serve, kind, threads):
    """The more is held, the less each new connection may hold; when nothing is left, some are reset."""
    count = 1500
    server = started(serve, kind, "--threads", str(threads), *ADMIN, content=BIG)
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            peer = stack.enter_context(Connection(server.address, receive_buffer=4096))
            peer.send(GET)
        until(lambda: scrape(server)[ACCEPTED] == count)
        found = settled(server, 0)
        total = sum(one.memory_unacknowledged + one.memory_unread for one in found)
        assert total <= SHARE, f"{total / MIB:.0f} MiB of {len(found)} connections"
        assert max(one.memory_unacknowledged for one in found) <= MOST + 68 * KIB
        until(lambda: len(found) + scrape(server)[closed("memory")] == count)


class Reader(threading.Thread):
    """Reads one large response slowly enough to be there all the time, and fast enough never to stall."""

    def __init__(self, address, body):
        super().__init__(daemon=True)
        self.connection, self.expected, self.outcome = Connection(address), body, None
        self.port = self.connection.socket.getsockname()[1]
        self.done = threading.Event()
        self.connection.send(GET)

    def run(self):
        try:
            self.connection.pending = self.connection.exactly(256 * KIB)
            while not self.done.wait(0.05):
                self.connection.pending += self.connection.socket.recv(16 * KIB)
            self.outcome = self.connection.response().body == self.expected
        except (AssertionError, *GONE) as error:
            self.outcome = error

    def finish(self):
        self.done.set()
        self.join()
        return self.outcome


@pytest.mark.spec("K-87b", "K-119")
def test_when_the_share_is_used_up_those_that_acknowledge_nothing_are_reset(serve, memory):
    """600 connections that do not read are too many, whatever each may hold. One that keeps reading gets its whole
    response."""
    group = memory(16 * MIB, socket_memory_group)
    server = started(serve, "tcp", "--threads", "1", *ADMIN, content=BIG, preexec_fn=group.enter)
    reader = Reader(server.address, BIG)
    reader.start()
    peers = []
    for _ in range(600):
        peers.append(Connection(server.address, receive_buffer=4096))
        peers[-1].send(GET)
        time.sleep(0.005)  # so that the first ones have an order
    until(lambda: scrape(server)[ACCEPTED] == 1 + 600)
    total = sum(one.memory_unacknowledged for one in settled(server, 1, moving=[reader.port]))
    assert total <= 16 * MIB, f"{total / MIB:.1f} MiB"
    assert reader.finish() is True
    reset = [index for index, peer in enumerate(peers) if is_reset(peer)]
    assert 100 <= len(reset) < 600
    until(lambda: scrape(server)[closed("memory")] == len(reset))
    first = len(reset) * 4 // 5
    assert reset[:first] == [*range(first)], f"those who came first have acknowledged nothing for longest: {reset}"
    with Connection(server.address) as new:
        new.send(GET)
        assert new.response().body == BIG


@pytest.mark.spec("K-87b")
def test_those_that_came_first_have_time_to_read(serve, memory):
    """A crowd that comes at once does not push out those that pause between two reads."""
    group = memory(16 * MIB, socket_memory_group)
    server = started(serve, "tcp", "--threads", "1", *ADMIN, content=BIG, preexec_fn=group.enter)
    with contextlib.ExitStack() as stack:
        first = [stack.enter_context(Connection(server.address, receive_buffer=4096)) for _ in range(10)]
        for peer in first:
            peer.send(GET)
        until(lambda: scrape(server)[ACCEPTED] == 10)
        for index in range(600):
            stack.enter_context(Connection(server.address, receive_buffer=4096)).send(GET)
            if index % 20 == 0:
                for peer in first:
                    peer.pending += peer.socket.recv(KIB)
        until(lambda: scrape(server)[ACCEPTED] == 610)
        assert scrape(server)[closed("memory")] >= 100
        for peer in first:
            assert peer.response().body == BIG


@pytest.mark.spec("K-87", "K-87b")
def test_silent_ones_with_a_tail_are_counted_too(serve, memory):
    """The kernel has the whole response: nothing is being written any more, and still it is held."""
    group = memory(16 * MIB, socket_memory_group)
    server = started(serve, "tcp", "--threads", "1", *ADMIN, content=TAIL[: 48 * KIB], preexec_fn=group.enter)
    with contextlib.ExitStack() as stack:
        for _ in range(800):
            stack.enter_context(Connection(server.address, receive_buffer=4096)).send(GET)
        until(lambda: scrape(server)[ACCEPTED] == 800)
        total = sum(one.memory_unacknowledged for one in settled(server, 0))
        assert total <= 16 * MIB, f"{total / MIB:.1f} MiB"
        until(lambda: scrape(server)[closed("memory")] >= 100)
        with Connection(server.address) as new:
            new.send(GET)
            assert new.response().status == 200
