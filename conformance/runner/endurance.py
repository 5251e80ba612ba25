"""A long run: load and faults at the same time, a quiet moment each minute, and samples of what must not grow."""

import contextlib
import json
import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from .aimed import Faults, Target
from .cgroup import memory_group
from .metrics import ACCEPTED, CLOSED, HOT, PARKED, reloads, scrape
from .mixed_load import MixedLoad
from .process import until
from .slope import MIB
from .twin import Server
from .witness import CONNECTIONS, Witness
from .worker import Worker, now

CONTENTS = [(b"Hello, world %d!\n" % size) * (size // 16) for size in (70, 1400, 20_000, 150_000, 600_000, 3_000_000)]
ARGS = ["--file", "content", "--admin", "[::1]:0", "--access-log", "common", "--reload-interval-seconds", "1"]
LIMIT = 512 * MIB
INTERVAL, CYCLE = 5.0, 60.0
# Shares of one CPU for the clients; the server takes a similar share.
LOAD_SHARE, FAULT_SHARE = 0.2, 0.1


def endure(twin, seconds, directory):
    """Everything seen of one program; the samples are also written to a file during the run."""
    with contextlib.ExitStack() as stack:
        group = own_group(stack)
        files = [("content", CONTENTS[0], None)]
        server = stack.enter_context(Server(twin, ARGS, files=files, preexec_fn=group.enter if group else None))
        reader = subprocess.Popen(["cat"], stdin=server.process.stdout, stdout=subprocess.DEVNULL)
        stack.callback(reader.wait)
        stack.callback(reader.terminate)
        place = server.directory / "content"
        target = Target(server.process.pid, reader.pid, server.address, server.admin, place, CONTENTS)
        load = Worker(MixedLoad(server.address, CONTENTS, random.Random(1)).turns, LOAD_SHARE)
        faults = Worker(Faults(target, random.Random(2)).turns, FAULT_SHARE)
        run = Run(server, target, group, load, faults)
        with open(directory / f"{twin.name}.jsonl", "w", buffering=1) as file, load, faults:
            with Witness(server.address, CONTENTS, pause=0.02) as run.witness:
                run.go_on(seconds, file)
        return run.outcome()


def own_group(stack):
    """A memory cgroup, or None if none can be made."""
    try:
        return stack.enter_context(memory_group(LIMIT))
    except pytest.skip.Exception:
        return None


class Run:
    def __init__(self, server, target, group, load, faults):
        self.server, self.target, self.group, self.load, self.faults = server, target, group, load, faults
        self.witness, self.samples, self.problems = None, [], []

    def go_on(self, seconds, file):
        began = time.monotonic()
        cycle = min(CYCLE, seconds / 20)
        due = cycle
        while (passed := time.monotonic() - began) < seconds:
            quiet = passed >= due
            if quiet:
                due += cycle
                with self.load.lock, self.faults.lock:
                    self.calm_down()
                    self.sample(began, quiet, file)
            else:
                time.sleep(max(0, min(INTERVAL, due - passed, seconds - passed)))
                self.sample(began, quiet, file)

    def calm_down(self):
        """Restores the content of quiet moments, and waits until only the witness is connected."""
        try:
            self.target.put(CONTENTS[1])
            until(lambda: (numbers := scrape(self.server))[HOT] + numbers[PARKED] == CONNECTIONS)
        except (AssertionError, OSError) as error:
            self.problems.append(f"{now()}: it does not calm down: {error}")
        time.sleep(1)

    def sample(self, began, quiet, file):
        status = self.server.process.poll()
        assert status is None, (
            f"kcup-{self.server.twin.name} has ended with status {status}: {self.server.stderr()[-500:]}"
        )
        took, self.witness.took = sorted(self.witness.took), []
        new = self.load.new_problems() + self.faults.new_problems()
        self.problems += new
        seen = {
            "seconds": round(time.monotonic() - began, 1),
            "quiet": int(quiet),
            **of_process(self.server.process.pid),
            "group": used(self.group),
            "cpu": round(self.server.cpu_seconds(), 2),
            "machine": os.getloadavg()[0],
            "p50": milliseconds(took, 0.5),
            "p99": milliseconds(took, 0.99),
            "answered": self.answered(),
            "failed": self.failed(),
        }
        self.samples.append(seen)
        file.write(json.dumps({**seen, "new_problems": new}) + "\n")

    def answered(self):
        return self.witness.answered + self.load.answered.value + self.faults.answered.value

    def failed(self):
        return len(self.problems) + len(self.witness.failed) + self.witness.reopened

    def outcome(self):
        """The end of the run, after all clients have stopped."""
        until(lambda: (last := scrape(self.server))[HOT] + last[PARKED] == 0)
        numbers = scrape(self.server)
        self.server.signal()
        return {
            "samples": self.samples,
            "turns": self.faults.turns_done.value,
            "accepted": numbers[ACCEPTED],
            "closed": sum(value for key, value in numbers.items() if key.startswith(CLOSED)),
            "reloads": {result: numbers[reloads(result)] for result in ("ok", "failed")},
            "status": self.server.wait(),
            "problems": (self.problems + self.witness.broken())[:100],
        }


def of_process(pid):
    rollup = dict(line.split(":") for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    return {
        "resident": int(rollup["Rss"].split()[0]) * 1024,
        "anonymous": int(rollup["Anonymous"].split()[0]) * 1024,
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "threads": len(os.listdir(f"/proc/{pid}/task")),
    }


def used(group):
    """Bytes charged to the group, including the kernel's, without pages of files, which it may drop."""
    if group is None:
        return None
    stat = dict(line.split() for line in (group.path / "memory.stat").read_text().splitlines())
    return group.used() - int(stat.get("cache", stat.get("file"))) + int(stat["shmem"])


def milliseconds(took, part):
    return round(1000 * took[min(len(took) - 1, int(part * len(took)))], 2) if took else None
