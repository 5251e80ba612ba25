"""One connection, by raw socket. Deadlines here only keep a broken server from hanging the suite."""

import contextlib
import socket
import time

from .answers import HEAD_LIMIT, WireError, body_length, parse_head

PATIENCE = 15.0
GONE = (BrokenPipeError, ConnectionResetError)


def family_of(address):
    """A host and a port, or the path of a unix socket."""
    if isinstance(address, str):
        return socket.AF_UNIX
    return socket.AF_INET6 if ":" in address[0] else socket.AF_INET


class Connection:
    """A small receive buffer lets little come at once; small segments, as they are on a real network, let it come even
    into a small window without a timer of the kernel."""

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
        self.pending = b""
        self.asked = time.time()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data, piece=None):
        """Send all, or as much as a peer that refuses takes; in pieces of so many bytes when given."""
        self.asked = time.time()
        with contextlib.suppress(*GONE):
            for start in range(0, len(data), piece or max(1, len(data))):
                self.socket.sendall(data[start : start + (piece or len(data))])

    def half_close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def receive(self, limit=65536):
        """Bytes, or nothing at the peer's end."""
        if self.pending:
            data, self.pending = self.pending[:limit], self.pending[limit:]
            return data
        try:
            return self.socket.recv(limit)
        except TimeoutError:
            raise WireError(f"nothing came for {PATIENCE:.0f} seconds") from None
        except ConnectionResetError:
            raise WireError("the connection was reset") from None

    def answer(self, bodyless=False):
        """The next answer, whole."""
        head = b""
        while b"\r\n\r\n" not in head:
            data = self.receive()
            if not data:
                raise WireError(f"closed before an answer was over: {head!r}")
            head += data
            if len(head) > HEAD_LIMIT and b"\r\n\r\n" not in head:
                raise WireError("a head without end")
        head, rest = head[: (end := head.index(b"\r\n\r\n") + 4)], head[end:]
        answer = parse_head(head)
        length = body_length(answer, bodyless)
        self.pending = rest + self.pending
        answer.body = self.exactly(length)
        answer.asked, answer.ended = self.asked, time.time()
        return answer

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
        """The peer ends its side and has sent nothing more."""
        data = self.receive()
        if data:
            raise WireError(f"bytes after what should be the last answer: {data[:200]!r}")

    def expect_open(self):
        """The connection still serves: another request is answered, and nothing comes before that answer."""
        self.send(b"GET / HTTP/1.1\r\nHost: probe\r\n\r\n")
        if self.answer().status not in (200, 404):
            raise WireError("a probe on the same connection was refused")
