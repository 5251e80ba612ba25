"""CPU time per request, as a ratio to a server that parses nothing.

The server has one CPU and wrk another, so requests per second say what wrk could do; the CPU time of the server's
processes over the requests answered does not depend on wrk. The contenders take turns, so that a drift of the machine
falls on all of them.
"""

import contextlib
import subprocess
from collections import defaultdict

from measure import KIB, QUICK, cpu_seconds, doubts, median, progress, report, require, run, size_name, table, wrk
from servers import ROOT, choose, on_cpu, serving

CONTENDERS = ["floor", "kcup-rust", "kcup-go", "nginx", "nginx-return", "lighttpd"]
SIZES = [66, 10 * KIB, 100 * KIB, KIB * KIB]
SERVER_CPU, LOAD_CPU = 0, 1
CONNECTIONS = 64
ROUNDS, SECONDS = (1, 1) if QUICK else (5, 2)


def build_floor():
    require("gcc")
    (ROOT / "bin").mkdir(exist_ok=True)
    subprocess.run(["gcc", "-O2", "-o", ROOT / "bin" / "bench-floor", ROOT / "bench" / "floor.c"], check=True)


def measure(peer, process):
    before = cpu_seconds(process.pid)
    load = wrk(peer.port, 1, CONNECTIONS, SECONDS, LOAD_CPU)
    return {"us": (cpu_seconds(process.pid) - before) * 1e6 / max(load.requests, 1), "load": load}


def measure_size(peers, size):
    """Every peer's runs, by name. All of them are up all the time: idle servers cost nothing."""
    runs = defaultdict(list)
    with contextlib.ExitStack() as stack:
        processes = [(peer, stack.enter_context(serving(peer, size, prepare=on_cpu(SERVER_CPU)))) for peer in peers]
        for turn in range(ROUNDS):
            for peer, process in processes:
                progress(f"{size_name(size)}: {peer.name}, round {turn + 1} of {ROUNDS}")
                runs[peer.name].append(measure(peer, process))
    return runs


def row(size, name, runs, floor):
    costs = [one["us"] for one in runs]
    spread = f"{min(costs):.2f} to {max(costs):.2f}"
    rate = median([one["load"].requests_per_second for one in runs])
    errors = sum(one["load"].errors for one in runs)
    return [
        f"{size_name(size)} {name}",
        f"{median(costs):.2f}",
        f"{median(costs) / floor:.2f}",
        spread,
        f"{rate:.0f}",
        errors,
    ]


def main():
    require("wrk")
    build_floor()
    peers, absent = choose(CONTENDERS)
    warnings, results, rows = doubts(), {}, []
    for size in SIZES:
        results[size] = measure_size([peer for peer in peers if peer.serves(size)], size)
        floor = median([one["us"] for one in results[size]["floor"]])
        rows += [row(size, name, runs, floor) for name, runs in results[size].items()]
    table(["", "CPU us/request", "of the floor", "spread", "requests/s", "errors"], rows)
    report("floor", absent, results, warnings)


if __name__ == "__main__":
    run(main)
