"""K-89: a pause of the whole process. K-60: an urgent byte is a byte like any other, whatever the socket."""

import contextlib
import signal
import socket
import time

import pytest

from runner.peers import GET, HEAD, TAIL, asked, not_reading, served_within
from runner.process import frozen, has_read_all, until
from runner.wire import Connection

MANY = 200
LIMIT = 8  # what happens before the pause takes far less


@contextlib.contextmanager
def paused(server, began):
    """Stops the server for longer than the limit, from the end of what happens within."""
    frozen(server)
    assert time.monotonic() - began < LIMIT, "this machine was too slow: the limit was over before the pause"
    yield
    time.sleep(LIMIT + 1.5)
    server.signal(signal.SIGCONT)


@pytest.mark.spec("K-89", "K-81")
@pytest.mark.parametrize("threads", [1, 2])
def test_silent_ones_that_asked_meanwhile_are_answered(serve, threads):
    server = serve("--idle-timeout-seconds", str(LIMIT), "--threads", str(threads))
    began = time.monotonic()
    held = [asked(server.address) for _ in range(MANY)]
    with paused(server, began):
        for connection in held:
            connection.send(GET)
    assert [connection.response().status for connection in held] == [200] * MANY


@pytest.mark.spec("K-89", "K-80")
def test_heads_that_ended_meanwhile_are_answered(serve):
    server = serve("--header-timeout-seconds", str(LIMIT))
    held = [Connection(server.address) for _ in range(MANY)]
    began = time.monotonic()
    for connection in held:
        connection.send(GET[:9])
    until(lambda: has_read_all(server, held))
    with paused(server, began):
        for connection in held:
            connection.send(GET[9:])
    assert [connection.response().status for connection in held] == [200] * MANY


@pytest.mark.spec("K-89", "K-82")
def test_those_that_read_meanwhile_are_sent_the_rest(serve):
    large = TAIL * 10
    server = serve("--write-timeout-seconds", str(LIMIT), content=large)
    began = time.monotonic()
    held = not_reading(server, 5)
    with paused(server, began):
        for connection in held:
            connection.pending = connection.exactly(65536)
    for connection in held:
        assert connection.response().body == large


def listening(serve, kind, *args, **options):
    return serve("--host", "unix:socket", *args, **options) if kind == "unix" else serve(*args, **options)


def urgent(connection, byte):
    try:
        connection.socket.send(byte, socket.MSG_OOB)
    except OSError:
        pytest.skip("this kernel has no urgent bytes on unix sockets")


kinds = pytest.mark.parametrize("kind", ["tcp", "unix"])


@pytest.mark.spec("K-60", "K-140")
@kinds
def test_an_urgent_byte_alone_makes_nothing_spin(serve, kind):
    server = listening(serve, kind, "--threads", "1")
    with Connection(server.address) as connection, asked(server.address) as other:
        urgent(connection, b"G")
        other.send(GET)
        assert other.response().status == 200
        before, began = server.cpu_seconds(), time.monotonic()
        while time.monotonic() - began < 1:
            time.sleep(0.05)
        assert server.cpu_seconds() - before < 0.3, "it spins"
        served_within(server.address, 2)


@pytest.mark.spec("K-84a", "K-140")
@kinds
@pytest.mark.parametrize("when", ["before a request", "between requests"])
def test_a_peer_with_an_urgent_byte_makes_room(serve, kind, when):
    """It may count as being in a head; then a new connection waits for a second."""
    server = listening(serve, kind, "--threads", "1", "--max-connections", "1")
    connection = Connection(server.address) if when == "before a request" else asked(server.address)
    with connection:
        urgent(connection, b"G")
        with served_within(server.address, 3), served_within(server.address, 3):
            assert server.process.poll() is None


@pytest.mark.spec("K-60", "K-30")
@kinds
@pytest.mark.parametrize("at", [0, 1, 5, len(GET) - 1])
def test_an_urgent_byte_is_a_byte_of_the_head(serve, kind, at):
    server = listening(serve, kind)
    with Connection(server.address) as connection:
        connection.send(GET[:at])
        urgent(connection, GET[at : at + 1])
        connection.send(GET[at + 1 :])
        assert connection.response().status == 200
        connection.expect_open()


@pytest.mark.spec("K-60", "K-18", "K-140")
@kinds
def test_an_urgent_byte_holds_no_drain_up(serve, kind):
    """It begins a head: the drain waits for it, but no longer than allowed."""
    server = listening(serve, kind, "--shutdown-timeout-seconds", "1")
    with Connection(server.address) as connection:
        urgent(connection, b"G")
        connection.send(HEAD[1:9])
        began = time.monotonic()
        server.signal()
        assert server.wait(10) == 0
        assert time.monotonic() - began < 5
