"""The servers under comparison: what peers.toml says, started and stopped by their ids."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
READY_SECONDS = 10
PATH = "/content.txt"
REQUEST = f"GET {PATH} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode()


@dataclass(frozen=True)
class Peer:
    name: str
    port: int
    start: list[str]
    install: str
    config: str = ""
    sizes: tuple[int, ...] = ()

    def program(self):
        return shutil.which(self.start[0].format(root=ROOT))

    def serves(self, size):
        return not self.sizes or size in self.sizes


def declared(names):
    table = tomllib.loads((ROOT / "bench" / "peers.toml").read_text())
    return [Peer(name, **table[name]) for name in names]


def choose(names):
    """The peers of these names that are installed, and how to install the others."""
    peers = declared(names)
    absent = {peer.name: peer.install for peer in peers if not peer.program()}
    return [peer for peer in peers if peer.name not in absent], absent


def content(directory, size):
    """A text file of that size. The engine's containers run as nobody in particular, hence the permissions."""
    path = Path(directory) / "content.txt"
    path.write_bytes(b"x" * size)
    path.chmod(0o644)
    Path(directory).chmod(0o755)
    return path


@contextlib.contextmanager
def serving(peer, size, workers=1, prepare=lambda: None):
    """Run a peer with content of that size; `prepare` is called in its process before it becomes the peer."""
    with tempfile.TemporaryDirectory(prefix="kcup-bench-") as directory:
        content(directory, size)
        values = {"root": ROOT, "dir": directory, "port": peer.port, "size": size, "workers": workers}
        (Path(directory) / "config").write_text(fill(peer.config, values))
        with contextlib.closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", peer.port)) == 0:
                raise SystemExit(f"port {peer.port} is taken: {peer.name} cannot be measured")
        log = Path(directory) / "log"
        with log.open("wb") as output:
            command = [fill(word, values) for word in peer.start]
            # A session of its own: lighttpd hands the signal that ends it on to its whole process group.
            process = subprocess.Popen(
                command, stdout=output, stderr=output, start_new_session=True, preexec_fn=prepare
            )
        try:
            wait_until_served(peer.name, peer.port, size, lambda: process.poll() is None, log.read_text)
            yield process
        finally:
            stop(process)


def fill(text, values):
    """Not str.format: the braces of nginx's language are its own."""
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", str(value))
    return text


def wait_until_served(name, port, size, alive, log):
    """Until the whole content has been had once: what answers is what is to be measured."""
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until and alive():
        with contextlib.suppress(ConnectionError), socket.create_connection(("127.0.0.1", port), 1) as connection:
            connection.settimeout(READY_SECONDS)
            if (got := exchange(connection)) != size:
                raise SystemExit(f"{name} answers {got} bytes instead of {size}")
            return
        time.sleep(0.02)
    raise SystemExit(f"{name} does not serve: {log().strip() or 'it says nothing'}")


def exchange(connection):
    """One request over an open connection: the length of the answer's body, which must be a 200."""
    connection.sendall(REQUEST)
    buffer = b""
    while b"\r\n\r\n" not in buffer:
        buffer += receive(connection)
    head, _, body = buffer.partition(b"\r\n\r\n")
    status, *lines = head.lower().split(b"\r\n")
    if not status.startswith(b"http/1.1 200 "):
        raise ConnectionError(f"answered {status!r}")
    length = next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:"))
    got = len(body)
    while got < length:
        got += len(receive(connection))
    return got


def receive(connection):
    if not (data := connection.recv(262144)):
        raise ConnectionError("closed before the answer was whole")
    return data


def stop(process):
    """End a process; what it started itself is ended with it where it leads a session."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def on_cpu(cpu):
    """For `prepare`: pins the process to one CPU."""
    return lambda: os.sched_setaffinity(0, {cpu})
