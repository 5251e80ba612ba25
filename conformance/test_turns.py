"""K-88: no connection gets more than its turn. The amount sent before a new connection's response is the same on any
machine."""

import time

import pytest

from runner.flood import Flood, newcomers
from runner.peers import GET, HEAD, asked
from runner.wire import Connection

RESPONSES = 16  # per turn of a connection
COUNT = 15
RESPONSE = len(b"HTTP/1.1 200 OK\r\n") + 200  # about the length of a response with "Hello\n"
WORST = 5.0  # on a busy machine


@pytest.mark.spec("K-88")
@pytest.mark.parametrize("peers", [64, 400])
def test_those_that_pipeline_without_end_have_a_turn_each(serve, peers):
    """A new connection waits for one turn of each of them, or two; not until they have no more requests."""
    server = serve("--threads", "1")
    with Flood(server.address, peers, 2000) as flood:
        passed, median, worst = newcomers(server.address, flood, COUNT, GET)
    turns = passed / (peers * RESPONSES * RESPONSE)
    assert turns <= 8, f"{turns:.1f} turns of each passed before a newcomer was answered, within {median:.3f} s"
    assert worst <= WORST, f"answered after {worst:.2f} s"


@pytest.mark.spec("K-88", "K-37")
def test_clocks_go_on_beside_those_that_pipeline_without_end(serve):
    """An unfinished head times out, and the date advances."""
    server = serve("--threads", "1", "--header-timeout-seconds", "1")
    with Flood(server.address, 64, 2000), Connection(server.address) as half:
        half.send(GET[:9])
        began = time.monotonic()
        half.expect_end()
        assert 1 <= time.monotonic() - began <= 2 + WORST
        with asked(server.address) as connection:
            connection.send(GET)
            date = connection.response()
            assert date.asked - 1 <= date_of(date) <= date.ended


def date_of(response):
    return time.mktime(time.strptime(response.one("date"), "%a, %d %b %Y %H:%M:%S GMT")) - time.timezone


@pytest.mark.spec("K-88", "K-34")
def test_all_requests_of_a_long_pipeline_are_answered_in_order(serve):
    """More requests than fit into a turn, and then silence: the rest needs no further byte to get its responses."""
    server = serve("--threads", "1")
    count = 16 * RESPONSES + 1
    with Connection(server.address) as connection:
        connection.send(b"".join(GET if number % 3 else HEAD for number in range(count)))
        for number in range(count):
            assert connection.response(bodyless=number % 3 == 0).status == 200
        connection.half_close()
        connection.expect_end()


@pytest.mark.spec("K-88", "K-60")
@pytest.mark.parametrize("before", [15, 16, 17, 32, 33])
def test_a_turn_ends_neither_a_pipeline_nor_what_follows_it(serve, before):
    """The peer's end, a refused head and half a head are noticed even if the turn ended just before them."""
    server = serve("--threads", "1", "--header-timeout-seconds", "1")
    for last, status in ((b"", None), (b"GET / HTTP/9.9\r\n\r\n", 505), (GET[:9], None)):
        with Connection(server.address) as connection:
            connection.send(GET * before + last)
            if not last:
                connection.half_close()
            for _ in range(before):
                assert connection.response().status == 200
            if status:
                assert connection.response().status == status
            connection.expect_end()
