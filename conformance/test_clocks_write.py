"""K-82: how long a peer may take to accept a response. All experiments run at once, as in test_clocks.py."""

import contextlib
import time

import pytest

from runner.clock import GET, Span, experiment, experiments, hold_to_limit, limited, until_reset
from runner.peers import BIG, is_reset
from runner.process import has_read_all, until
from runner.wire import GONE, Connection

pytestmark = pytest.mark.xdist_group("clocks of writing")


def asking(server, connection):
    """The times before a request was sent and after the server had read it."""
    before = time.monotonic()
    connection.send(GET)
    until(lambda: has_read_all(server, [connection]))
    return before, time.monotonic()


@experiment("K-82")
def a_peer_that_accepts_nothing_is_reset(twin):
    with limited(twin, "write", content=BIG) as server:
        with Connection(server.address, receive_buffer=4096) as connection:
            span = until_reset(connection, *asking(server, connection))
            with contextlib.suppress(*GONE):
                while connection.socket.recv(1 << 20):
                    pass
                raise AssertionError("closed, not reset")
            return span


@experiment("K-82")
def a_peer_that_accepts_nothing_more_is_reset(twin):
    """The time starts again whenever the peer accepts something."""
    with limited(twin, "write", content=BIG) as server:
        with Connection(server.address, receive_buffer=4096) as connection:
            connection.send(GET)
            for _ in range(5):
                time.sleep(0.4)
                before = time.monotonic()
                connection.exactly(1 << 20)
            return until_reset(connection, before, time.monotonic())


@experiment("K-82", span=False)
def a_slow_peer_is_not_reset(twin):
    """It accepts a little now and then, for four times the limit."""
    with limited(twin, "write", content=BIG) as server:
        with Connection(server.address, receive_buffer=4096) as connection:
            reads_on(connection, times=10, pause=0.4, length=16384)


@experiment("K-82", limit=20.0)
def a_peer_that_accepts_less_than_the_least_is_reset(twin):
    """It accepts at most 2 KB now and then, where the minimum is 5120 bytes in 20 seconds."""
    with limited(twin, content=BIG, args=("--write-timeout-seconds", "20")) as server:
        with Connection(server.address, receive_buffer=2304, segment=536) as connection:
            (before, after), reads = asking(server, connection), 0
            while not is_reset(connection):
                spent = time.monotonic() - after
                assert spent < 30, "never reset"
                if spent >= 12 * (reads + 1):
                    connection.socket.recv(2304)
                    reads += 1
                time.sleep(0.05)
            return Span(time.monotonic() - before, time.monotonic() - after)


@experiment("K-82", span=False)
def a_peer_that_accepts_a_little_all_the_time_is_not_reset(twin):
    """It accepts a few thousand bytes per second for three times the limit, and then the rest at once."""
    with limited(twin, content=BIG, args=("--write-timeout-seconds", "4")) as server:
        with Connection(server.address, receive_buffer=4096, segment=1460) as connection:
            reads_on(connection, times=12, pause=1, length=4096)


def reads_on(connection, times, pause, length):
    """Reads this many bytes after each pause, and then the rest at once."""
    connection.send(GET)
    taken = b""
    for _ in range(times):
        time.sleep(pause)
        taken += connection.exactly(length)
    connection.pending = taken
    assert connection.response().body == BIG


@pytest.mark.spec("K-83")
@pytest.mark.parametrize("name", experiments(__name__))
def test_limit(twin, name, outcomes):
    hold_to_limit(__name__, name, outcomes[twin.name, name])
