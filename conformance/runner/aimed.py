"""Faults for a server that keeps running: turns of at most a few seconds, one after another."""

import contextlib
import os
import signal
import socket
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

from .metrics import ask, page
from .mixed_load import request
from .process import until
from .reload import GET, WAYS, become, clear, get
from .responses import WireError
from .wire import Connection

WRONG = [{"content": ""}, {"absent": True}, {"directory": True}, {"fifo": True}, {"link": "/etc/passwd"}]
PAGE = 4096
STAYS = 1.5  # seconds, for faults that only wait


@dataclass(frozen=True)
class Target:
    """A running server, as seen by a process that did not start it."""

    pid: int
    log_reader: int
    address: tuple
    admin: tuple
    file: Path
    contents: list

    def signal(self, number=signal.SIGHUP):
        os.kill(self.pid, number)

    def put(self, content, way=WAYS[0]):
        """Makes the server serve this from now on, whatever it served before."""
        if not self.file.is_file() or self.file.is_symlink():
            clear(self.file)
            self.file.touch()
        way(self.file, content)
        self.signal()
        until(lambda: get(self.address).body == content)


class Faults:
    """`turns` do harm, check that the server keeps its promises to such a peer, and return how many responses they
    saw."""

    def __init__(self, target: Target, chance: Random):
        self.target, self.chance = target, chance
        self.turns = [
            *(self.reloads, self.unread, self.resets, self.trickle, self.wrong_files, self.crowd, self.garbage),
            *(self.scrapes, self.storm, self.log_is_not_read, self.unread_pipelines, self.pause, self.half_ended),
        ]

    def many(self, stack, count, **options):
        return [stack.enter_context(Connection(self.target.address, **options)) for _ in range(count)]

    def reloads(self):
        """Content of every size, replaced in every way that takes one step. A signal of the previous turn may be
        handled during a longer write in place, which may pause long enough for half of it to be loaded (K-103)."""
        for content in self.chance.sample(self.target.contents, len(self.target.contents)):
            self.target.put(content, self.chance.choice(WAYS[:3]) if len(content) <= PAGE else WAYS[0])
        return len(self.target.contents)

    def wrong_files(self):
        for state in WRONG:
            become(self.target.file, state)
            self.target.signal()
            time.sleep(0.2)
        self.target.put(self.chance.choice(self.target.contents))
        return 1

    def storm(self):
        for number in range(10):
            WAYS[0](self.target.file, self.target.contents[number % 3])
            for _ in range(20):
                self.target.signal()
        self.target.put(self.target.contents[0])
        return 1

    def unread(self):
        """Peers that request a lot and read none of it."""
        self.target.put(max(self.target.contents, key=len))
        with contextlib.ExitStack() as stack:
            for peer in self.many(stack, 40, receive_buffer=4096):
                peer.send(GET * 2)
            time.sleep(STAYS)
        return 1

    def unread_pipelines(self):
        with contextlib.ExitStack() as stack:
            for peer in self.many(stack, 20, receive_buffer=4096):
                peer.socket.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    peer.socket.send(GET * 500)
            time.sleep(STAYS)
        return 0

    def resets(self):
        for number in range(200):
            with Connection(self.target.address) as connection:
                connection.send([b"", GET[:9], GET, GET * 3][number % 4])
                if number % 8 < 4:
                    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return 0

    def trickle(self):
        """Heads byte by byte, half of which never end."""
        with contextlib.ExitStack() as stack:
            peers = self.many(stack, 40)
            for place in range(len(GET)):
                for peer in peers if place < 20 else peers[::2]:
                    peer.send(GET[place : place + 1])
                time.sleep(0.02)
            return sum(peer.response().status == 200 for peer in peers[::2])

    def crowd(self):
        """Silent peers, every second one after a request; all are still connected afterwards."""
        with contextlib.ExitStack() as stack:
            peers = self.many(stack, 300)
            for peer in peers[::2]:
                peer.send(request("HEAD"))
                peer.response(bodyless=True)
            time.sleep(STAYS)
            for peer in peers[::10]:
                peer.send(request("HEAD"))
                peer.response(bodyless=True)
        return 150 + 30

    def garbage(self):
        for number in range(60):
            with Connection(self.target.address) as connection:
                connection.send(
                    [b"", GET[:-2], b"GET / HTTP/1.1\r\n"][number % 3] + self.chance.randbytes(300) + b"\r\n\r\n"
                )
                connection.half_close()
                if not connection.receive().startswith((b"HTTP/1.1 4", b"HTTP/1.1 5")):
                    raise WireError("garbage was not refused")
        return 60

    def scrapes(self):
        silent = [socket.create_connection(self.target.admin) for _ in range(20)]
        for _ in range(10):
            page(self.target)
            if {ask(self.target.admin, path).status for path in ("/healthz", "/readyz")} != {200}:
                raise WireError("not ready, or not healthy")
        for peer in silent:
            peer.close()
        return 0

    def log_is_not_read(self):
        os.kill(self.target.log_reader, signal.SIGSTOP)
        try:
            time.sleep(STAYS)
        finally:
            os.kill(self.target.log_reader, signal.SIGCONT)
        return 0

    def pause(self):
        """Of the whole process, as when a laptop's lid is closed."""
        self.target.signal(signal.SIGSTOP)
        try:
            time.sleep(0.3)
        finally:
            self.target.signal(signal.SIGCONT)
        return 0

    def half_ended(self):
        """Peers that end their side after the request get their response all the same."""
        for _ in range(100):
            with Connection(self.target.address) as connection:
                connection.send(request("HEAD"))
                connection.half_close()
                connection.response(bodyless=True)
                connection.expect_end()
        return 100
