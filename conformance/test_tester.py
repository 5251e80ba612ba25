"""The suite against servers with deliberate faults: each fault must make the cases named here fail."""

import socket

import pytest

from runner import faults, wire
from runner.cases import http_cases
from runner.exchange import perform
from runner.wire import WireError
from runner.wrong_server import WrongServer

CAUGHT_BY = {
    "status 403 for 404": ["the method POST gets 404"],
    "reason phrase of one's own": ["GET gets the content"],
    "no date": ["GET gets the content", "not modified by tag", "the method POST gets 404"],
    "a date that stands still": ["GET gets the content", "a refusal is one response"],
    "a server field": ["GET gets the content", "the method POST gets 404"],
    "names in capitals": ["GET gets the content"],
    "fields in another order": ["GET gets the content", "a part has its own fields"],
    "answers HTTP 1.0 in kind": ["HTTP 1.0 ends and is answered as HTTP 1.1"],
    "content-length one too small": ["GET gets the content", "HEAD gets the head alone", "br is chosen"],
    "a newline after a short body": ["the method POST gets 404", "a refusal is one response"],
    "a tag that is not of the content": ["GET gets the content", "not modified by tag", "HEAD gets the head alone"],
    "a modification time of its own": ["GET gets the content", "not modified by tag"],
    "a body with 304": ["not modified by tag"],
    "content-length with 304": ["not modified by tag"],
    "no allow with 404": ["the method POST gets 404"],
    "another media type": ["GET gets the content", "a part has its own fields"],
    "bytes of another content": ["GET gets the content", "a part has its own fields", "the method POST gets 404"],
    "two dates": ["GET gets the content"],
    "chunked responses": ["GET gets the content"],
    "keep-alive for all": ["HTTP 1.1 persists"],
    "100 before the response": ["an expectation is not answered with 100"],
    "content-range of the wrong length": ["a part has its own fields"],
    "swapped responses": ["responses come in the order of the requests"],
    "leaves out content-encoding": ["br is chosen"],
}
CASES = {case.name: case for case in http_cases()}


@pytest.fixture(autouse=True)
def little_patience(monkeypatch):
    monkeypatch.setattr(wire, "PATIENCE", 2.0)


@pytest.mark.parametrize("name", sorted({name for names in CAUGHT_BY.values() for name in names}))
def test_right_server_passes(name):
    with WrongServer(CASES[name].set) as server:
        perform(server.address, CASES[name])


@pytest.mark.parametrize(("fault", "name"), [(fault, name) for fault, names in CAUGHT_BY.items() for name in names])
def test_fault_is_caught(fault, name):
    with WrongServer(CASES[name].set, fault) as server, pytest.raises(WireError):
        perform(server.address, CASES[name])


def test_every_fault_is_caught_by_a_case():
    assert set(faults.ALL) == set(CAUGHT_BY)


def test_a_reset_that_sending_met_is_a_reset():
    """The kernel says so only to the first system call after it, and that the peer has ended its side to all others."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        connection = wire.Connection(listener.getsockname())
    connection.send(b"GET / HTTP/1.1\r\n\r\n")
    with pytest.raises(WireError, match="reset"):
        connection.response()
