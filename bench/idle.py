"""The kind "idle": memory of keep-alive connections, one request each, in a memory control group.

A point's `rungs` are the numbers of open connections at which memory is read. At the end each must respond again."""

import contextlib
import socket
import time

from cgroup import MEGABYTE
from servers import REQUEST, Terms, process, text_of_size

CONTENT = text_of_size(66)
WORKERS = 2
# Ports of one source address that are certainly free.
PER_ADDRESS = 10000
# For a server to free what a request took.
SETTLE_SECONDS = 1
ANSWER_SECONDS = 10
ALL_AGAIN_SECONDS = 30
# For all rungs together; a server that needs longer is not idle.
OPEN_SECONDS = 120
SHOW_EVERY = 256


def measure(contender, point, run):
    records, connections = [], []
    until = time.monotonic() + OPEN_SECONDS
    with process(contender, CONTENT, Terms(WORKERS, memory_mb=point["memory_mb"])) as server:
        try:
            for rung in point["rungs"]:
                failure = open_up_to(rung, connections, server, run, until)
                records.append({"connections": rung, "held": len(connections)})
                if failure:
                    records[-1]["failed"] = failure
                    break
                time.sleep(SETTLE_SECONDS)
                records[-1]["memory"] = server.group.memory() / MEGABYTE
            else:
                growth = (records[-1]["memory"] - records[0]["memory"]) * MEGABYTE
                records[-1]["bytes_each"] = growth / len(connections)
            records[-1]["answered_again"] = answering_again(connections)
            records[-1]["kills"] = server.group.kills()
        finally:
            for connection in connections:
                connection.close()
    return records


def open_up_to(count, connections, server, run, until):
    """Opens connections with one request each. Returns why it ended early, if it did."""
    while len(connections) < count:
        if time.monotonic() > until:
            return f"took longer than {OPEN_SECONDS} s"
        if len(connections) % SHOW_EVERY == 0:
            run.show(f"{len(connections)} connections")
        try:
            connections.append(connect(server.port, len(connections)))
            exchange(connections[-1])
        except OSError as error:
            return str(error)
    return ""


def connect(port, index):
    connection = socket.socket()
    connection.settimeout(ANSWER_SECONDS)
    # There may be more connections than one source address has ports.
    connection.setsockopt(socket.IPPROTO_IP, getattr(socket, "IP_BIND_ADDRESS_NO_PORT", 24), 1)
    connection.bind((f"127.0.0.{2 + index // PER_ADDRESS}", 0))
    connection.connect(("127.0.0.1", port))
    return connection


def answering_again(connections):
    """How many respond again, within a time for all, since a server without memory may neither respond nor close."""
    until, count = time.monotonic() + ALL_AGAIN_SECONDS, 0
    for connection in connections:
        left = until - time.monotonic()
        if left <= 0:
            break
        connection.settimeout(min(left, ANSWER_SECONDS))
        with contextlib.suppress(OSError):
            exchange(connection)
            count += 1
    return count


def exchange(connection):
    """One request, and its response to the last byte of the content."""
    connection.sendall(REQUEST)
    received = b""
    while not received.endswith(CONTENT):
        data = connection.recv(65536)
        if not data:
            raise ConnectionError("closed before the response was whole")
        received += data
