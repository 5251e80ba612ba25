"""The time limits of section 11, all at once as in test_clocks.py."""

import contextlib
import fcntl
import socket
import time

import pytest

from runner.access_log import next_lines
from runner.clock import Span, answered, experiment, experiments, hold_to_limit, limited, measure
from runner.metrics import LOST, OK, AdminConnection, ask, closed, scrape
from runner.process import until
from runner.reload import GET
from runner.twin import Server
from runner.wire import Connection

pytestmark = pytest.mark.xdist_group("limits")
ADMIN = ("--admin", "127.0.0.1:0")
BIG = bytes(range(256)) * 65536
F_SETPIPE_SZ = 1031


@experiment("K-110", limit=2.0)
def a_response_that_does_not_come_is_unhealthy(twin):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return unhealthy(twin, listener.getsockname()[1])


@experiment("K-110", limit=2.0)
def a_response_that_trickles_is_unhealthy(twin):
    """Progress does not extend the time."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return unhealthy(twin, listener.getsockname()[1], lambda process: trickle(listener, process))


@experiment("K-110", limit=2.0)
def a_listener_that_is_full_is_unhealthy(twin):
    """Nobody accepts, and the backlog is full: the connection itself is not established."""
    with socket.socket() as listener, contextlib.ExitStack() as stack:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(8):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        return unhealthy(twin, listener.getsockname()[1])


def unhealthy(twin, port, meanwhile=lambda process: None):
    before = time.monotonic()
    with Server(twin, ["healthcheck", "--port", str(port)], wait=False) as asking:
        after = time.monotonic()
        meanwhile(asking.process)
        assert asking.wait() == 1
        span = Span(time.monotonic() - before, time.monotonic() - after)
        assert asking.stderr() == "kcup: unhealthy: no response within 2 seconds\n"
        return span


def trickle(listener, process):
    client, _ = listener.accept()
    with client, contextlib.suppress(OSError):
        client.recv(4096)  # bytes that come before the request was sent are no response to it
        client.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while process.poll() is None:
            client.sendall(b"x")
            time.sleep(0.05)


@experiment("K-115", limit=10.0)
def an_admin_connection_that_never_speaks_is_closed(twin):
    with limited(twin, args=ADMIN) as server:
        before = time.monotonic()
        with AdminConnection(server.admin) as connection:
            after = time.monotonic()
            connection.expect_end()
            return Span(time.monotonic() - before, time.monotonic() - after)


@experiment("K-115", limit=10.0)
def an_admin_head_that_stops_is_closed(twin):
    with limited(twin, args=ADMIN) as server:
        before = time.monotonic()
        with AdminConnection(server.admin) as connection:
            after = time.monotonic()
            connection.send(b"GET /healthz HTTP/1.1\r\nHo")
            connection.expect_end()
            return Span(time.monotonic() - before, time.monotonic() - after)


@experiment("K-119", limit=0, late=1.2)
def numbers_are_at_most_a_second_old(twin):
    """After a scrape there is one more response: values just read may not be cached for longer."""
    with limited(twin, args=ADMIN) as server:
        scrape(server)
        with Connection(server.address) as connection:
            answered(connection)
            before = time.monotonic()
            until(lambda: scrape(server).get(OK) == 1)
            return Span(time.monotonic() - before, time.monotonic() - before)


@experiment("K-119", "K-81", span=False)
def silence_is_counted_as_idle_timeout(twin):
    with limited(twin, "idle", args=ADMIN) as server, Connection(server.address) as connection:
        measure(connection, lambda: answered(connection))
        until(lambda: scrape(server)[closed("idle_timeout")] == 1)


@experiment("K-119", "K-80", span=False)
def a_slow_head_is_counted_as_header_timeout(twin):
    with limited(twin, "header", args=ADMIN) as server, Connection(server.address) as connection:
        measure(connection, lambda: connection.send(GET[:9]))
        until(lambda: scrape(server)[closed("header_timeout")] == 1)


@experiment("K-119", "K-82", span=False)
def a_peer_that_does_not_read_is_counted_as_write_timeout(twin):
    with limited(twin, "write", content=BIG, args=ADMIN) as server:
        with Connection(server.address, receive_buffer=4096) as connection:
            connection.send(GET)
            until(lambda: scrape(server)[closed("write_timeout")] == 1)


@experiment("K-125", limit=0)
def a_line_is_written_within_a_second(twin):
    with limited(twin, args=("--access-log", "common")) as server, Connection(server.address) as connection:
        answered(connection)
        before = time.monotonic()
        next_lines(server, 1)
        return Span(time.monotonic() - before, time.monotonic() - before)


@experiment("K-127", limit=0, late=1.5)
def lines_that_nobody_takes_hold_the_end_up_for_a_second(twin):
    with limited(twin, args=("--access-log", "common", *ADMIN)) as server:
        fcntl.fcntl(server.process.stdout, F_SETPIPE_SZ, 4096)
        with Connection(server.address) as connection:
            while not scrape(server)[LOST]:
                connection.send(GET * 1000)
                for _ in range(1000):
                    connection.response()
        before = time.monotonic()
        server.signal()
        assert server.wait() == 0
        return Span(time.monotonic() - before, time.monotonic() - before)


@experiment("K-115", "K-117", span=False)
def the_admin_listener_outlives_many_slow_peers(twin):
    """64 silent connections are closed after 10 seconds; new clients get their responses in the meantime."""
    with limited(twin, args=ADMIN) as server, contextlib.ExitStack() as stack:
        held = [stack.enter_context(AdminConnection(server.admin)) for _ in range(64)]
        assert ask(server.admin, "/readyz").body == b"ready"
        for connection in held:
            connection.expect_end()


@pytest.mark.parametrize("name", experiments(__name__))
def test_limit(twin, name, outcomes):
    hold_to_limit(__name__, name, outcomes[twin.name, name])
