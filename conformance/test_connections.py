"""K-34, K-37, K-85: many connections, and how one ends."""

import resource
import time

import pytest

from runner.peers import BIG, GET, asked
from runner.process import descriptors, until
from runner.wire import Connection


@pytest.mark.spec("K-86")
def test_unfinished_heads_cost_the_oldest_of_them(serve):
    """Without a cgroup's limit 64 MiB of heads are kept: the oldest is closed, and the last gets its response."""
    server = serve("--threads", "1", "--header-timeout-seconds", "60")
    part = GET[:-2] + b"X: " + b"x" * 15900
    held = []
    try:
        for _ in range(64 * 1024 * 1024 // len(part) + 100):
            held.append(Connection(server.address))
            held[-1].send(part)
        held[0].expect_end()
        held[-1].send(b"\r\n\r\n")
        assert held[-1].response().status == 200
    finally:
        for connection in held:
            connection.socket.close()


@pytest.mark.spec("K-85")
def test_without_descriptors_it_pauses_and_goes_on(serve):
    """Descriptors run out while it serves: further connections wait, it neither ends nor spins."""
    server = serve("--max-connections", "1000")
    few = len(descriptors(server.process.pid)) + 10
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (few, few))
    held = [Connection(server.address) for _ in range(30)]
    until(lambda: len(descriptors(server.process.pid)) >= few - 1)
    before, began = server.cpu_seconds(), time.monotonic()
    while time.monotonic() - began < 1:
        time.sleep(0.1)
    assert server.cpu_seconds() - before < 0.3, "it spins"
    assert server.process.poll() is None
    assert len(server.stderr().splitlines()) < 10, "it logs without end"
    assert server.stderr().endswith(": too many open files\n")
    for connection in held:
        connection.socket.close()
    with Connection(server.address) as connection:
        connection.send(GET)
        assert connection.response().status == 200


@pytest.mark.spec("K-30", "K-34")
def test_a_large_response_to_a_slow_peer_is_whole(serve):
    server = serve(content=BIG)
    with Connection(server.address, receive_buffer=4096) as connection:
        connection.send(GET * 2)
        assert connection.response().body == BIG
        assert connection.response().body == BIG


@pytest.mark.spec("K-34")
def test_a_peer_that_goes_away_within_a_response_harms_nobody(serve):
    server = serve(content=BIG)
    for _ in range(20):
        with Connection(server.address, receive_buffer=4096) as connection:
            connection.send(GET)
            connection.receive(100)
    asked(server.address)
    assert server.process.poll() is None


@pytest.mark.spec("K-34", "K-60")
@pytest.mark.parametrize("size", [16383, 16384, 16385, 16386, 32768, 65536])
def test_the_end_of_the_peer_is_seen_whatever_came_before(serve, size):
    """The peer's end arrives together with bytes; a read that fills its buffer must not hide the end."""
    server = serve()
    requests = GET * (size // len(GET) - 1)
    last = GET[:-2] + b"X: "
    requests += last + b"a" * (size - len(requests) - len(last) - 4) + b"\r\n\r\n"
    for _ in range(5):
        with Connection(server.address) as connection:
            connection.send(requests)
            connection.half_close()
            for _ in range(size // len(GET)):
                assert connection.response().status == 200
            connection.expect_end()


@pytest.mark.spec("K-34")
def test_five_hundred_connections_at_once(serve):
    server = serve()
    held = [Connection(server.address) for _ in range(500)]
    for _ in range(2):
        for connection in held:
            connection.send(GET)
        for connection in held:
            assert connection.response().status == 200
    for connection in held:
        connection.socket.close()


@pytest.mark.spec("K-37")
def test_the_date_goes_on_on_an_open_connection(serve):
    with asked(serve().address) as connection:
        began = time.monotonic()
        seen = set()
        while time.monotonic() - began < 2.2:
            connection.send(GET)
            seen.add(connection.response().one("date"))
            time.sleep(0.05)
        assert 3 <= len(seen) <= 4
