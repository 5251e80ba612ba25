"""The load generators: wrk, k6, and slowhttptest beside them, all against 127.0.0.1."""

import contextlib
import json
import os
import re
import resource
import socket
import subprocess
import threading
import time
from pathlib import Path

from contenders import HOME
from servers import PATH, stop

TICK_SECONDS = 0.5
MEGABYTE = 1_000_000
# As /proc/net/tcp writes it.
ESTABLISHED = "01"
# Longer than any load: slow clients are stopped when the load beside them is over.
SLOW_SECONDS = 120
SLOW_KINDS = {
    "slow heads": ["-H", "-i", "5"],
    "slow bodies": ["-B", "-i", "5", "-s", "8192"],
    "slow readers": ["-X", "-w", "10", "-y", "20", "-n", "5", "-z", "5", "-k", "3"],
}
# For comparison, the same clients beside wrk, but connected to another port. What that port sends to them.
ELSEWHERE = " elsewhere"
SENT_ELSEWHERE = {"slow heads": b"", "slow readers": bytes(65536)}
SLOW_START_SECONDS = 1
SLOW_LOOK_SECONDS = 0.2
K6_TREND = "avg,min,med,p(75),p(90),p(95),p(99),max"


class LoadError(Exception):
    """A load that did not run as intended: nothing was measured."""


def url(port):
    return f"http://127.0.0.1:{port}{PATH}"


def watched(command, cpus, tick, environment=None):
    """Runs a load to its end, calling `tick` about twice a second. Returns its output and the CPUs that it kept
    busy."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
        preexec_fn=on_cpus(cpus),
    )
    began, before = time.monotonic(), cpu_of_children()
    try:
        while True:
            tick(time.monotonic() - began)
            with contextlib.suppress(subprocess.TimeoutExpired):
                output, _ = process.communicate(timeout=TICK_SECONDS)
                return output, (cpu_of_children() - before) / (time.monotonic() - began)
    finally:
        stop(process)


def on_cpus(cpus):
    """For `preexec_fn`: keeps a program on these CPUs, if any."""
    return (lambda: os.sched_setaffinity(0, cpus)) if cpus else None


def cpu_of_children():
    """User and system time of all children that have been waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def wrk(port, threads, connections, seconds, cpus=None, tick=lambda elapsed: None):
    sizes = [f"-t{threads}", f"-c{connections}", f"-d{seconds}s"]
    output, busy = watched(["wrk", *sizes, "--latency", "-s", str(HOME / "wrk.lua"), url(port)], cpus, tick)
    return {**parse_wrk(output), "load_cpus": busy}


def parse_wrk(output):
    """The output of wrk.lua. Latencies are in milliseconds."""
    found = re.search(r"^\{.*\}$", output, re.MULTILINE)
    if not found:
        raise LoadError(f"wrk failed: {output.strip()}")
    counted = json.loads(found[0])
    seconds, size = counted.pop("seconds"), counted.pop("bytes")
    if not counted["requests"]:
        latencies = dict.fromkeys(key for key in counted if key not in ("requests", "errors"))
        counted = {**counted, **latencies}
    return {
        **counted,
        "requests_per_second": counted["requests"] / seconds,
        "megabytes_per_second": size / seconds / MEGABYTE,
    }


def k6(port, file, vus, seconds, summary, cpus=None, tick=lambda elapsed: None):
    """Virtual users that repeat their request at once. k6's output goes to `summary` with .txt, .json and .html
    added."""
    command = ["k6", "run", "--no-usage-report", "--quiet", "--no-color", "--summary-trend-stats", K6_TREND]
    command += ["--vus", str(vus), "--duration", f"{seconds}s", "--summary-export", f"{summary}.json"]
    environment = {
        "URL": url(port),
        "CONTENT": str(file),
        "K6_WEB_DASHBOARD": "true",
        "K6_WEB_DASHBOARD_PORT": "-1",
        # With a longer period, a short run has no page.
        "K6_WEB_DASHBOARD_PERIOD": "500ms",
        "K6_WEB_DASHBOARD_EXPORT": f"{summary}.html",
    }
    output, busy = watched([*command, str(HOME / "k6.js")], cpus, tick, environment)
    Path(f"{summary}.txt").write_text(output)
    if not Path(f"{summary}.json").exists():
        raise LoadError(f"k6 failed: {output.strip()}")
    return {**parse_k6(json.loads(Path(f"{summary}.json").read_text())), "load_cpus": busy}


def parse_k6(summary):
    metrics = summary["metrics"]
    took = metrics["http_req_duration"]
    names = {
        "mean": "avg",
        "p50": "med",
        "p75": "p(75)",
        "p90": "p(90)",
        "p95": "p(95)",
        "p99": "p(99)",
        "worst": "max",
    }
    return {
        "requests": metrics["http_reqs"]["count"],
        "requests_per_second": metrics["http_reqs"]["rate"],
        "megabytes_per_second": metrics["data_received"]["rate"] / MEGABYTE,
        "errors": metrics["checks"]["fails"],
        **{name: took[stat] for name, stat in names.items()},
    }


@contextlib.contextmanager
def slow_clients(kind, count, port, cpus=None):
    """Clients that send or read slowly, connected when the block begins. Yields how many are open then."""
    if kind == "none":
        yield 0
        return
    kind, elsewhere, _ = kind.partition(ELSEWHERE)
    with elsewhere_sending(SENT_ELSEWHERE[kind]) if elsewhere else contextlib.nullcontext(port) as asked:
        yield from running_slow_clients(kind, count, asked, cpus)


def running_slow_clients(kind, count, port, cpus):
    rate = ["-c", str(count), "-r", str(count), "-l", str(SLOW_SECONDS), "-p", "10", "-v", "0"]
    command = ["slowhttptest", *SLOW_KINDS[kind], *rate, "-u", url(port)]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, **quiet, start_new_session=True, preexec_fn=on_cpus(cpus))
    try:
        yield settled(count, port)
    finally:
        stop(process)


@contextlib.contextmanager
def elsewhere_sending(data):
    """A port where every connection is accepted, sent as much as fits, and kept open."""
    accepted = []

    def accept():
        with contextlib.suppress(OSError):
            while True:
                accepted.append(listener.accept()[0])
                accepted[-1].setblocking(False)
                with contextlib.suppress(ConnectionError):
                    accepted[-1].send(data)

    with socket.create_server(("127.0.0.1", 0), backlog=socket.SOMAXCONN) as listener:
        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for one in accepted:
                one.close()


def settled(count, port):
    """The number of open connections once all are open, or no more have been opened for a while."""
    most, since = 0, time.monotonic()
    while most < count and time.monotonic() - since < SLOW_START_SECONDS:
        time.sleep(SLOW_LOOK_SECONDS)
        if (now := established(port)) > most:
            most, since = now, time.monotonic()
    return established(port)


def established(port):
    """How many connections to this port of 127.0.0.1 are open, as the clients see it."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[2] == f"0100007F:{port:04X}" and row[3] == ESTABLISHED for row in rows)
