"""The kind "load": a server under wrk or k6, possibly with limits, in a container, or beside slow clients.

Dimensions of a point: `size` or `text` of the content; `connections` (and `threads`) of wrk, or `vus` of k6; limits
`cpus` and `memory_mb`; `container`; `slow` and `slow_clients`; and `placement`: half of the CPUs for the server and
half for the load ("apart"), or all for both, with each thread of the server on one CPU ("pinned") or not ("free")."""

import contextlib
import os
from pathlib import Path

from contenders import TWINS
from engine import container
from loads import k6, slow_clients, wrk
from servers import Terms, process, text_of_size

MICROSECONDS = 1e6
MEGABYTE = 1e6


def measure(contender, point, run):
    terms, load_cpus = placed(point)
    # A server without an image runs as a process with a container's limits.
    host = container if point.get("container") and contender.image else process
    memory = []
    with host(contender, content(point), terms) as server:
        if point["placement"] == "pinned":
            pin_each_thread(server)

        def tick(elapsed):
            run.show(f"{elapsed:.0f} s")
            # A container's group is gone once it has been ended.
            with contextlib.suppress(OSError):
                if (used := server.group.memory()) is not None:
                    memory.append((round(elapsed, 1), used / MEGABYTE))

        slow, count = point.get("slow", "none"), point.get("slow_clients", 0)
        with slow_clients(slow, count, server.port, load_cpus) as slow_open:
            if run.scenario.warm_up:
                warm_up(run.scenario.warm_up, point, server, load_cpus)
            before = server.group.cpu_seconds()
            load = run_load(contender, point, run, server, load_cpus, tick)
            killed = server.was_killed() or not server.is_running()
            cpu = None if killed else server.group.cpu_seconds() - before
    if memory:
        load |= {"memory_peak": max(used for _, used in memory), "memory_over_time": memory}
    if cpu is not None and load["requests"]:
        load["cpu_us"] = cpu * MICROSECONDS / load["requests"]
    return [{**load, "killed": killed, "slow_open": slow_open, "load_cpus_had": len(load_cpus)}]


def content(point):
    return point["text"].encode() if "text" in point else text_of_size(point["size"])


def warm_up(seconds, point, server, cpus):
    connections = point.get("connections", point.get("vus"))
    wrk(server.port, point.get("threads", len(cpus)), connections, seconds, cpus)


def run_load(contender, point, run, server, cpus, tick):
    seconds = run.scenario.seconds_at(point)
    if "vus" not in point:
        threads = point.get("threads", len(cpus))
        return wrk(server.port, threads, point["connections"], seconds, cpus, tick)
    summary = run.directory / "k6" / "-".join([contender.name, f"{point['vus']}-users"])
    summary.parent.mkdir(parents=True, exist_ok=True)
    file = server.directory / "content.txt"
    load = k6(server.port, file, point["vus"], seconds, summary, cpus, tick)
    if contender.name not in TWINS:
        # Written for all, since that costs k6 time; too large to keep for all.
        Path(f"{summary}.html").unlink(missing_ok=True)
    return load


def placed(point):
    """The server's terms, and the CPUs of the load."""
    cpus = sorted(os.sched_getaffinity(0))
    half = max(1, len(cpus) // 2)
    apart = point["placement"] == "apart"
    own, others = (cpus[:half], cpus[half:] or cpus) if apart else (cpus, cpus)
    limits = {"cpus": point.get("cpus"), "memory_mb": point.get("memory_mb")}
    workers = int(point.get("cpus") or len(own))
    return Terms(workers, frozenset(own) if apart else None, **limits), set(others)


def pin_each_thread(server):
    cpus = sorted(os.sched_getaffinity(0))
    for index, thread in enumerate(sorted(map(int, os.listdir(f"/proc/{server.pid}/task")))):
        os.sched_setaffinity(thread, {cpus[index % len(cpus)]})
