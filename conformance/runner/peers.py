"""Peers of every kind: silent, not reading, or active; and how the end of a connection is noticed."""

import select
import socket
import time

from .process import PATIENCE, has_read_all, until
from .responses import WireError
from .sockets import in_backlog
from .wire import GONE, Connection

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
HEAD = b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"
TAIL = bytes(range(256)) * 256  # fits into the kernel's buffer, but not into that of a peer with a small one
BIG = bytes(range(256)) * 65536
MIB = 1 << 20
ADMIN = ("--admin", "127.0.0.1:0")


def asked(address, method=GET):
    """A connection that has had a response."""
    connection = Connection(address)
    connection.send(method)
    assert connection.response(method is HEAD).status == 200
    return connection


def accepted(server, count):
    """This many connections without a request, after they have left the backlog."""
    connections = [Connection(server.address) for _ in range(count)]
    until(lambda: in_backlog(server) == 0, PATIENCE)
    return connections


def not_reading(server, count, request=GET):
    """This many connections that have sent a request and read nothing, each with the smallest possible window."""
    peers = [Connection(server.address, receive_buffer=4096) for _ in range(count)]
    for peer in peers:
        peer.send(request)
    if not isinstance(server.address, str):
        until(lambda: has_read_all(server, peers), PATIENCE)
    return peers


def still_served(peers):
    """The connections that get the rest of their response, and another one."""
    return [peer for peer in peers if is_served(peer)]


def is_served(peer, method=HEAD):
    try:
        peer.response()
        peer.send(method)
        return peer.response(method is HEAD).status == 200
    except (WireError, *GONE):
        return False


def is_open(connection):
    connection.socket.setblocking(False)
    try:
        return connection.socket.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False
    finally:
        connection.socket.settimeout(15)


def is_reset(connection):
    """Whether poll(2) reports a reset, even if there is unread data before it."""
    poll = select.poll()
    poll.register(connection.socket, 0)
    return bool(poll.poll(0))


def ends(connection):
    """Waits until the peer has ended or reset the connection. Returns how long that took."""
    began = time.monotonic()
    try:
        data = connection.socket.recv(1)
        assert data == b"", "a response, and no end"
    except ConnectionResetError:
        pass
    return time.monotonic() - began


def served_within(address, limit, method=HEAD):
    """A new connection that has had a response within this time."""
    began = time.monotonic()
    connection = asked(address, method)
    took = time.monotonic() - began
    assert took <= limit, f"answered after {took:.2f} s"
    return connection
