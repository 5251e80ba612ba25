"""A competitor that serves, in its own control group, ended by its process id. For containers see engine.py."""

import contextlib
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path

from cgroup import Group, new_group
from contenders import ROOT, fill_in, in_root

READY_SECONDS = 10
# Enough for a server that drains; others are killed.
STOP_SECONDS = 3
MODIFIED = 784111777
PATH = "/content.txt"
REQUEST = f"GET {PATH} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode()


class Unserved(Exception):
    """A server that does not serve the content: nothing can be measured."""


@dataclass(frozen=True)
class Terms:
    """How a server is run: threads, the CPUs it may use, and its limits in CPUs and millions of bytes."""

    workers: int = 1
    on_cpus: frozenset[int] | None = None
    cpus: float | None = None
    memory_mb: int | None = None


@dataclass(frozen=True)
class Server:
    port: int
    pid: int
    group: Group
    directory: Path
    is_running: Callable[[], bool]
    was_killed: Callable[[], bool]


def text_of_size(size):
    return b"x" * size


@contextlib.contextmanager
def content_in_directory(content):
    """A new directory with content.txt, readable for all, since a container has an arbitrary user."""
    with tempfile.TemporaryDirectory(prefix="kcup-bench-") as directory:
        path = Path(directory) / "content.txt"
        path.write_bytes(content)
        os.utime(path, (MODIFIED, MODIFIED))
        path.chmod(0o644)
        path.parent.chmod(0o755)
        yield path


def values(contender, file, content, workers):
    common = {"root": ROOT, "port": contender.port, "dir": file.parent, "file": file, "workers": workers}
    text = content.decode(errors="replace") if len(content) <= (contender.largest or 0) else ""
    return {**common, "size": len(content), "text": text}


def start(contender, known, prepare=lambda: None, output=subprocess.DEVNULL):
    """Starts a contender as a process in its own session, since some pass the signal that ends them on to their
    process group."""
    config = fill_in(contender.config.replace("{serve}", contender.serve), known)
    (Path(known["dir"]) / "config").write_text(config)
    environment = {**os.environ, **{key: fill_in(value, known) for key, value in contender.env.items()}}
    command = [in_root(contender.program), *(fill_in(word, known) for word in contender.args)]
    return subprocess.Popen(
        command, stdout=output, stderr=output, env=environment, start_new_session=True, preexec_fn=prepare
    )


@contextlib.contextmanager
def process(contender, content, terms):
    with (
        content_in_directory(content) as file,
        new_group(contender.name, terms.cpus, terms.memory_mb) as group,
        (file.parent / "log").open("w+") as log,
    ):
        reject_taken_port(contender)

        def prepare():
            group.enter()
            if terms.on_cpus:
                os.sched_setaffinity(0, terms.on_cpus)

        running = start(contender, values(contender, file, content, terms.workers), prepare, log)
        try:
            server = Server(
                contender.port,
                running.pid,
                group,
                file.parent,
                is_running=lambda: running.poll() is None,
                was_killed=lambda: group.kills() > 0,
            )
            wait_until_served(contender, content, server.is_running, (file.parent / "log").read_text)
            yield server
        finally:
            stop(running)


def reject_taken_port(contender):
    with contextlib.closing(socket.socket()) as probe:
        if probe.connect_ex(("127.0.0.1", contender.port)) == 0:
            raise SystemExit(f"port {contender.port} is taken: {contender.name} cannot be measured")


def wait_until_served(contender, content, is_running, log):
    """Waits until the whole content has been fetched once, so that the right server is measured."""
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until and is_running():
        with contextlib.suppress(OSError, HTTPException):
            got = fetch(contender.port)
            # The floor serves other bytes, of the same length.
            if (got != content and contender.name != "floor") or len(got) != len(content):
                raise Unserved(f"answers with something else than the content: {got[:100]!r}")
            return
        time.sleep(0.02)
    raise Unserved(f"does not serve: {log().strip() or 'it says nothing'}")


def fetch(port):
    """The content, fetched on a new connection."""
    with socket.create_connection(("127.0.0.1", port), READY_SECONDS) as connection:
        connection.sendall(REQUEST)
        response = HTTPResponse(connection)
        response.begin()
        body = response.read()
        if response.status != 200:
            raise HTTPException(f"answered with {response.status}")
        return body


def stop(running):
    """Ends a process and waits for it."""
    running.terminate()
    try:
        running.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        running.kill()
        running.wait()
