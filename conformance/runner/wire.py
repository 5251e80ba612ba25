"""A client connection on a raw socket. Its timeouts only keep a broken server from hanging the suite."""

import contextlib
import socket
import time

from .responses import HEAD_LIMIT, WireError, body_length, parse_head

PATIENCE = 15.0
GONE = (BrokenPipeError, ConnectionResetError)


def family_of(address):
    """An address is a host and a port, or the path of a unix socket."""
    if isinstance(address, str):
        return socket.AF_UNIX
    return socket.AF_INET6 if ":" in address[0] else socket.AF_INET


class TimedOut(WireError):
    """Nothing was received within PATIENCE seconds."""


class Connection:
    """A connection, maybe with a small receive buffer, so that little arrives at once, and with small segments, as on a
    real network, which arrive even in a small window without waiting for a timer of the kernel."""

    def __init__(self, address, receive_buffer=None, segment=None):
        self.socket = socket.socket(family_of(address), socket.SOCK_STREAM)
        if segment:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, segment)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(address)
        if self.socket.family != socket.AF_UNIX:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pending, self.was_reset = b"", False
        self.asked = time.time()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data, piece=None):
        """Sends everything, or as much as the peer takes before it resets; in pieces of this many bytes if given."""
        self.asked = time.time()
        try:
            for start in range(0, len(data), piece or max(1, len(data))):
                self.socket.sendall(data[start : start + (piece or len(data))])
        except ConnectionResetError:
            self.was_reset = True  # the kernel says so once, and that the peer has ended its side from then on
        except BrokenPipeError:
            pass

    def half_close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def receive(self, limit=65536):
        """The next bytes; empty once the peer has ended its side."""
        if self.pending:
            data, self.pending = self.pending[:limit], self.pending[limit:]
            return data
        try:
            data = self.socket.recv(limit)
        except TimeoutError:
            raise TimedOut(f"nothing came for {PATIENCE:.0f} seconds") from None
        except ConnectionResetError:
            raise WireError("the connection was reset") from None
        if self.was_reset and not data:
            raise WireError("the connection was reset")
        return data

    def response(self, bodyless=False):
        """The next response, whole."""
        head = b""
        while b"\r\n\r\n" not in head:
            data = self.receive()
            if not data:
                raise WireError(f"closed before a response was over: {head!r}")
            head += data
            if len(head) > HEAD_LIMIT and b"\r\n\r\n" not in head:
                raise WireError("a head without end")
        head, rest = head[: (end := head.index(b"\r\n\r\n") + 4)], head[end:]
        response = parse_head(head)
        length = body_length(response, bodyless)
        self.pending = rest + self.pending
        response.body = self.exactly(length)
        response.asked, response.ended = self.asked, time.time()
        return response

    def exactly(self, length):
        body = b""
        chunks = []
        missing = length
        while missing:
            data = self.receive(min(missing, 1 << 20))
            if not data:
                raise WireError(f"the body ends {missing} bytes early")
            chunks.append(data)
            missing -= len(data)
        return body.join(chunks)

    def expect_end(self):
        """Fails unless the peer ends its side without sending anything more."""
        data = self.receive()
        if data:
            raise WireError(f"bytes after what should be the last response: {data[:200]!r}")

    def expect_open(self):
        """Fails unless the next bytes on this connection are the response to another request."""
        self.send(b"GET / HTTP/1.1\r\nHost: probe\r\n\r\n")
        if self.response().status in (400, 414, 431, 505):
            raise WireError("a probe on the same connection was refused")
