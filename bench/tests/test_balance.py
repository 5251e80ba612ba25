"""Connections are counted where an event loop watches them, and not elsewhere."""

import contextlib
import os
import select
import socket

import balance


def test_connections_are_counted_for_each_loop():
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = listener.getsockname()[1]
        loops = [stack.enter_context(select.epoll()) for _ in range(2)]
        # The listener is no connection.
        loops[1].register(listener)
        for loop in (loops[0], loops[0], loops[0], loops[1]):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            accepted, _ = listener.accept()
            loop.register(stack.enter_context(accepted))
        assert sorted(balance.connections_of_loops(os.getpid(), balance.connections_to(port))) == [1, 3]
        assert balance.busiest([os.getpid()], port, 2) == 1.5


def test_without_connections_no_loop_is_the_busiest():
    assert balance.busiest([os.getpid()], 1, 2) is None
