"""K-18, K-19: for whom a drain waits: accepted connections without a request, and those that wait to be accepted."""

import contextlib
import re
import signal
import statistics
import threading
import time

import pytest

from runner.flood import Flood
from runner.peers import BIG, GET, accepted, asked, ends, is_open, not_reading
from runner.process import frozen, has_read_all, in_time, listening_port, until
from runner.responses import WireError
from runner.sockets import in_backlog
from runner.wire import Connection

PATIENT = ("--shutdown-timeout-seconds", "60")
LATER, SECOND = 0.4, 0.95  # within the second that a new connection has


@pytest.mark.spec("K-18b")
@pytest.mark.parametrize("threads", [1, 3])
def test_what_was_accepted_and_has_not_asked_yet_may_ask(serve, threads):
    """Whether it was accepted before the signal or comes from the backlog after it."""

    def asks():
        server = serve(*PATIENT, "--threads", str(threads))
        taken = accepted(server, 20)
        frozen(server)
        waiting = [Connection(server.address) for _ in range(20)]
        began = time.monotonic()
        server.signal()
        server.signal(signal.SIGCONT)
        until(lambda: not listens(server))
        time.sleep(LATER)
        for connection in taken + waiting:
            connection.send(GET)
        if time.monotonic() - began >= SECOND:
            return False
        for connection in taken + waiting:
            response = connection.response()
            assert (response.status, response.one("connection")) == (200, "close")
            connection.expect_end()
        assert server.wait(10) == 0
        return True

    in_time(asks)


def listens(server):
    """Whether the server, if it is still running, still listens."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return listening_port(server.process.pid)


@pytest.mark.spec("K-18b")
def test_a_head_that_begins_within_that_second_is_waited_for(serve):
    def begins():
        server = serve(*PATIENT)
        (connection,) = accepted(server, 1)
        began = time.monotonic()
        server.signal()
        time.sleep(LATER)
        connection.send(GET[:9])
        if time.monotonic() - began >= SECOND:
            return False
        time.sleep(1.5)
        connection.send(GET[9:])
        assert connection.response().status == 200
        connection.expect_end()
        assert server.wait(10) == 0
        return True

    in_time(begins)


@pytest.mark.spec("K-18b")
def test_one_that_never_asks_is_closed_after_a_second(serve):
    """Not earlier; this ends the drain."""
    server = serve(*PATIENT)
    silent = accepted(server, 20)
    began = time.monotonic()
    server.signal()
    for connection in silent:
        connection.expect_end()
    took = time.monotonic() - began
    assert 0.9 <= took <= 5, f"closed after {took:.2f} s"
    assert server.wait(10) == 0


@pytest.mark.spec("K-18a")
def test_one_that_was_answered_before_is_closed_at_once(serve):
    """Even if the drain waits for others."""

    def are_closed():
        server = serve(*PATIENT)
        known, (new,) = [asked(server.address) for _ in range(20)], accepted(server, 1)
        server.signal()
        for connection in known:
            connection.expect_end()
        before_its_second = is_open(new)
        new.expect_end()
        assert server.wait(10) == 0
        return before_its_second

    in_time(are_closed)


@pytest.mark.spec("K-18")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_long_backlog_is_taken_in(serve, number):
    """An unfinished head occupies the only place, so that no other connection is accepted before the signal."""
    server = serve(*PATIENT, "--max-connections", "1", "--threads", "1", "--header-timeout-seconds", "60")
    busy = Connection(server.address)
    busy.send(GET[:9])
    until(lambda: has_read_all(server, [busy]))
    frozen(server)  # stopped while clients connect, so that none has waited for a second before the signal
    waiting = [Connection(server.address) for _ in range(300)]
    for connection in waiting:
        connection.send(GET)
    assert in_backlog(server) == 300
    server.signal(number)
    server.signal(signal.SIGCONT)
    until(lambda: not listens(server))
    busy.send(GET[9:])
    for connection in [busy, *waiting]:
        assert connection.response().status == 200
        connection.expect_end()
    assert server.wait(10) == 0


class Visitors(threading.Thread):
    """Connects for each request until nobody listens. `lost` counts connections without a response."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.address, self.served, self.lost = address, 0, []
        self.start()

    def run(self):
        while True:
            try:
                connection = Connection(self.address)
            except OSError:
                return
            with connection:
                connection.send(GET)
                try:
                    connection.response()
                    self.served += 1
                except WireError as error:
                    self.lost.append(str(error))


@pytest.mark.spec("K-18", "K-18b")
def test_visitors_who_connect_for_each_request_lose_nothing(serve):
    """Except connections that are established after the last look at the backlog: the kernel resets them when the
    listener closes. That moment is long if the scheduler takes the CPU away in it: so the median counts."""
    resets = []
    for _ in range(8):
        server = serve(*PATIENT)
        visitors = [Visitors(server.address) for _ in range(32)]
        until(lambda: all(visitor.served for visitor in visitors))  # noqa: B023
        server.signal()
        assert server.wait(10) == 0
        for visitor in visitors:
            visitor.join(20)
        lost = [reason for visitor in visitors for reason in visitor.lost]
        assert all("reset" in reason for reason in lost), lost
        resets.append(len(lost))
    assert statistics.median(resets) <= 1, resets


@pytest.mark.spec("K-19")
@pytest.mark.parametrize("who", ["a head", "one that does not read", "one that never asks"])
def test_nobody_holds_the_drain_up_for_longer_than_it_may_last(serve, who):
    limits = ("--header-timeout-seconds", "60", "--write-timeout-seconds", "60")
    server = serve("--shutdown-timeout-seconds", "1", *limits, content=BIG)
    if who == "one that does not read":
        (peer,) = not_reading(server, 1)
    else:
        peer = Connection(server.address)
        peer.send(GET[:9] if who == "a head" else b"")
    until(lambda: has_read_all(server, [peer]) and in_backlog(server) == 0)
    began = time.monotonic()
    server.signal()
    assert server.wait(10) == 0
    took = time.monotonic() - began
    assert 0.9 <= took <= 5, f"it lasted {took:.2f} s"
    warnings = [line for line in server.stderr().splitlines() if re.search("(?i) warn", line)]
    assert len(warnings) <= 1 if who == "one that never asks" else re.search(r"\b1\b", warnings[0])


@pytest.mark.spec("K-18", "K-19")
def test_those_who_pipeline_without_end_do_not_hold_it_up(serve):
    server = serve(*PATIENT, "--threads", "1")
    with Flood(server.address, 16, 500):
        began = time.monotonic()
        server.signal()
        assert server.wait(20) == 0
        assert time.monotonic() - began <= 10


@pytest.mark.spec("K-19")
def test_a_second_signal_ends_the_second_of_those_that_never_asked(serve):
    def is_ended():
        server = serve(*PATIENT)
        (connection,) = accepted(server, 1)
        began = time.monotonic()
        server.signal()
        until(lambda: not listens(server))
        server.signal()
        if time.monotonic() - began >= SECOND:
            return False
        assert server.wait(10) == 1
        assert server.stderr().splitlines()[-1] == "kcup: stopped by a second signal before the drain was over"
        ends(connection)
        return True

    in_time(is_ended)
