"""K-80, K-81, K-83 and the other time limits except K-82. Each experiment waits, so they all wait together.

"Never before N" is exact: a span is measured from before the bytes were sent that start the server's clock. "Not
more than a second after" has a tolerance: how late a thread of this process woke up at worst in the meantime."""

import contextlib
import os
import time

import pytest

from runner.clock import (
    GET,
    Span,
    answered,
    experiment,
    experiments,
    hold_to_limit,
    limited,
    measure,
    measure_since,
)
from runner.peers import BIG
from runner.process import has_read_all, unread, until
from runner.twin import Server
from runner.wire import GONE, Connection

pytestmark = pytest.mark.xdist_group("clocks")
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n"


@experiment("K-80")
def a_head_that_stops_is_closed(twin):
    with limited(twin, "header") as server, Connection(server.address) as connection:
        return measure(connection, lambda: connection.send(GET[:1]))


@experiment("K-80")
def a_head_that_stops_before_its_last_byte_is_closed(twin):
    with limited(twin, "header") as server, Connection(server.address) as connection:
        return measure(connection, lambda: connection.send(GET[:-1]))


@experiment("K-80")
def a_second_head_that_stops_is_closed(twin):
    with limited(twin, "header") as server, Connection(server.address) as connection:
        answered(connection)
        return measure(connection, lambda: connection.send(GET[:5]))


@experiment("K-80")
def a_second_head_that_came_with_the_first_and_stops_is_closed(twin):
    with limited(twin, "header") as server, Connection(server.address) as connection:
        before = time.monotonic()
        connection.send(GET + GET[:5])
        assert connection.response().status == 200
        return measure_since(connection, before)


@experiment("K-80")
def a_head_that_trickles_is_closed_as_early(twin):
    """Progress does not extend the time."""
    with limited(twin, "header") as server, Connection(server.address) as connection:
        before = time.monotonic()
        connection.send(GET[:1])
        after = time.monotonic()
        connection.socket.settimeout(0.05)
        while time.monotonic() - before < 10:
            connection.send(b"G")
            with contextlib.suppress(TimeoutError, ConnectionResetError):
                assert connection.socket.recv(1) == b"", "a response to half a head"
                return Span(time.monotonic() - before, time.monotonic() - after)
        raise AssertionError("a trickle is not closed")


@experiment("K-80", span=False)
def a_head_that_takes_less_is_answered(twin):
    with limited(twin, "header") as server, Connection(server.address) as connection:
        for _ in range(3):
            connection.send(GET[:10])
            time.sleep(0.4)
            connection.send(GET[10:])
            assert connection.response().status == 200


@experiment("K-80", span=False)
def silence_is_no_head(twin):
    with limited(twin, "header") as server, Connection(server.address) as connection:
        time.sleep(2.5)
        answered(connection)
        time.sleep(2.5)
        answered(connection)


@experiment("K-81")
def a_connection_that_never_speaks_is_closed(twin):
    with limited(twin, "idle") as server:
        before = time.monotonic()
        with Connection(server.address) as connection:
            return measure_since(connection, before)


@experiment("K-81")
def a_connection_that_falls_silent_is_closed(twin):
    with limited(twin, "idle") as server, Connection(server.address) as connection:
        return measure(connection, lambda: answered(connection))


@experiment("K-81")
def a_connection_that_falls_silent_again_is_closed(twin):
    with limited(twin, "idle") as server, Connection(server.address) as connection:
        for _ in range(3):
            answered(connection)
            time.sleep(0.5)
        return measure(connection, lambda: answered(connection))


@experiment("K-81", span=False)
def half_a_head_is_no_silence(twin):
    with limited(twin, "idle") as server, Connection(server.address) as connection:
        connection.send(GET[:5])
        time.sleep(2.5)
        connection.send(GET[5:])
        assert connection.response().status == 200


@experiment("K-81", "K-82", span=False)
def a_response_that_is_not_read_is_no_silence(twin):
    with limited(twin, "idle", "header", content=BIG) as server:
        with Connection(server.address, receive_buffer=4096) as connection:
            connection.send(GET)
            time.sleep(2.5)
            assert connection.response().body == BIG


@experiment("K-12")
def standard_input_without_end_ends_it(twin):
    return waits_for_content(twin, "standard input", [])


@experiment("K-12")
def a_fifo_without_end_ends_it(twin):
    return waits_for_content(twin, '"/dev/stdin"', ["--file", "/dev/stdin"])


def waits_for_content(twin, name, args):
    reading, writing = os.pipe()
    with open(writing, "wb", buffering=0) as pipe, open(reading, "rb") as stdin:
        before = time.monotonic()
        args = ["--stdin-read-timeout-seconds", "1", *args]
        server = Server(twin, args, wait=False, preexec_fn=lambda: os.dup2(stdin.fileno(), 0))
        pipe.write(b"the beginning")
        until(lambda: unread(pipe.fileno()) == 0)
        after = time.monotonic()
        with server:
            assert server.wait() == 1
            span = Span(time.monotonic() - before, time.monotonic() - after)
            reason = "not at its end after 1 second (raise --stdin-read-timeout-seconds)"
            assert server.stderr() == f"kcup: cannot read content from {name}: {reason}\n"
            return span


@experiment("K-19")
def a_drain_has_an_end(twin):
    with limited(twin, "shutdown") as server, Connection(server.address) as connection:
        connection.send(GET[:5])
        until(lambda: has_read_all(server, [connection]))
        before = time.monotonic()
        server.signal()
        after = time.monotonic()
        assert server.wait() == 0
        return Span(time.monotonic() - before, time.monotonic() - after)


@experiment("K-72", limit=0.8, late=0.4)
def what_still_comes_is_discarded_for_a_second(twin):
    """Bytes arrive slowly: no reset in the first moments, and an end after a second."""
    with limited(twin) as server, Connection(server.address) as connection:
        before = time.monotonic()
        connection.send(POST)
        assert connection.response().status == 404
        connection.expect_end()
        after = time.monotonic()
        with contextlib.suppress(*GONE):
            while time.monotonic() - before < 10:
                connection.socket.sendall(b"x")
                time.sleep(0.02)
        return Span(time.monotonic() - before, time.monotonic() - after)


@experiment("K-72", span=False)
def the_end_of_the_peer_ends_the_discarding(twin):
    with limited(twin) as server, Connection(server.address) as connection:
        connection.send(POST)
        assert connection.response().status == 404
        connection.expect_end()
        connection.half_close()


@pytest.mark.spec("K-83")
@pytest.mark.parametrize("name", experiments(__name__))
def test_limit(twin, name, outcomes):
    hold_to_limit(__name__, name, outcomes[twin.name, name])
