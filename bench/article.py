"""The article's scenario: wrk -t12 -c400 against both containers under --cpus 2 --memory 100mb, over 127.0.0.1."""

import contextlib
import os
import subprocess
import tempfile
import uuid

from measure import KIB, QUICK, MemoryGroup, doubts, median, progress, report, require, run, size_name, table, wrk
from servers import content, declared, wait_until_served

CONTENDERS = ["kcup-rust", "kcup-go"]
SIZES = [10 * KIB, 100 * KIB, KIB * KIB]
THREADS, CONNECTIONS = 12, 400
ROUNDS = int(os.environ.get("ROUNDS") or (1 if QUICK else 3))
SECONDS = 3 if QUICK else 30


def docker(*args):
    done = subprocess.run(["docker", *args], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"docker {args[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


@contextlib.contextmanager
def container(peer, size):
    """The peer's image with content of that size, on the host's network: a bridge would be measured as well."""
    with tempfile.TemporaryDirectory(prefix="kcup-bench-") as directory:
        mount = ["--volume", f"{content(directory, size)}:/content.txt:ro", "--env", "FILE=/content.txt"]
        network = ["--network", "host", "--env", "HOST=127.0.0.1", "--env", f"PORT={peer.port}"]
        name = f"kcup-bench-{uuid.uuid4().hex[:12]}"
        try:
            docker("run", "--detach", "--name", name, "--cpus", "2", "--memory", "100mb", *mount, *network, peer.name)
            wait_until_served(peer.name, peer.port, size, lambda: is_running(name), lambda: docker("logs", name))
            yield name
        finally:
            subprocess.run(["docker", "rm", "--force", name], capture_output=True, check=False)


def is_running(name):
    return docker("inspect", "--format", "{{.State.Running}}", name) == "true"


def measure(peer, size, turn):
    memory = []
    with container(peer, size) as name:
        group = MemoryGroup.of(docker("inspect", "--format", "{{.State.Pid}}", name))

        def tick(elapsed):
            what = f"{peer.name}, {size_name(size)}, round {turn + 1} of {ROUNDS}"
            progress(f"{what}: {elapsed:.0f} of {SECONDS} s")
            # The group is gone once the container was killed; `kills` below says so.
            with contextlib.suppress(FileNotFoundError, StopIteration):
                memory.append([round(elapsed, 1), group.used()])

        load = wrk(peer.port, THREADS, CONNECTIONS, SECONDS, tick=tick)
        killed = docker("inspect", "--format", "{{.State.OOMKilled}}", name) == "true"
        return {"load": load, "memory": memory, "killed": killed, "running": is_running(name)}


def row(size, name, runs):
    def middle(key):
        return median([getattr(one["load"], key) for one in runs])

    peak = max((used for one in runs for _, used in one["memory"]), default=0)
    kills = sum(one["killed"] or not one["running"] for one in runs)
    latencies = [f"{middle(key):.2f}" for key in ("p50", "p99")]
    errors = sum(one["load"].errors for one in runs)
    return [
        f"{size_name(size)} {name}",
        f"{middle('requests_per_second'):.0f}",
        *latencies,
        f"{peak / 1e6:.1f}",
        errors,
        kills,
    ]


def main():
    require("wrk")
    # The engine that runs the containers is no surprise here.
    warnings = [doubt for doubt in doubts() if "engine" not in doubt]
    peers = declared(CONTENDERS)
    results = {size: {peer.name: [] for peer in peers} for size in SIZES}
    for turn in range(ROUNDS):
        for size in SIZES:
            for peer in peers:
                results[size][peer.name].append(measure(peer, size, turn))
    rows = [row(size, name, runs) for size, by_name in results.items() for name, runs in by_name.items()]
    table(["", "requests/s", "p50 ms", "p99 ms", "peak MB", "errors", "killed"], rows)
    report("article", {}, results, warnings)


if __name__ == "__main__":
    run(main)
