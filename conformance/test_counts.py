"""K-119: open connections by state, closed ones by reason. Connections closed by time limits are in test_limits.py."""

import contextlib
import socket
import struct

import pytest

from runner.metrics import ACCEPTED, BYTES, CLOSED, HOT, OK, PARKED, closed, counters, scrape, until_grown
from runner.process import has_read_all, until
from runner.reload import GET
from runner.wire import Connection

ADMIN = ("--admin", "127.0.0.1:0")
BIG = bytes(range(256)) * 65536


@pytest.mark.spec("K-119")
def test_hot_and_parked(serve):
    """Silent connections between requests are parked; those within a head or a response are hot."""
    server = serve(*ADMIN, "--threads", "2", content=BIG)
    with contextlib.ExitStack() as stack:
        silent, heads, slow = ([stack.enter_context(connect(server)) for _ in range(n)] for n in (5, 3, 2))
        for connection in silent[:2]:
            connection.send(GET)
            connection.response()
        for connection in heads:
            connection.send(GET[:9])
        for connection in slow:
            connection.send(GET)
            connection.receive(100)
        until(lambda: states(server) == (5, 5))
        heads[0].send(GET[9:])
        heads[0].response()
        silent[4].socket.close()
        until(lambda: states(server) == (4, 5))
        seen = scrape(server)
        gone = sum(value for key, value in seen.items() if key.startswith(CLOSED))
        assert seen[ACCEPTED] - gone == seen[HOT] + seen[PARKED] == 9
    until(lambda: states(server) == (0, 0))


def connect(server):
    return Connection(server.address, receive_buffer=4096)


def states(server):
    seen = scrape(server)
    return seen[HOT], seen[PARKED]


@pytest.mark.spec("K-119")
@pytest.mark.parametrize("when", ["silent", "within a head", "within a response"])
def test_a_peer_that_resets_is_a_peer(serve, when):
    server = serve(*ADMIN, content=BIG)
    connection = connect(server)
    connection.send({"silent": b"", "within a head": GET[:9], "within a response": GET}[when])
    if when == "within a response":
        connection.receive(100)
    until(lambda: states(server) == ((0, 1) if when == "silent" else (1, 0)))
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.socket.close()
    until(lambda: scrape(server)[closed("peer")] == 1)
    assert states(server) == (0, 0)


@pytest.mark.spec("K-119", "K-84a")
def test_evicted(serve):
    server = serve(*ADMIN, "--max-connections", "2")
    before = counters(server)
    held = [Connection(server.address) for _ in range(2)]
    for _ in range(3):
        held.append(Connection(server.address))
        held[-1].send(GET)
        held[-1].response()
    until(lambda: states(server) == (0, 2))
    seen = scrape(server)
    assert (seen[closed("evicted")], seen[ACCEPTED] - before[ACCEPTED], seen[OK]) == (3, 5, 3)


@pytest.mark.spec("K-119", "K-86")
def test_shed(serve):
    """As in test_connections.py, 64 MiB of incomplete heads are kept without a cgroup's limit."""
    server = serve(*ADMIN, "--threads", "1", "--header-timeout-seconds", "60")
    part = GET[:-2] + b"X: " + b"x" * 15900
    with contextlib.ExitStack() as stack:
        held = []
        for _ in range(64 * 1024 * 1024 // len(part) + 100):
            held.append(stack.enter_context(Connection(server.address)))
            held[-1].send(part)
        held[0].expect_end()
        until(lambda: scrape(server)[closed("shed")] >= 1)
        seen = scrape(server)
        assert seen[closed("shed")] + seen[HOT] + seen[PARKED] == seen[ACCEPTED]


@pytest.mark.spec("K-119", "K-18")
def test_drained(serve):
    """Three connections are silent; one gets its response during the drain, and one never does and delays it."""
    server = serve(*ADMIN, "--shutdown-timeout-seconds", "60")
    with contextlib.ExitStack() as stack:
        silent, heads = ([stack.enter_context(Connection(server.address)) for _ in range(n)] for n in (3, 2))
        for connection in heads:
            connection.send(GET[:9])
        until(lambda: has_read_all(server, heads) and states(server) == (2, 3))
        server.signal()
        for connection in silent:
            connection.expect_end()
        heads[0].send(GET[9:])
        heads[0].response()
        heads[0].expect_end()
        expected = {closed("drained"): 3, closed("answered"): 1, HOT: 1, PARKED: 0, OK: 1}
        until(lambda: expected.items() <= scrape(server).items())
    assert server.wait(10) == 0


@pytest.mark.spec("K-119")
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("size", [31 << 10, 33 << 10, 5 << 20])
def test_each_byte_is_counted_once(serve, size, method):
    """Whether sent whole or in parts, to a peer that reads or to one that pauses."""
    server = serve(*ADMIN, "--compression", "off", content=BIG[:size])
    request, received = GET.replace(b"GET", method.encode()), 0
    before = counters(server)
    with Connection(server.address, receive_buffer=4096) as slow, Connection(server.address) as quick:
        for connection in (slow, quick):
            connection.send(request * 2)
        until(lambda: has_read_all(server, [slow, quick]))
        for connection in (slow, quick):
            for _ in range(2):
                response = connection.response(method == "HEAD")
                received += len(response.head) + len(response.body)
    expected = {ACCEPTED: 2, BYTES: received, closed("peer"): 2, OK.replace("GET", method): 4}
    until_grown(server, before, expected)
