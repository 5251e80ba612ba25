"""K-49: a date is a strong validator only if it is at least a second older than the response's own date."""

import time

import pytest

from runner.process import until
from runner.reload import plain, rename_over
from runner.wire import Connection


def asked_for_a_part(connection, date):
    fields = f"Range: bytes=0-0\r\nIf-Range: {date}\r\n" if date else ""
    connection.send(f"GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n".encode())
    return connection.response()


@pytest.mark.spec("K-49")
def test_within_the_second_of_the_change_a_date_keeps_no_range(serve):
    """One second later it does."""
    server = serve()
    with Connection(server.address) as connection:
        for number in range(10):
            until(lambda: time.time() % 1 < 0.2)
            new = plain(b"new %d\n" % number)
            rename_over(server.directory / "hello.txt", new.content, int(time.time()))
            server.signal(1)
            until(lambda: asked_for_a_part(connection, None).one("etag") == new.fill("<etag>"))  # noqa: B023
            date = asked_for_a_part(connection, None).one("last-modified")
            response = asked_for_a_part(connection, date)
            if response.one("date") == response.one("last-modified") == date:
                break
        else:
            pytest.fail("this machine was too slow: a reload took more than 0.8 s each time")
        assert (response.status, response.body) == (200, new.content)
        until(lambda: asked_for_a_part(connection, None).one("date") != date)
        response = asked_for_a_part(connection, date)
        assert (response.status, response.body) == (206, new.content[:1])
