"""K-18, K-19: the drain. The server is stopped while connections accumulate, so that it is certain what was sent."""

import os
import re
import shutil
import signal
import time

import pytest

from runner.process import children, frozen, has_read_all, pending_signals, until
from runner.wire import Connection

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
BIG = bytes(range(256)) * 65536
PATIENT = ("--shutdown-timeout-seconds", "60")
ENDING = [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT]
each_signal = pytest.mark.parametrize("number", ENDING, ids=lambda number: number.name)


def refuses(address):
    try:
        Connection(address).socket.close()
    except (ConnectionRefusedError, ConnectionResetError):
        return True
    return False


@pytest.mark.spec("K-14")
def test_other_signals_do_nothing(serve):
    server = serve()
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGPIPE):
        server.signal(number)
        until(lambda: not pending_signals(server.process.pid))
    with Connection(server.address) as connection:
        connection.send(GET)
        assert connection.response().status == 200
    server.signal()
    assert server.wait(10) == 0


@pytest.mark.spec("K-18", "K-07")
@each_signal
def test_a_server_without_connections_ends_at_once(serve, number):
    server = serve(*PATIENT)
    server.signal(number)
    assert server.wait(10) == 0


@pytest.mark.spec("K-18a")
def test_silent_connections_hold_nothing_up(serve):
    server = serve(*PATIENT)
    silent = [Connection(server.address) for _ in range(20)]
    for connection in silent[:10]:
        connection.send(GET)
        connection.response()
    server.signal()
    for connection in silent:
        connection.expect_end()
    assert server.wait(10) == 0


@pytest.mark.spec("K-18")
@each_signal
def test_what_was_sent_is_answered(serve, number):
    """On open connections and on those in the backlog. A response may arrive before the signal."""
    server = serve(*PATIENT)
    known = [Connection(server.address) for _ in range(10)]
    for connection in known:
        connection.send(GET)
        connection.response()
    frozen(server)
    new = [Connection(server.address) for _ in range(100)]
    silent = [Connection(server.address) for _ in range(10)]
    for connection in known + new:
        connection.send(GET)
    server.signal(number)
    server.signal(signal.SIGCONT)
    for connection in known + new:
        response = connection.response()
        assert (response.status, response.one("connection")) in ((200, "close"), (200, None))
        connection.expect_end()
    for connection in silent:
        connection.expect_end()
    assert server.wait(10) == 0


@pytest.mark.spec("K-18", "K-34")
def test_all_of_several_requests_are_answered(serve):
    server = serve(*PATIENT)
    connection = Connection(server.address)
    frozen(server)
    connection.send(GET * 3)
    server.signal()
    server.signal(signal.SIGCONT)
    responses = [connection.response() for _ in range(3)]
    assert [response.status for response in responses] == [200] * 3
    connection.expect_end()
    assert server.wait(10) == 0


@pytest.mark.spec("K-18", "K-34")
def test_a_response_during_the_drain_says_that_it_is_the_last(serve):
    server = serve(*PATIENT)
    begun = [Connection(server.address) for _ in range(20)]
    for connection in begun:
        connection.send(GET[:-2])
    until(lambda: has_read_all(server, begun))
    server.signal()
    until(lambda: refuses(server.address))
    said = []
    for connection in begun:
        connection.send(GET[-2:])
        response = connection.response()
        assert response.status == 200
        said.append(response.one("connection"))
        connection.expect_end()
    assert said[10:] == ["close"] * 10, "the first may be faster than the news of the drain"
    assert server.wait(10) == 0


@pytest.mark.spec("K-18")
def test_a_response_under_way_is_finished(serve):
    server = serve(*PATIENT, content=BIG)
    connection = Connection(server.address, receive_buffer=65536)
    connection.send(GET)
    start = connection.receive(1000)
    server.signal()
    until(lambda: refuses(server.address))
    connection.pending = start
    assert connection.response().body == BIG
    connection.expect_end()
    assert server.wait(10) == 0


@pytest.mark.spec("K-18")
def test_it_stops_listening(serve):
    server = serve(*PATIENT)
    held = Connection(server.address)
    held.send(GET[:10])
    server.signal(signal.SIGTERM)
    until(lambda: server.process.poll() is not None or refuses(server.address))
    held.socket.close()
    assert server.wait(10) == 0


@pytest.mark.spec("K-19")
def test_a_second_signal_ends_it_at_once(serve):
    server = serve(*PATIENT, content=BIG)
    held = Connection(server.address, receive_buffer=65536)
    held.send(GET)
    held.receive(1000)
    server.signal()
    until(lambda: refuses(server.address))
    server.signal()
    assert server.wait(10) == 1
    assert server.stderr().splitlines()[-1] == "kcup: stopped by a second signal before the drain was over"


@pytest.mark.spec("K-19")
def test_what_is_still_open_is_cut_and_counted(serve):
    server = serve("--shutdown-timeout-seconds", "1", "--max-connections", "100", content=BIG)
    held = [Connection(server.address, receive_buffer=65536) for _ in range(3)]
    for connection in held:
        connection.send(GET)
        connection.receive(1000)
    began = time.monotonic()
    server.signal()
    assert server.wait(20) == 0
    assert time.monotonic() - began >= 1
    warnings = [line for line in server.stderr().splitlines() if re.search("(?i) warn", line)]
    assert len(warnings) == 1, server.stderr()
    assert re.search(r"(?i) warn.*\b3\b", warnings[0]), warnings[0]


@pytest.mark.spec("K-18", "K-13")
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="a process namespace takes root")
@each_signal
def test_it_drains_as_the_first_process(serve, number):
    """The kernel gives the first process of a namespace no default action for signals."""
    server = serve(prefix=(shutil.which("unshare"), "--pid", "--fork"))
    with Connection(server.address) as connection:
        connection.send(GET)
        assert connection.response().status == 200
        os.kill(children(server.process.pid)[0], number)
        connection.expect_end()
    assert server.wait(10) == 0
