"""What is measured, and how it is told: wrk, CPU time, memory of a cgroup, tables, results."""

import contextlib
import datetime
import json
import os
import platform
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from servers import PATH, ROOT, on_cpu, stop

QUICK = os.environ.get("QUICK") == "1"
KIB = 1024
UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}


@dataclass
class Load:
    """What wrk saw. Latencies in milliseconds."""

    requests: int
    requests_per_second: float
    p50: float
    p99: float
    errors: int


def wrk(port, threads, connections, seconds, cpu=None, tick=lambda elapsed: None):
    """Load 127.0.0.1 and read what wrk says; `tick` is called about twice a second."""
    command = [
        "wrk",
        f"-t{threads}",
        f"-c{connections}",
        f"-d{seconds}s",
        "--latency",
        f"http://127.0.0.1:{port}{PATH}",
    ]
    prepare = on_cpu(cpu) if cpu is not None else None
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=prepare,
    )
    began = time.monotonic()
    try:
        while True:
            tick(time.monotonic() - began)
            with contextlib.suppress(subprocess.TimeoutExpired):
                output, _ = process.communicate(timeout=0.5)
                return parse_wrk(output)
    finally:
        stop(process)


def parse_wrk(output):
    def number(pattern):
        found = re.search(pattern, output)
        return float(found[1]) if found else 0.0

    def latency(percentile):
        found = re.search(rf"{percentile}%\s+([\d.]+)(us|ms|s|m)\b", output)
        return float(found[1]) * UNITS[found[2]] if found else float("nan")

    if "requests in" not in output:
        raise SystemExit(f"wrk failed: {output.strip()}")
    socket_errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    errors = sum(map(int, socket_errors.groups())) if socket_errors else 0
    return Load(
        requests=int(number(r"(\d+) requests in")),
        requests_per_second=number(r"Requests/sec:\s+([\d.]+)"),
        p50=latency(50),
        p99=latency(99),
        errors=errors + int(number(r"Non-2xx or 3xx responses: (\d+)")),
    )


def cpu_seconds(pid):
    """User and system time of a process and all that descend from it."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
        for child in (task / "children").read_text().split():
            total += int(cpu_seconds(child) * 1e9)
    return total / 1e9


@dataclass(frozen=True)
class MemoryGroup:
    """A memory cgroup, of either version."""

    path: Path

    @classmethod
    def of(cls, pid):
        """The one that a process is in."""
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            number, controllers, path = line.split(":", 2)
            if "memory" in controllers.split(","):
                return cls(Path("/sys/fs/cgroup/memory") / path.lstrip("/"))
            if number == "0" and Path("/sys/fs/cgroup/cgroup.controllers").exists():
                return cls(Path("/sys/fs/cgroup") / path.lstrip("/"))
        raise SystemExit("no memory cgroup: is the engine on this machine?")

    @classmethod
    @contextlib.contextmanager
    def limited(cls, name, limit):
        """A fresh one with a limit in bytes, removed at the end. Needs root."""
        version_1 = Path("/sys/fs/cgroup/memory")
        group = cls((version_1 if version_1.is_dir() else Path("/sys/fs/cgroup")) / f"kcup-bench-{name}-{os.getpid()}")
        group.path.mkdir()
        try:
            limit_file = "memory.limit_in_bytes" if version_1.is_dir() else "memory.max"
            (group.path / limit_file).write_text(str(limit))
            yield group
        finally:
            # A process that has just ended is still counted for a moment.
            while (group.path / "cgroup.procs").read_text():
                time.sleep(0.01)
            group.path.rmdir()

    def enter(self):
        """For `prepare`: moves the process into the group."""
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def read(self, version_1, version_2):
        return next((self.path / name).read_text() for name in (version_1, version_2) if (self.path / name).exists())

    def used(self):
        return int(self.read("memory.usage_in_bytes", "memory.current"))

    def kills(self):
        """How often the kernel ended a process of the group for want of memory."""
        return int(re.search(r"oom_kill (\d+)", self.read("memory.oom_control", "memory.events"))[1])


def size_name(size):
    units = ((KIB * KIB, "MiB"), (KIB, "KiB"), (1, "B"))
    return next(f"{size // unit} {name}" for unit, name in units if size >= unit)


def median(values):
    return statistics.median(values)


def progress(text):
    """One line that is written over; nothing where nobody watches."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def table(header, rows):
    """Print aligned columns: the first to the left, numbers to the right."""
    progress("")
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for name, *numbers in cells:
        aligned = (cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True))
        print("  ".join([name.ljust(widths[0]), *aligned]))


def doubts():
    """Reasons to distrust what is measured on this machine now."""
    found = []
    if os.getloadavg()[0] > 0.3:
        found.append(f"the machine is not idle: load average {os.getloadavg()[0]:.2f}")
    if any(comm.read_text() == "dockerd\n" for comm in processes()):
        found.append("a Docker engine is running")
    if connections_are_tracked():
        found.append("connection tracking is on (iptables rules), every request on loopback pays for it")
    if (os.cpu_count() or 1) < 2:
        found.append("one CPU only: the load takes what the server needs")
    return found


def processes():
    for comm in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            comm.read_bytes()
            yield comm


def connections_are_tracked():
    """Whether a connection over loopback leaves an entry."""
    count = Path("/proc/sys/net/netfilter/nf_conntrack_count")
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        return count.exists() and int(count.read_text()) > 0


def require(*programs):
    if missing := [program for program in programs if not shutil.which(program)]:
        raise SystemExit(f"not installed: {', '.join(missing)} (apt-get install {' '.join(missing)})")


def machine():
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return {"cpu": model[1] if model else platform.machine(), "cpus": os.cpu_count(), "kernel": platform.release()}


def report(scenario, absent, results, warnings):
    """The raw data, beside every reason to distrust it."""
    for name, hint in absent.items():
        print(f"ABSENT, not measured: {name} ({hint})")
    for warning in warnings:
        print(f"distrust: {warning}")
    now = datetime.datetime.now(datetime.UTC)
    path = ROOT / "bench" / "results" / f"{now:%Y-%m-%dT%H%M%S}-{scenario}.json"
    path.parent.mkdir(exist_ok=True)
    data = {"scenario": scenario, "quick": QUICK, "machine": machine(), "distrust": warnings, "absent": absent}
    path.write_text(json.dumps({**data, "results": results}, indent=1, default=asdict) + "\n")
    print(f"raw data: {path.relative_to(ROOT)}")


def run(scenario):
    """Run a scenario so that SIGTERM, like Ctrl-C, lets every `finally` stop what it started."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        scenario()
    except KeyboardInterrupt:
        progress("")
        sys.exit(130)
