"""The machine that measures, and every reason to distrust its measurements now."""

import contextlib
import os
import platform
import re
import socket
import time
from collections import Counter
from pathlib import Path

SAMPLE_SECONDS = 1.0
BUSY_LIMIT = 0.05
STOLEN_LIMIT = 0.005
# A load generator that keeps its CPUs this busy is the bottleneck.
LOAD_LIMIT = 0.9
ALWAYS = [
    "Client and server share one machine and the loopback interface: there is no network, and no network card.",
    "This is one machine: the ratios differ with another kernel or CPU.",
]


def facts():
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = int(re.search(r"MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text())[1]) * 1024
    return {
        "cpu": model[1].strip() if model else platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_gb": round(memory / 1e9, 1),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
    }


def slug(machine):
    """A directory name: the processor's model and number, never a host's name."""
    words = re.sub(r"\((r|tm)\)|\bcpu\b|@.*|processor", " ", machine["cpu"].lower())
    return f"{re.sub(r'[^a-z0-9]+', '-', words).strip('-')}-{machine['cpus']}cpu"


def cpu_times():
    """Seconds since boot that all CPUs together were idle, were stolen by the host, and in total."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    ticks = os.sysconf("SC_CLK_TCK")
    return {"idle": (fields[3] + fields[4]) / ticks, "stolen": fields[7] / ticks, "all": sum(fields) / ticks}


def shares_since(before):
    """Shares of all CPUs' time, busy and stolen, since an earlier cpu_times()."""
    now = cpu_times()
    spent = max(now["all"] - before["all"], 1e-9)
    return {"busy": 1 - (now["idle"] - before["idle"]) / spent, "stolen": (now["stolen"] - before["stolen"]) / spent}


def busy():
    """The share of the CPUs that other programs use now."""
    before = cpu_times()
    time.sleep(SAMPLE_SECONDS)
    return shares_since(before)["busy"]


def doubts():
    """Reasons that are known before anything is started."""
    found = []
    if "dockerd" in programs():
        found.append("A Docker engine is running.")
    if connections_are_tracked():
        found.append("Connection tracking is on (iptables rules), which every request over loopback pays for.")
    if len(os.sched_getaffinity(0)) < 2:
        found.append("There is only one CPU, which the server shares with the load.")
    return found


def doubts_of(result, records):
    """Reasons that follow from a scenario's results."""
    found = []
    if result["busy_before"] > BUSY_LIMIT:
        found.append("The machine is shared: others used its CPUs before the start.")
    if result["stolen"] > STOLEN_LIMIT:
        found.append("The host took CPU time while this was measured.")
    found += [f"Killed by the kernel or ended, so without a result: {told}." for told in [dead(records)] if told]
    records = [record for record in records if not record.get("killed")]
    loads = [record for record in records if "load_cpus" in record]
    paced = sum(record["load_cpus"] / record["load_cpus_had"] > LOAD_LIMIT for record in loads)
    if paced:
        found.append(
            f"The load generator is the bottleneck in {paced} of {len(loads)} measurements, where it used over"
            f" {LOAD_LIMIT:.0%} of its CPUs: requests per second are its own there."
        )
    failed = Counter()
    for record in records:
        failed[record["contender"]] += record.get("errors") or 0
    if counts := ", ".join(f"{name} {count:,}" for name, count in failed.most_common() if count):
        found.append(f"Requests failed: {counts}.")
    return found


def dead(records):
    """Who did not live through the load, and in how many measurements of all."""
    killed = Counter(record["contender"] for record in records if record.get("killed"))
    measured = Counter(record["contender"] for record in records)
    return ", ".join(f"{name} {count} of {measured[name]}" for name, count in killed.most_common())


def programs():
    """The names of all running programs."""
    found = set()
    for comm in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            found.add(comm.read_text().strip())
    return found


def connections_are_tracked():
    """Whether a connection over loopback is tracked."""
    count = Path("/proc/sys/net/netfilter/nf_conntrack_count")
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        return count.exists() and int(count.read_text()) > 0
