"""Experiments with time: how they are registered, and how a span is measured so that a busy machine is not blamed."""

import select
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from .twin import Server

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
STALL = 0.2  # so late a thread of ours, and the pauses of an experiment are not what they should be
TOLERANCE = 2 * STALL + 0.05  # never more: a machine that is slower cannot tell
EXPERIMENTS = {}  # by module, then by name: the function, between which seconds its span must be, and its numbers


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


def attempt(function, latest, twin, metronome):
    """The outcome, and how late we were at worst meanwhile. While we were kept from running what is wrong, or too late,
    is no outcome; what is right is one."""
    for last in (False, False, False, False, True):
        began = time.monotonic()
        try:
            outcome = function(twin)
        except AssertionError:
            if last or metronome.worst(began) < STALL:
                raise
        else:
            if last or not latest or outcome.shortest <= latest or metronome.worst(began) < STALL:
                return outcome, metronome.worst(began)
    raise AssertionError("not reached")


def experiment(*ids, span=True, limit=1.0, late=1.0):
    """Register one. With span it returns a Span, which ends neither before the limit nor more than `late` seconds after
    (K-83); without, it only has to return."""

    def register(function):
        EXPERIMENTS.setdefault(function.__module__, {})[function.__name__] = (
            function,
            (limit, limit + late) if span else None,
            ids,
        )
        return function

    assert ids
    return register


def experiments(module):
    """The names of a module's experiments and their numbers, for a test that is parametrised with them."""
    return [pytest.param(name, marks=pytest.mark.spec(*ids)) for name, (_, _, ids) in EXPERIMENTS[module].items()]


def run_together(module, twins):
    """All experiments of a module on all twins, started together; and the metronome that runs beside them."""
    metronome = Metronome()
    jobs = [
        (twin, name, function, bounds and bounds[1])
        for twin in twins
        for name, (function, bounds, _) in EXPERIMENTS[module].items()
    ]
    with ThreadPoolExecutor(len(jobs)) as pool:
        return {
            (twin.name, name): pool.submit(attempt, function, latest, twin, metronome)
            for twin, name, function, latest in jobs
        }


def hold_to_limit(module, name, outcome):
    """An experiment with a span ends neither before its time nor too long after; any other just succeeds."""
    span, worst = outcome.result()
    if bounds := EXPERIMENTS[module][name][1]:
        assert span.longest >= bounds[0], f"ended after {span.longest:.3f} s, before its time"
        if span.shortest > bounds[1]:
            tolerance = 2 * worst + 0.05
            late = f"ended after {span.shortest:.3f} s"
            assert tolerance <= TOLERANCE, f"{late}, but this machine was too slow to tell: we woke {worst:.3f} s late"
            assert span.shortest <= bounds[1] + tolerance, f"{late} (tolerance {tolerance:.3f} s)"


def limited(twin, *which, content=b"Hello\n", args=()):
    """A server of which only these limits are a second; all others are far away."""
    names = ["header", "idle", "write", "shutdown"]
    limits = [a for n in names for a in (f"--{n}-timeout-seconds", "1" if n in which else "100")]
    return Server(twin, [*limits, *args, "--file", "a"], files=[("a", content, 784111777)])


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
