"""Faults for test_soak.py. Each starts a kcup, does harm while a witness makes requests, and says what happened."""

import contextlib
import fcntl
import os
import random
import resource
import signal
import socket
import struct

from .access_log import Reader
from .metrics import ACCEPTED, CLOSED, HOT, LOST, PARKED, REQUESTS, closed, reloads, scrape
from .peers import asked
from .process import descriptors, listening_port, until
from .reload import GET, WAYS, become, clear, get, rename_over
from .wire import Connection
from .witness import CONNECTIONS

F_SETPIPE_SZ = 1031
NEWCOMERS = 20
TROUBLES = {}


def trouble(name):
    """Registers a fault under this name."""

    def register(function):
        TROUBLES[name] = function
        return function

    return register


def full_pipe():
    """Both ends of a pipe that is full."""
    reading, writing = os.pipe()
    os.write(writing, b"x" * fcntl.fcntl(writing, F_SETPIPE_SZ, 4096))
    return reading, writing


@trouble("standard output is not read")
def _(run):
    """Then it is read: the lines written and the lines lost add up to all responses."""
    server = run.start("--access-log", "json")
    fcntl.fcntl(server.process.stdout, F_SETPIPE_SZ, 4096)
    with run.asking(server):
        run.last()
    reader = Reader(server.process.stdout)
    until(lambda: reader.lines() + scrape(server)[LOST] == run.answered())
    lost = scrape(server)[LOST]
    run.ends_well(server)
    reader.join()
    whole = all(line.startswith(b"{") and line.endswith(b"}") for line in reader.data.splitlines())
    run.promise(whole and reader.data.endswith(b"\n"), "half a line was written")
    return f"{reader.lines()} lines written, {lost} lost, no half lines"


@trouble("standard error is not read")
def _(run):
    reading, writing = full_pipe()
    server = run.start("--log-level", "debug", preexec_fn=lambda: os.dup2(writing, 2))
    with run.asking(server):
        run.last()
    run.ends_well(server)
    os.close(reading)
    os.close(writing)
    return "serving went on"


@trouble("standard output and error are closed")
def _(run):
    reading, writing = os.pipe()
    os.close(reading)
    server = run.start("--log-level", "debug", "--access-log", "common", preexec_fn=lambda: os.dup2(writing, 2))
    server.process.stdout.close()
    with run.asking(server):
        run.last()
    run.ends_well(server)
    os.close(writing)
    return "serving went on"


@trouble("the disk is full")
def _(run):
    full = os.open("/dev/full", os.O_WRONLY)

    def enter():
        os.dup2(full, 1)
        os.dup2(full, 2)

    server = run.start("--log-level", "debug", "--access-log", "common", wait=False, preexec_fn=enter)
    os.close(full)
    server.address = ("127.0.0.1", until(lambda: listening_port(server.process.pid)))
    with run.asking(server):
        run.last()
    run.ends_well(server)
    return "serving went on"


@trouble("no descriptors are left")
def _(run):
    """Each new connection displaces a silent one and gets its response; once there are descriptors again, none does."""
    server = run.start("--max-connections", "1000")
    pid = server.process.pid
    with run.asking(server) as witness, contextlib.ExitStack() as stack:
        witness.expendable = True
        until(lambda: witness.answered)
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(descriptors(pid)) + 3, before[1]))
        for _ in range(NEWCOMERS):
            stack.enter_context(asked(server.address))
            run.last(3 / run.seconds / NEWCOMERS)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        answered = witness.answered
        until(lambda: witness.answered > answered + 50)
    displaced = scrape(server)[closed("evicted")]
    run.promise(displaced >= NEWCOMERS - 3, f"{displaced} made room")
    run.ends_well(server)
    return f"{NEWCOMERS} new connections got responses, {displaced} silent ones made room"


@trouble("the file is replaced, broken and taken away")
def _(run):
    """Each content is small enough to be written in one piece, so the file never has half of one."""
    contents = [f"number {number}\n".encode() * 100 for number in range(8)]
    states = [{"content": ""}, {"absent": True}, {"directory": True}, {"fifo": True}, {"link": "/etc/passwd"}]
    server = run.start("--reload-interval-seconds", "1", content=contents[0])
    path, chance, changes = server.directory / "content", random.Random(1), 0
    with run.asking(server, contents):
        for _ in run.rounds(0.002):
            if chance.random() < 0.5:
                become(path, chance.choice(states))
            else:
                if not path.is_file() or path.is_symlink():
                    clear(path)
                    path.touch()
                chance.choice(WAYS[:3])(path, chance.choice(contents))
            server.signal(signal.SIGHUP)
            changes += 1
    clear(path)
    rename_over(path, contents[1])
    server.signal(signal.SIGHUP)
    until(lambda: get(server.address).body == contents[1])
    numbers = scrape(server)
    run.ends_well(server)
    return f"{changes} changes, {numbers[reloads('ok')]} loaded, {numbers[reloads('failed')]} refused"


@trouble("connections that are reset or end half-way")
def _(run):
    """Each is counted as closed once; each response that was begun has its line in the access log, however it ended."""
    server = run.start("--access-log", "common")
    reader = Reader(server.process.stdout)
    with run.asking(server) as witness:
        until(lambda: witness.answered)
        before = len(descriptors(server.process.pid))
        for number in range(run.resets):
            with Connection(server.address) as connection:
                connection.send([b"", GET[:9], GET, GET * 3][number % 4])
                if number % 8 < 4:
                    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        until(lambda: only_the_witness_is_connected(scrape(server)))
        run.promise(len(descriptors(server.process.pid)) <= before + 3, "descriptors are left open")
    until(lambda: every_response_has_a_line(scrape(server), reader))
    run.ends_well(server)
    return f"{run.resets} connections, none is left, {reader.lines()} lines for as many responses"


def only_the_witness_is_connected(numbers):
    """By both ways of counting: connections that are open, and those accepted minus those closed."""
    closed_for_any_reason = sum(value for key, value in numbers.items() if key.startswith(CLOSED))
    return numbers[HOT] + numbers[PARKED] == numbers[ACCEPTED] - closed_for_any_reason == CONNECTIONS


def responses(numbers):
    return sum(value for key, value in numbers.items() if key.startswith(REQUESTS))


def every_response_has_a_line(numbers, reader):
    return reader.lines() + numbers[LOST] == responses(numbers)


@trouble("a storm of SIGHUP")
def _(run):
    contents = [f"number {number}\n".encode() * 100 for number in range(8)]
    server = run.start(content=contents[0])
    sent = 0
    with run.asking(server, contents):
        for number in run.rounds(0):
            rename_over(server.directory / "content", contents[number % 8])
            for _ in range(100):
                server.signal(signal.SIGHUP)
                sent += 1
        until(lambda: get(server.address).body == contents[number % 8])
    loaded = scrape(server)[reloads("ok")]
    run.ends_well(server)
    return f"{sent} signals, {loaded} reloads, and the last content is served"
