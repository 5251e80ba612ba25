"""K-84: which connection makes room for a new one, and how soon."""

import contextlib
import resource
import threading
import time

import pytest

from runner.metrics import ACCEPTED, HOT, OK, PARKED, closed, scrape
from runner.peers import (
    ADMIN,
    BIG,
    GET,
    HEAD,
    MIB,
    TAIL,
    asked,
    ends,
    is_open,
    is_reset,
    not_reading,
    served_within,
    still_served,
)
from runner.process import descriptors, has_read_all, until
from runner.wire import GONE, Connection

SOON = 2.0  # the second of K-84, and one more for a busy machine
APART = 0.3  # silences that differ by this much are ordered
PATIENT = ("--header-timeout-seconds", "60", "--write-timeout-seconds", "60")


@pytest.mark.spec("K-84a")
def test_the_longest_silent_makes_room(serve):
    server = serve("--max-connections", "3", "--threads", "1")
    first, second, third = (asked_and_waited(server) for _ in range(3))
    first.send(GET)
    first.response()
    fourth = asked(server.address)
    second.expect_end()
    assert is_open(first)
    assert is_open(third)
    assert is_open(fourth)
    with asked(server.address):
        third.expect_end()


def asked_and_waited(server):
    connection = asked(server.address)
    time.sleep(APART)
    return connection


@pytest.mark.spec("K-84a")
def test_the_longest_silent_of_all_workers_makes_room(serve):
    """Each new connection displaces the one that has been silent longest, whichever worker holds it."""
    server = serve("--max-connections", "6", "--threads", "3")
    held = [asked_and_waited(server) for _ in range(6)]
    for index in (4, 1):
        held[index].send(GET)
        held[index].response()
        time.sleep(APART)
    order = [held[index] for index in (0, 2, 3, 5, 4, 1)]
    for oldest, *others in (order[start:] for start in range(5)):
        order.append(asked(server.address))
        oldest.expect_end()
        assert all(is_open(connection) for connection in others)
        time.sleep(APART)


@pytest.mark.spec("K-84a")
def test_one_that_has_never_spoken_is_silent_too(serve):
    server = serve("--max-connections", "2", "--threads", "1")
    silent = Connection(server.address)
    time.sleep(APART)
    held = [asked(server.address) for _ in range(2)]
    silent.expect_end()
    assert all(is_open(connection) for connection in held)


@pytest.mark.spec("K-84a", "K-84c")
def test_with_one_connection_each_new_one_takes_its_place(serve):
    server = serve("--max-connections", "1")
    last = asked(server.address)
    for _ in range(20):
        new = asked(server.address)
        last.expect_end()
        last = new


@pytest.mark.spec("K-84a")
def test_a_place_that_became_free_costs_nobody_his(serve):
    server = serve("--max-connections", "2")
    first, second = asked(server.address), asked(server.address)
    both = len(descriptors(server.process.pid))
    first.socket.close()
    until(lambda: len(descriptors(server.process.pid)) < both)
    with asked(server.address) as third:
        assert is_open(second)
        assert is_open(third)


@pytest.mark.spec("K-84a", "K-84c")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("silent", "newcomers"), [(60, 1), (200, 20)])
def test_each_newcomer_costs_one_place_however_much_is_unread(serve, silent, newcomers, threads):
    """New connections do not wait for each other, and never displace more than their number."""
    server = serve("--max-connections", str(silent), "--threads", str(threads), *ADMIN, content=TAIL)
    peers = not_reading(server, silent)
    until(lambda: scrape(server)[PARKED] == silent)
    began = time.monotonic()
    new = [Connection(server.address) for _ in range(newcomers)]
    for connection in new:
        connection.send(HEAD)
    for connection in new:
        assert connection.response(bodyless=True).status == 200
    took = time.monotonic() - began
    assert took <= SOON, f"{newcomers} were answered after {took:.2f} s"
    assert len(still_served(peers)) == silent - newcomers
    assert all(is_open(connection) for connection in new)
    until(lambda: scrape(server)[closed("evicted")] == newcomers)
    assert scrape(server)[HOT] + scrape(server)[PARKED] == silent


@pytest.mark.spec("K-84a")
def test_of_equally_silent_ones_the_one_that_has_read_all_goes(serve):
    for _ in range(10):
        server = serve("--max-connections", "4", "--threads", "1", *ADMIN, content=TAIL)
        *unread, last = [Connection(server.address, receive_buffer=size) for size in (4096, 4096, 4096, None)]
        until(lambda: scrape(server)[PARKED] == 4)  # noqa: B023
        began = time.monotonic()
        for connection in (*unread, last):
            connection.send(GET)
        assert last.response().status == 200
        if time.monotonic() - began < 0.08:
            break
    else:
        pytest.fail("this machine was too slow: four requests took 0.1 s each time")
    with asked(server.address):
        last.expect_end()
    assert len(still_served(unread)) == 3


@pytest.mark.spec("K-84a", "K-84c")
def test_of_silences_that_differ_the_longest_ends_whatever_is_unread(serve):
    server = serve("--max-connections", "2", "--threads", "1", content=TAIL)
    (unread,) = not_reading(server, 1)
    time.sleep(APART)
    read = asked(server.address)
    served_within(server.address, SOON)
    until(lambda: is_reset(unread), 2)
    assert is_open(read)


@pytest.mark.spec("K-84b")
@pytest.mark.parametrize("freeing", ["close", "silence"])
def test_when_none_is_silent_new_ones_wait(serve, freeing):
    """Unfinished heads occupy both places; the third connection gets its response once one of them ends."""
    server = serve("--max-connections", "2", *PATIENT)
    busy = in_heads(server, 2, 0)
    waiting = Connection(server.address)
    waiting.send(GET)
    waiting.socket.settimeout(0.3)
    with contextlib.suppress(TimeoutError):
        assert waiting.socket.recv(1) != b"", "the one that waits was closed"
        pytest.fail("three are served with two places")
    waiting.socket.settimeout(15)
    if freeing == "close":
        busy[0].socket.close()
    else:
        busy[0].send(GET[5:])
        assert busy[0].response().status == 200
    assert waiting.response().status == 200
    busy[1].send(GET[5:])
    assert busy[1].response().status == 200


def in_heads(server, count, apart):
    held = []
    for _ in range(count):
        held.append(Connection(server.address))
        held[-1].send(GET[:5])
        until(lambda: has_read_all(server, held))
        time.sleep(apart)
    return held


@pytest.mark.spec("K-84b")
@pytest.mark.parametrize("threads", [1, 3])
def test_heads_without_end_make_room_after_a_second(serve, threads):
    """The connection that has been in a head longest makes room, although it sends bytes. The others may finish."""
    server = serve("--max-connections", "6", "--threads", str(threads), *PATIENT)
    held = in_heads(server, 6, APART)
    with going_on(held, lambda connection: connection.socket.send(b"x")):
        served_within(server.address, SOON)
    ends(held[0])
    assert all(is_open(connection) for connection in held[1:])
    for connection in held[1:]:
        connection.send(b" HTTP/1.1\r\nHost: a\r\n\r\n")
        assert connection.response().status == 200


@pytest.mark.spec("K-84b")
@pytest.mark.parametrize("short", ["places", "descriptors"])
def test_while_none_is_silent_newcomers_after_the_first_need_not_wait(serve, short):
    server = serve("--max-connections", "30" if short == "places" else "100", *PATIENT)
    held = in_heads(server, 30, 0)
    if short == "descriptors":
        forbid_more_descriptors(server.process.pid)
    began = time.monotonic()
    new = [Connection(server.address) for _ in range(20)]
    for connection in new:
        connection.send(GET[:5])
    until(lambda: sum(is_open(connection) for connection in held) == 10)
    took = time.monotonic() - began
    assert took <= SOON + 1, f"20 had a place after {took:.2f} s"
    for connection in new:
        connection.send(GET[5:])
        assert connection.response().status == 200


def forbid_more_descriptors(pid):
    _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(descriptors(pid)), hard))


@contextlib.contextmanager
def going_on(connections, step):
    """Repeats an action on every connection."""
    done = threading.Event()

    def work():
        while not done.wait(0.02):
            for connection in connections:
                with contextlib.suppress(*GONE, BlockingIOError):
                    step(connection)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@pytest.mark.spec("K-84b")
def test_of_responses_without_end_the_slowest_makes_room(serve):
    """Three connections keep reading, and one, which is not the oldest, does not."""
    server = serve("--max-connections", "4", *PATIENT, content=BIG * 4)
    reading = not_reading(server, 2)
    (stuck,) = not_reading(server, 1)
    reading += not_reading(server, 1)
    for connection in reading:
        connection.taken = connection.exactly(4 * MIB)
    with going_on(reading, lambda connection: read_on(connection)):
        served_within(server.address, SOON)
    until(lambda: is_reset(stuck), 2)
    for connection in reading:
        connection.pending = connection.taken
        assert connection.response().body == BIG * 4


def read_on(connection):
    connection.taken += connection.receive()


@pytest.mark.spec("K-84a", "K-119")
def test_accepted_less_closed_is_open_at_the_limit(serve):
    server = serve(*ADMIN, "--max-connections", "2", "--threads", "2")
    for _ in range(10):
        asked(server.address)
    until(lambda: scrape(server)[OK] == 10)
    seen = scrape(server)
    assert seen[ACCEPTED] == 10
    assert seen[closed("evicted")] + seen[closed("peer")] + seen[HOT] + seen[PARKED] == 10
