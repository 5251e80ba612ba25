"""Memory per keep-alive connection: many connections, one request each, inside a memory cgroup of 100 MB.

What is counted is the cgroup's, so the kernel's share is in it. At the end every connection must answer again.
"""

import os
import resource
import socket
import time

from measure import QUICK, MemoryGroup, doubts, progress, report, run, table
from servers import choose, exchange, serving

CONTENDERS = ["kcup-rust", "kcup-go", "nginx", "lighttpd"]
CONNECTIONS = int(os.environ.get("CONNECTIONS") or (2048 if QUICK else 16384))
LIMIT = 100 * 1000 * 1000
CONTENT = 66
WORKERS = 2
# Ports of one source address that are surely free for us.
PER_ADDRESS = 10000
# What a server needs to give back what a request took.
SETTLE_SECONDS = 2
ANSWER_SECONDS = 10


def raise_descriptor_limit():
    wanted = CONNECTIONS + 1024
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(hard, wanted)))


def connect(peer, index):
    connection = socket.socket()
    connection.settimeout(ANSWER_SECONDS)
    # One source address has fewer ports than there may be connections.
    connection.setsockopt(socket.IPPROTO_IP, getattr(socket, "IP_BIND_ADDRESS_NO_PORT", 24), 1)
    connection.bind((f"127.0.0.{2 + index // PER_ADDRESS}", 0))
    connection.connect(("127.0.0.1", peer.port))
    return connection


def open_all(peer):
    """As many connections as could be opened and answered, and why it ended early if it did."""
    connections = []
    for index in range(CONNECTIONS):
        if index % 256 == 0:
            progress(f"{peer.name}: {index} of {CONNECTIONS} connections")
        try:
            connections.append(connect(peer, index))
            exchange(connections[-1])
        except OSError as error:
            return connections, str(error)
    return connections, ""


def answers_again(connection):
    try:
        return exchange(connection) == CONTENT
    except OSError:
        return False


def measure(peer):
    with MemoryGroup.limited(peer.name, LIMIT) as group, serving(peer, CONTENT, WORKERS, group.enter):
        at_rest = group.used()
        connections, failure = open_all(peer)
        try:
            time.sleep(SETTLE_SECONDS)
            used = group.used()
            again = sum(map(answers_again, connections))
        finally:
            for connection in connections:
                connection.close()
        held = len(connections)
        per_connection = (used - at_rest) / max(held, 1)
        return {
            "held": held,
            "failure": failure,
            "at_rest": at_rest,
            "used": used,
            "per_connection": per_connection,
            "answered_again": again,
            "kills": group.kills(),
        }


def row(name, result):
    megabytes = [f"{result[key] / 1e6:.1f}" for key in ("at_rest", "used")]
    counts = [result["answered_again"], result["kills"], result["failure"] or "-"]
    return [name, result["held"], *megabytes, f"{result['per_connection']:.0f}", *counts]


def main():
    if os.geteuid() != 0:
        raise SystemExit("bench-idle makes a memory cgroup, which needs root")
    raise_descriptor_limit()
    peers, absent = choose(CONTENDERS)
    warnings, results = doubts(), {}
    for peer in peers:
        results[peer.name] = measure(peer)
    header = ["", "connections", "MB at rest", "MB with them", "bytes each", "answer again", "OOM kills", "ended by"]
    table(header, [row(name, result) for name, result in results.items()])
    report("idle", absent, results, warnings)


if __name__ == "__main__":
    run(main)
