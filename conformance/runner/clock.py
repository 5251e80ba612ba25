"""Experiments with time: how they are registered, and how a span is measured so that a busy machine is not blamed."""

import select
import threading
import time
from dataclasses import dataclass

from .twin import Server

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
STALL = 0.2  # so late a thread of ours, and the pauses of an experiment are not what they should be
EXPERIMENTS = {}


@dataclass
class Span:
    """From before the start was caused to when the end was seen; and from when it was surely caused."""

    longest: float
    shortest: float


class Metronome:
    """How late a sleeping thread of this process wakes: what this machine took from us."""

    def __init__(self):
        self.beats = []
        self.thread = threading.Thread(target=self.beat, daemon=True)
        self.thread.start()

    def beat(self):
        while True:
            due = time.monotonic() + 0.01
            time.sleep(0.01)
            now = time.monotonic()
            self.beats.append((now, now - due))

    def worst(self, since):
        return max((late for when, late in self.beats if when >= since), default=0.0)


def attempt(function, twin, metronome):
    """The outcome, and how late we were at worst meanwhile. A failure while we were kept from running is none."""
    for last in (False, False, False, False, True):
        began = time.monotonic()
        try:
            return function(twin), metronome.worst(began)
        except AssertionError:
            if last or metronome.worst(began) < STALL:
                raise
    raise AssertionError("not reached")


def experiment(*ids, span=True):
    """Register one. With span it returns a Span that K-83 bounds; without, it only has to return."""

    def register(function):
        EXPERIMENTS[function.__name__] = (function, span)
        return function

    assert ids
    return register


def limited(twin, *which, content=b"Hello\n"):
    """A server of which only these limits are a second; all others are far away."""
    names = ["header", "idle", "write", "shutdown"]
    args = [a for n in names for a in (f"--{n}-timeout-seconds", "1" if n in which else "100")]
    return Server(twin, [*args, "--file", "a"], files=[("a", content, 784111777)])


def measure(connection, start):
    """Cause the start, wait for the end without an answer."""
    before = time.monotonic()
    start()
    after = time.monotonic()
    connection.expect_end()
    now = time.monotonic()
    return Span(now - before, now - after)


def answered(connection):
    connection.send(GET)
    assert connection.answer().status == 200


def measure_since(connection, before):
    after = time.monotonic()
    connection.expect_end()
    return Span(time.monotonic() - before, time.monotonic() - after)


def until_reset(connection, before, after):
    """A reset shows without reading."""
    poll = select.poll()
    poll.register(connection.socket, 0)
    assert poll.poll(20000), "never reset"
    return Span(time.monotonic() - before, time.monotonic() - after)
