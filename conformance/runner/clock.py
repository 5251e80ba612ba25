"""Experiments that wait for a clock of the server: run together, and without blaming the server for a busy machine."""

import select
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from .twin import Server

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
STALL = 0.2  # seconds: when a thread of ours wakes this late, an experiment's own pauses are not what they should be
TOLERANCE = 2 * STALL + 0.05  # at most: a slower machine cannot decide whether the server was late
ATTEMPTS = 5
EXPERIMENTS = {}  # for each module, its experiments by name


@dataclass
class Span:
    """Seconds until the end was seen: `longest` from before the server's clock was started, `shortest` from after."""

    longest: float
    shortest: float


class Metronome:
    """Measures how late a sleeping thread of this process wakes up, and so how busy the machine is."""

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


@dataclass(frozen=True)
class Experiment:
    """A function that returns a Span between `earliest` and `latest` seconds long, or only has to succeed."""

    function: object
    numbers: tuple
    has_span: bool
    earliest: float
    latest: float

    def is_late(self, span):
        return self.has_span and span.shortest > self.latest

    def run(self, twin, metronome):
        """The span, and how late this process woke up at worst in the meantime.

        A failure, or a span that is too long, counts only if this process was never kept waiting for STALL seconds
        during the attempt, or if the attempt was the last. Otherwise the experiment is repeated.
        """
        for attempt in range(1, ATTEMPTS + 1):
            began, span, failure = time.monotonic(), None, None
            try:
                span = self.function(twin)
            except AssertionError as error:
                failure = error
            worst = metronome.worst(began)
            counts = worst < STALL or attempt == ATTEMPTS
            if failure and counts:
                raise failure
            if not failure and (counts or not self.is_late(span)):
                return span, worst
        raise AssertionError("not reached: the last attempt counts")

    def check(self, span, worst):
        """The span was neither too short nor, as far as this machine can tell, too long."""
        if not self.has_span:
            return
        assert span.longest >= self.earliest, f"ended after {span.longest:.3f} s, before its time"
        if self.is_late(span):
            tolerance = 2 * worst + 0.05
            late = f"ended after {span.shortest:.3f} s"
            assert tolerance <= TOLERANCE, f"{late}, but this machine was too slow to tell: we woke {worst:.3f} s late"
            assert span.shortest <= self.latest + tolerance, f"{late} (tolerance {tolerance:.3f} s)"


def experiment(*numbers, span=True, limit=1.0, late=1.0):
    """Registers an experiment for these numbers of SPEC. With `span`, it returns a Span that ends neither before the
    limit nor more than `late` seconds after it (K-83)."""

    def register(function):
        new = Experiment(function, numbers, span, limit, limit + late)
        EXPERIMENTS.setdefault(function.__module__, {})[function.__name__] = new
        return function

    assert numbers
    return register


def experiments(module):
    """The names and numbers of a module's experiments, as the parameters of a test."""
    return [pytest.param(name, marks=pytest.mark.spec(*one.numbers)) for name, one in EXPERIMENTS[module].items()]


def run_together(module, twins):
    """Starts all experiments of a module on all twins at once: a future for each twin and name."""
    metronome = Metronome()
    jobs = [(twin, name, one) for twin in twins for name, one in EXPERIMENTS[module].items()]
    with ThreadPoolExecutor(len(jobs)) as pool:
        return {(twin.name, name): pool.submit(one.run, twin, metronome) for twin, name, one in jobs}


def hold_to_limit(module, name, outcome):
    """Fails as the experiment did, or if its span is too short or too long."""
    EXPERIMENTS[module][name].check(*outcome.result())


def limited(twin, *which, content=b"Hello\n", args=()):
    """A server with these limits set to one second, and all others to 100."""
    names = ["header", "idle", "write", "shutdown"]
    limits = [a for n in names for a in (f"--{n}-timeout-seconds", "1" if n in which else "100")]
    return Server(twin, [*limits, *args, "--file", "a"], files=[("a", content, 784111777)])


def measure(connection, start):
    """Starts the server's clock and waits for the end of the connection, without a response."""
    before = time.monotonic()
    start()
    after = time.monotonic()
    connection.expect_end()
    now = time.monotonic()
    return Span(now - before, now - after)


def answered(connection):
    connection.send(GET)
    assert connection.response().status == 200


def measure_since(connection, before):
    after = time.monotonic()
    connection.expect_end()
    return Span(time.monotonic() - before, time.monotonic() - after)


def until_reset(connection, before, after):
    """Waits for a reset, which poll(2) reports without reading."""
    poll = select.poll()
    poll.register(connection.socket, 0)
    assert poll.poll(20000), "never reset"
    return Span(time.monotonic() - before, time.monotonic() - after)
