"""K-72: how a connection ends: no part of a response is lost, and nothing of it stays in the kernel."""

import contextlib
import select
import socket
import time

import pytest

from runner.metrics import HOT, PARKED, scrape
from runner.peers import ADMIN, GET, HEAD, TAIL, asked, is_reset, not_reading
from runner.process import until
from runner.sockets import held, states
from runner.wire import GONE, Connection

LAST = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
ORPHANED = {"FIN_WAIT1", "LAST_ACK", "CLOSING"}
KIB = 1 << 10


def post(length):
    return b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % length


@pytest.mark.spec("K-72")
@pytest.mark.parametrize("length", [60_000, 8_000_000])
def test_a_body_does_not_lose_the_response(serve, length):
    """The peer sends the whole body, or until nothing is accepted, and reads at the same time, as browsers do."""
    server = serve()
    for _ in range(20):
        with Connection(server.address) as connection:
            request, received = memoryview(post(length) + bytes(length)), b""
            connection.socket.setblocking(False)
            while b"No such resource" not in received:
                readable, writable, _ = select.select([connection.socket], [connection.socket], [], 15)
                assert readable or writable, "no response"
                if readable:
                    received += connection.socket.recv(65536)
                if writable and request:
                    with contextlib.suppress(*GONE, BlockingIOError):
                        request = request[connection.socket.send(request) :]
            connection.pending = received
            response = connection.response()
            assert (response.status, response.one("connection")) == (404, "close")


@pytest.mark.spec("K-72")
def test_a_body_that_was_sent_before_the_response_was_read_does_not_lose_it(serve):
    """The peer sends 8 MB before it reads: the reset comes after the response."""
    server = serve()
    for _ in range(20):
        with Connection(server.address) as connection:
            connection.send(post(8_000_000) + bytes(8_000_000))
            response = connection.response()
            assert (response.status, response.one("connection")) == (404, "close")


@pytest.mark.spec("K-72")
@pytest.mark.parametrize("pause", [0, 0.0005], ids=["at once", "little by little"])
def test_little_is_discarded(serve, pause):
    """64 KiB, plus what is in buffers on the way."""
    server, sent = serve(), 0
    with Connection(server.address) as connection:
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        connection.send(post(100_000_000))
        connection.response()
        connection.expect_end()
        with contextlib.suppress(*GONE):
            while sent < 8 << 20:
                sent += connection.socket.send(bytes(1024))
                time.sleep(pause)
    assert sent <= (64 + 160) * KIB, f"{sent} bytes were discarded"


def ask_for_the_last(server, peers):
    for peer in peers:
        peer.send(LAST)


def end_our_side(server, peers):
    for peer in peers:
        peer.half_close()


def send_half_a_head(server, peers):
    for peer in peers:
        peer.send(GET[:9])


def send_what_is_refused(server, peers):
    for peer in peers:
        peer.send(b"GET / HTTP/3.0\r\n\r\n")


def displace(server, peers):
    time.sleep(0.3)  # so that they are silent for longest
    return [asked(server.address, HEAD) for _ in peers]


WAYS = [None, ask_for_the_last, end_our_side, send_half_a_head, send_what_is_refused, displace]


@pytest.mark.spec("K-72a", "K-81", "K-84c")
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__ if way else "silence")
def test_nothing_stays_in_the_kernel_of_those_that_do_not_read(serve, way):
    """Their window is closed, so the rest of the response cannot be sent: they are reset, however they end."""
    limits = ("--idle-timeout-seconds", "60" if way else "8", "--header-timeout-seconds", "1")
    server = serve(*limits, *ADMIN, "--threads", "1", "--max-connections", "20", content=TAIL)
    peers = not_reading(server, 20)
    until(lambda: len(held(server)) == 20 and all(one.unacknowledged for one in held(server).values()))
    newcomers = way and way(server, peers)
    until(lambda: all(is_reset(peer) for peer in peers))
    until(lambda: not ORPHANED & states(server).keys(), 5)
    del newcomers


def read_slowly(connection):
    """Reads a part in each of several seconds, and then the rest."""
    taken = b""
    for _ in range(14):
        taken += connection.exactly(4 * KIB)
        time.sleep(0.25)
    connection.pending = taken
    assert connection.response().body == TAIL
    connection.expect_end()


@pytest.mark.spec("K-72a", "K-34")
def test_one_that_reads_slowly_gets_all_of_its_last_response(serve):
    server = serve(content=TAIL)
    with Connection(server.address, receive_buffer=4096, segment=1460) as connection:
        connection.send(LAST)
        read_slowly(connection)


@pytest.mark.spec("K-72a", "K-81")
def test_one_that_reads_slowly_and_ended_its_side_gets_all(serve):
    server = serve("--idle-timeout-seconds", "1", content=TAIL)
    with Connection(server.address, receive_buffer=4096, segment=1460) as connection:
        connection.send(GET)
        connection.half_close()
        read_slowly(connection)


@pytest.mark.spec("K-72a")
def test_one_that_stops_reading_its_last_response_is_reset_soon(serve):
    """After a second without progress, and at most another one until that is noticed."""
    server = serve(*ADMIN, content=TAIL)
    with Connection(server.address, receive_buffer=4096) as connection:
        connection.send(LAST)
        connection.exactly(8 * KIB)
        began = time.monotonic()
        until(lambda: is_reset(connection))
        assert 0.5 <= time.monotonic() - began <= 5
        assert not ORPHANED & states(server).keys()
        until(lambda: (seen := scrape(server))[HOT] + seen[PARKED] == 0)
