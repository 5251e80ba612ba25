"""make soak: one fault after another while clients make requests. Two minutes, 20 s with QUICK=1."""

import contextlib
import os
import subprocess
import time

import pytest

from runner.seen import about, write
from runner.troubles_system import TROUBLES
from runner.twin import Server
from runner.witness import Witness

pytestmark = pytest.mark.soak
QUICK = os.environ.get("QUICK") == "1"
CONTENT = b"Hello, world!\n" * 100


class Run:
    """One fault against one program: the server it started, its clients, and the promises that were broken."""

    seconds = 0.4 if QUICK else 4
    resets = 1000 if QUICK else 10000

    def __init__(self, twin, stack):
        self.twin, self.stack, self.witnesses, self.broken = twin, stack, [], []

    def start(self, *args, content=CONTENT, **options):
        """A kcup with an admin listener, which uses IPv6 to be told from the public one."""
        args = ["--file", "content", "--compression", "off", "--admin", "[::1]:0", *args]
        return self.stack.enter_context(Server(self.twin, args, files=[("content", content, None)], **options))

    def asking(self, server, contents=(CONTENT,)):
        self.witnesses.append(Witness(server.address, contents))
        return self.witnesses[-1]

    def last(self, part=1.0):
        """Waits for this part of the fault's time."""
        time.sleep(part * self.seconds)

    def rounds(self, between):
        """Counts rounds for the duration of the fault."""
        began, number = time.monotonic(), 0
        while number == 0 or time.monotonic() - began < self.seconds:
            yield number
            number += 1
            time.sleep(between)

    def promise(self, kept, what):
        if not kept:
            self.broken.append(what)

    def answered(self):
        return sum(witness.answered for witness in self.witnesses)

    def failed(self):
        return sum(len(witness.broken()) for witness in self.witnesses)

    def ends_well(self, server):
        """Checks that the server is alive and that its drain is soon over."""
        status = server.process.poll()
        self.promise(status is None, f"it had ended with status {status}: {server.stderr()[-200:]!r}")
        if status is None:
            server.signal()
            status = server.wait(10)
            self.promise(status == 0, f"the drain ended with status {status}: {server.stderr()[-200:]!r}")


@pytest.fixture(scope="module")
def rows(request):
    """What every case saw; written for docs/reliability.md if none was left out."""
    twins = request.config.twins
    told, seen = about(twins), []
    yield seen
    write("soak", {**told, "rows": seen}, len(seen) == len(twins) * len(TROUBLES) and not QUICK)


@pytest.mark.parametrize("fault", TROUBLES)
def test_a_fault(fault, twin, rows):
    row = {"fault": fault, "twin": twin.name}
    rows.append(row)
    with contextlib.ExitStack() as stack:
        run = Run(twin, stack)
        try:
            row["happened"] = TROUBLES[fault](run)
        except pytest.skip.Exception as reason:
            row["happened"] = f"skipped: {reason}"
            raise
        except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
            row["happened"] = "a promise was broken"
            run.broken.append(f"{type(error).__name__}: {error}")
    row |= {"answered": run.answered(), "failed": run.failed()}
    broken = run.broken + [line for witness in run.witnesses for line in sorted(set(witness.broken()))]
    assert not broken
