"""make soak: one fault after the other while a witness asks. Two minutes, 20 s with QUICK=1; words choose faults."""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runner.troubles_system import TROUBLES
from runner.twin import Server, Twin
from runner.witness import Witness

ROOT = Path(__file__).resolve().parent.parent
QUICK = os.environ.get("QUICK") == "1"
CONTENT = b"Hello, world!\n" * 100


class Run:
    """One fault against one twin: what it started, who asked, which promises were broken."""

    seconds = 0.4 if QUICK else 4
    resets = 1000 if QUICK else 10000

    def __init__(self, twin, stack):
        self.twin, self.stack, self.witnesses, self.broken = twin, stack, [], []

    def start(self, *args, content=CONTENT, **options):
        """A kcup with an admin listener, which IPv6 tells from the other."""
        args = ["--file", "content", "--compression", "off", "--admin", "[::1]:0", *args]
        return self.stack.enter_context(Server(self.twin, args, files=[("content", content, None)], **options))

    def asking(self, server, contents=(CONTENT,)):
        self.witnesses.append(Witness(server.address, contents))
        return self.witnesses[-1]

    def last(self, part=1.0):
        """The fault lasts, for this part of its time."""
        time.sleep(part * self.seconds)

    def rounds(self, between):
        """Numbers, as long as the fault is to last."""
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
        """Alive until now, and a drain that is soon over."""
        status = server.process.poll()
        self.promise(status is None, f"it had ended with status {status}: {server.stderr()[-200:]!r}")
        if status is None:
            server.signal()
            status = server.wait(10)
            self.promise(status == 0, f"the drain ended with status {status}: {server.stderr()[-200:]!r}")


def endure(name, twin):
    """The row of a fault: what happened, how many requests were answered, how many failed; and what was broken."""
    with contextlib.ExitStack() as stack:
        run = Run(twin, stack)
        try:
            happened = TROUBLES[name](run)
        except pytest.skip.Exception as reason:
            return (f"skipped: {reason}", "", ""), []
        except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
            happened = "a promise was broken"
            run.broken.append(f"{type(error).__name__}: {error}")
    broken = run.broken + [line for witness in run.witnesses for line in sorted(set(witness.broken()))]
    return (happened, run.answered(), run.failed()), broken


def progress(text):
    """One line that is written over; nothing where nobody watches."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def table(rows):
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def main():
    names = [name for name in TROUBLES if all(word in name for word in sys.argv[1:])]
    rows, all_broken = [("fault", "", "what happened", "answered", "failed")], []
    for number, name in enumerate(names, 1):
        for twin in (Twin(name, ROOT / "bin" / f"kcup-{name}") for name in ("rust", "go")):
            progress(f"{number} of {len(names)}: {name}, kcup-{twin.name}")
            row, broken = endure(name, twin)
            rows.append((name, f"kcup-{twin.name}", *row))
            all_broken += [f"{name}, kcup-{twin.name}: {line}" for line in broken]
    progress("")
    table(rows)
    for line in all_broken:
        print(f"broken: {line}")
    sys.exit(bool(all_broken))


if __name__ == "__main__":
    main()
