"""Every vector of the guard over the wire, whole and in pieces: status, number of responses, end of the connection."""

import pytest

from runner.cases import option_sets, vectors
from runner.parts import to_bytes
from runner.promises import check
from runner.responses import WireError
from runner.wire import Connection

PLAIN = option_sets()["text"]
VECTORS = vectors("guard")["case"]
SMALL = 600


def pieces(data):
    """The whole, and then single bytes, or pieces of an odd size if there are many bytes."""
    return (None, 1) if len(data) <= SMALL else (None, 997)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"].replace(" ", "-"))
def test_vector(twin, vector, servers):
    data = to_bytes(vector["head"])
    for piece in pieces(data):
        try:
            hold(servers(twin, PLAIN).address, vector, data, piece)
        except WireError as error:
            raise WireError(f"in {'one piece' if piece is None else f'pieces of {piece}'}: {error}") from None


def hold(address, vector, data, piece):
    if "status" in vector:
        hold_refused(address, vector, data, piece)
    elif "partial" in vector:
        hold_partial(address, data, piece)
    else:
        hold_accepted(address, vector, data, piece)


def hold_refused(address, vector, data, piece):
    with Connection(address) as connection:
        connection.send(data, piece)
        response = connection.response()
        check(response.status == vector["status"], f"status {response.status}, not {vector['status']}")
        check(response.one("connection") == "close", "no connection: close")
        connection.expect_end()


def hold_partial(address, data, piece):
    """The head is not refused; if the peer then ends its side, there is no response (K-60)."""
    with Connection(address) as connection:
        connection.send(data, piece)
        connection.half_close()
        connection.expect_end()


def hold_accepted(address, vector, data, piece):
    closing = vector["body"] or not vector["keep_alive"]
    method = data.split(b" ")[0].strip()
    with Connection(address) as connection:
        connection.send(data, piece)
        response = connection.response(method == b"HEAD")
        expected = 200 if method in (b"GET", b"HEAD") else 404
        check(response.status == expected, f"status {response.status}, not {expected}")
        check((response.one("connection") == "close") == closing, f"connection: {response.one('connection')}")
        if closing:
            connection.expect_end()
        elif len(data) == vector["length"]:
            connection.expect_open()


@pytest.mark.spec("K-35")
@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"].replace(" ", "-"))
def test_both_send_the_same_bytes(twins, vector, servers):
    first, second = (until_end(servers(t, PLAIN).address, to_bytes(vector["head"])) for t in twins)
    assert first == second


def until_end(address, data):
    """Everything received until the end, after the peer has ended its side, without dates."""
    with Connection(address) as connection:
        connection.send(data)
        connection.half_close()
        received = b""
        while more := connection.receive():
            received += more
    lines = received.split(b"\r\n")
    return [line for line in lines if not line.startswith(b"date: ")]
