"""K-37, K-42, K-20: a clock that is set forward and back while kcup serves."""

import time

import pytest

from runner.process import until
from runner.reload import get, plain, reload, rename_over
from runner.stepped_clock import DAY, SteppedClock, dates
from runner.wire import Connection


@pytest.fixture
def clock():
    with SteppedClock() as clock:
        yield clock


@pytest.mark.spec("K-37", "K-42")
@pytest.mark.parametrize("days", [-1, -4000, 1])
def test_the_date_follows_and_nothing_was_modified_later(clock, serve, days):
    """This includes yesterday's file when the clock shows the day before."""
    server = serve(mtime=int(time.time()) - 60, **clock.options)
    modified, date = clock.follow(server, days)
    assert modified <= date
    modified, date = clock.follow(server, 0)
    assert modified <= date


@pytest.mark.spec("K-42")
def test_what_was_modified_is_said_truly_once_the_clock_is_right_again(clock, serve):
    server = serve(mtime=int(time.time()) - 60, **clock.options)
    before = dates(server)[0]
    clock.follow(server, -1)
    assert clock.follow(server, 0)[0] == before


@pytest.mark.spec("K-37")
def test_the_date_follows_on_a_connection_that_is_open(clock, serve):
    server = serve(**clock.options)
    with Connection(server.address) as connection:
        connection.expect_open()
        clock.step(-1)
        until(lambda: abs(dates(server)[1] - time.time() + DAY) < 20)
        connection.expect_open()


@pytest.mark.spec("K-42", "K-100")
def test_a_reload_while_the_clock_is_behind(clock, serve):
    """The file's time is then in the future: the time of loading counts, and is never later than the date."""
    server = serve(**clock.options)
    clock.follow(server, -1)
    new = plain(b"new\n")
    rename_over(server.directory / "hello.txt", new.content)
    reload(server, new)
    modified, date = dates(server)
    assert modified <= date <= time.time() - DAY + 20
    assert get(server.address).body == new.content
