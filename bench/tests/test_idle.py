"""Making requests on all connections again ends, whatever the server does."""

import contextlib
import socket
import time

import idle


def test_a_server_that_answers_none_is_not_waited_for_once_for_each(monkeypatch):
    monkeypatch.setattr(idle, "ALL_AGAIN_SECONDS", 0.3)
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        connections = [stack.enter_context(socket.create_connection(listener.getsockname())) for _ in range(5)]
        began = time.monotonic()
        assert idle.answering_again(connections) == 0
        assert time.monotonic() - began < 5 * 0.3


def test_who_answers_is_counted(monkeypatch):
    monkeypatch.setattr(idle, "ALL_AGAIN_SECONDS", 0.3)
    with contextlib.ExitStack() as stack:
        pairs = [socket.socketpair() for _ in range(3)]
        for ends in pairs:
            for end in ends:
                stack.enter_context(end)
        for _, server in pairs[:2]:
            server.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + idle.CONTENT)
        assert idle.answering_again([client for client, _ in pairs]) == 2
