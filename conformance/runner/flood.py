"""Clients, in their own process, that send and read as fast as they can; and what they receive while another waits."""

import contextlib
import multiprocessing
import os
import selectors
import socket
import statistics
import time

from .peers import GET, MIB
from .process import until
from .wire import GONE, Connection

PATIENCE = 10
FORK = multiprocessing.get_context("fork")


class Flood:
    """This many connections that send requests without end. `taken` counts the bytes of all responses."""

    def __init__(self, address, connections, pipelined):
        self.address, self.connections, self.pipelined = address, connections, pipelined
        self.counter = FORK.Value("Q", 0, lock=False)
        self.process = FORK.Process(target=self.work, daemon=True)

    @property
    def taken(self):
        return self.counter.value

    def __enter__(self):
        self.process.start()
        until(lambda: self.taken > 0)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.join()

    def work(self):
        requests, waste = memoryview(GET * self.pipelined), bytearray(16 * MIB)
        with contextlib.suppress(*GONE), selectors.DefaultSelector() as selector:
            for _ in range(self.connections):
                taken = Connection(self.address).socket
                taken.setblocking(False)
                selector.register(taken, selectors.EVENT_READ | selectors.EVENT_WRITE, [0])
            while True:
                for key, _ in selector.select():
                    with contextlib.suppress(BlockingIOError):
                        sent = key.fileobj.send(requests[key.data[0] :])
                        key.data[0] = (key.data[0] + sent) % len(requests)
                    with contextlib.suppress(BlockingIOError):
                        # Discarded within the kernel, so that the server is slower than the client.
                        self.counter.value += key.fileobj.recv_into(waste, 0, socket.MSG_TRUNC)
        os._exit(0)


def newcomers(address, flood, count, request):
    """For each of this many new connections: the bytes that others received before its response, and the seconds."""
    passed, took = [], []
    while len(passed) < count and (len(took) < 3 or sum(took) < PATIENCE):
        with Connection(address) as connection:
            before, began = flood.taken, time.monotonic()
            connection.send(request)
            connection.receive(1)
            passed.append(flood.taken - before)
            took.append(time.monotonic() - began)
    return statistics.median(passed), statistics.median(took), max(took)
