"""K-110: healthcheck, of a kcup and of other servers."""

import contextlib
import errno
import os
import socket
import struct
import subprocess
import threading
from dataclasses import dataclass

import pytest

from runner.cases import of_kind
from runner.parts import to_bytes
from runner.process import unread
from runner.syscalls import Watch
from runner.twin import Server

PREFIX = "kcup: unhealthy: "
POLICY = b"version: STSv1\r\nmode: none\r\nmax_age: 604800\r\n"


@dataclass(frozen=True)
class HealthCase:
    """What a server sends, at once or in pieces, how it ends (close, wait or reset), and what healthcheck reports."""

    name: str
    spec: list
    response: str | list
    piece: int = 65536
    then: str = "close"
    stderr: str = ""


class Responding:
    """A server that responds to every request with these bytes."""

    def __init__(self, case):
        self.case, self.requests = case, []
        self.done = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self.serve)

    def __enter__(self):
        self.thread.start()
        return self.listener.getsockname()

    def __exit__(self, *_):
        self.done.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                with client, contextlib.suppress(OSError):
                    self.response(client)

    def response(self, client):
        request = b""
        while b"\r\n\r\n" not in request:
            request += client.recv(65536)
        self.requests.append(request)
        response = to_bytes(self.case.response)
        for start in range(0, len(response), self.case.piece):
            client.sendall(response[start : start + self.case.piece])
        if self.case.then == "wait":
            client.settimeout(10)
            client.recv(1)
        elif self.case.then == "reset":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def outcome(twin, *args, env=None, cwd=None):
    result = twin.run(["healthcheck", *args], env, cwd)
    assert result.stdout == b"", "healthcheck has nothing to say there"
    return result.returncode, result.stderr.decode()


HEALTHY = (0, "")


def unhealthy(reason):
    return 1, f"{PREFIX}{reason}\n"


def where(server, host=None):
    return ("--host", host or server.address[0], "--port", str(server.address[1]))


@pytest.mark.parametrize("case", of_kind("health", HealthCase), ids=lambda case: case.name.replace(" ", "-"))
def test_response(twin, case):
    with Responding(case) as address:
        expected = (1, case.stderr + "\n") if case.stderr else HEALTHY
        assert outcome(twin, "--port", str(address[1])) == expected


@pytest.mark.spec("K-110")
def test_what_is_asked(twin):
    server = Responding(HealthCase("", [], "HTTP/1.1 200 OK\r\n\r\n"))
    with server as address:
        port = ["--port", str(address[1])]
        assert outcome(twin, *port) == HEALTHY
        assert outcome(twin, *port, "--path", "/a;b") == HEALTHY
        assert outcome(twin, *port, "--preset", "mta-sts") == HEALTHY
    targets = [request.split(b" ")[:2] for request in server.requests]
    assert targets == [[b"GET", b"/"], [b"GET", b"/a;b"], [b"GET", b"/.well-known/mta-sts.txt"]]


@pytest.mark.spec("K-110")
@pytest.mark.parametrize(("host", "asked"), [
    ("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "0.0.0.0"), ("::", "::"), ("::1", "::1"), ("::", "127.0.0.1"),
])  # fmt: skip
def test_a_kcup_is_healthy(twin, serve, host, asked):
    server = serve("--host", host)
    assert outcome(twin, *where(server, asked)) == HEALTHY


@pytest.mark.spec("K-110")
def test_a_kcup_on_a_unix_socket_is_healthy(twin, serve):
    server = serve("--host", "unix:socket")
    assert outcome(twin, "--host", "unix:socket", cwd=server.directory) == HEALTHY
    assert outcome(twin, env={"HOST": f"unix:{server.address}"}) == HEALTHY
    server.process.kill()
    server.wait()
    status, said = outcome(twin, "--host", "unix:socket", cwd=server.directory)
    assert (status, said) == unhealthy("cannot connect to unix:socket: connection refused")


@pytest.mark.spec("K-110", "K-02")
def test_the_options_of_the_server_do(twin, serve):
    """With the server's own variables, as in a container, except the port, which the kernel chose."""
    env = {"SERVE_PATH": "/a", "HOST": "127.0.0.4", "FILE": "not-there", "MAX_CONTENT_BYTES": "1", "ADMIN": "[::1]:0"}
    server = serve(env=env, content=b"x")
    assert outcome(twin, "--port", str(server.address[1]), env=env) == HEALTHY
    assert outcome(twin, env={**env, "PORT": str(server.address[1])}) == HEALTHY
    assert outcome(twin, *where(server), "--path", "/b") == unhealthy("the response is 404")
    assert outcome(twin, *where(server)) == unhealthy("the response is 404")


@pytest.mark.spec("K-110", "K-50")
def test_the_status_of_the_server_is_healthy(twin, serve):
    server = serve("--status", "503")
    assert outcome(twin, *where(server), "--status", "503") == HEALTHY
    assert outcome(twin, *where(server)) == unhealthy("the response is 503")
    assert outcome(twin, *where(serve()), "--status", "503") == unhealthy("the response is 200")


@pytest.mark.spec("K-110", "K-61")
@pytest.mark.parametrize("byte", ['"', "<", ">", "`"])
def test_a_path_that_no_target_can_be_is_refused(twin, serve, byte):
    """Some clients refuse to request such a path, and kcup does not serve it."""
    path = ("--path", f"/a{byte}b")
    assert outcome(twin, *where(serve(*path)), *path) == unhealthy("the response is 400")


@pytest.mark.spec("K-110", "K-90")
def test_the_preset_names_the_path(twin, serve):
    server = serve("--preset", "mta-sts", content=POLICY)
    assert outcome(twin, *where(server), "--preset=mta-sts") == HEALTHY
    assert outcome(twin, *where(server)) == unhealthy("the response is 404")


@pytest.mark.spec("K-110", "K-99")
def test_the_word_may_stand_where_it_likes(twin, serve):
    port = str(serve().address[1])
    for args in (
        ["healthcheck", "--port", port],
        ["--port", port, "healthcheck"],
        ["-p", port, "healthcheck", "-h", "127.0.0.1"],
        [f"-p{port}", "--", "healthcheck"],
        [f"--port={port}", "healthcheck", "--"],
    ):
        result = twin.run(args)
        assert (result.returncode, result.stdout, result.stderr) == (0, b"", b""), args


@pytest.mark.spec("K-110")
@pytest.mark.parametrize(("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::", "127.0.0.1")])
def test_nobody_listens(twin, host, shown):
    """The port is bound but not listening, so that no other process takes it."""
    with socket.socket() as bound:
        bound.bind(("0.0.0.0" if host == "::" else host, 0))
        port = bound.getsockname()[1]
        expected = unhealthy(f"cannot connect to {shown}:{port}: connection refused")
        assert outcome(twin, "--host", host, "--port", str(port)) == expected


@pytest.mark.spec("K-110", "K-08")
def test_no_thread_is_needed(twin, serve):
    """Go's runtime starts threads before any code of kcup runs, and reports itself if it cannot."""
    watch = Watch(("clone",), lambda *_: errno.EAGAIN)
    with Server(twin, ["healthcheck", *where(serve())], wait=False, preexec_fn=watch.enter) as asking:
        assert (asking.wait(), asking.stderr()[:8]) == ((0, "") if twin.name == "rust" else (2, "runtime:"))


@pytest.mark.spec("K-110")
def test_nothing_is_read_and_nothing_logged(twin, serve):
    """Standard input keeps its bytes, at every log level."""
    port = str(serve().address[1])
    reading, writing = os.pipe()
    os.write(writing, b"Hello")
    argv = [twin.binary, "healthcheck", "--port", port, "--log-level", "debug"]
    result = subprocess.run(argv, env={}, stdin=reading, capture_output=True, timeout=20, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert unread(reading) == len(b"Hello")
    os.close(reading)
    os.close(writing)
