"""K-158: what connections with TLS take of the memory, whatever they send."""

import contextlib

import pytest

from runner.metrics import OK, scrape
from runner.peers import ADMIN, GET, MIB
from runner.responses import WireError
from runner.tls import TlsConnection, get, hello, trusting
from runner.wire import GONE, Connection
from test_surroundings import JSON, announced, charged

LARGE = GET[:-2] + b"X: " + b"x" * 15000 + b"\r\n\r\n"


@pytest.mark.spec("K-158", "K-84")
def test_the_memory_limit_decides_how_many(serve_tls, memory):
    """Of 24576 bytes each, three quarters of 16 MiB more hold 512 more."""
    few, more = (announced(serve_tls(*JSON, preexec_fn=memory(size * MIB).enter), "warn") for size in (24, 40))
    assert more - few == 512


def silent(address, context):
    return Connection(address)


def without_its_last_byte(address, context):
    """Of the first message."""
    connection = Connection(address)
    connection.send(hello(context)[:-1])
    return connection


def within_a_long_first_message(address, context):
    """Of 16000 bytes."""
    connection = Connection(address)
    connection.send(b"\x16\x03\x01\x3e\x80\x01\x00\x3e\x7c\x03\x03" + bytes(15900))
    return connection


def without_its_last_flight(address, context):
    connection = Connection(address)
    connection.send(hello(context))
    with contextlib.suppress(WireError, *GONE):
        connection.receive(1)
    return connection


def idle(address, context):
    connection = TlsConnection(address, context)
    connection.expect_open()
    return connection


def after_a_large_record(address, context):
    connection = TlsConnection(address, context)
    with contextlib.suppress(WireError, *GONE):
        connection.send(LARGE)
        connection.response()
    return connection


def within_a_large_record(address, context):
    """Whose last byte is missing."""
    connection = TlsConnection(address, context)
    connection.tls.write(LARGE)
    Connection.send(connection, connection.outgoing.read()[:-1])
    return connection


@pytest.mark.spec("K-158", "K-84", "K-86")
@pytest.mark.parametrize("how", [
    silent, without_its_last_byte, within_a_long_first_message, without_its_last_flight, idle, after_a_large_record,
    within_a_large_record,
])  # fmt: skip
def test_as_many_as_were_announced_and_more_fit_the_memory(serve_tls, memory, how):
    """However they stay, nobody is killed, and whoever comes after them is served."""
    group, context = charged(memory, 32 * MIB), trusting()
    server = serve_tls(*JSON, *ADMIN, "--header-timeout-seconds", "300", preexec_fn=group.enter)
    most = announced(server, "warn")
    with contextlib.ExitStack() as stack:
        for _ in range(most + 40):
            stack.enter_context(how(server.address, context))
        for _ in range(10):
            assert get(server.address, context=context).body == b"Hello\n"
        assert scrape(server)[OK] >= 10
    assert group.kills() == 0
