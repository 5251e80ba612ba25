"""K-125 to K-128: the lines of the access log. test_access_log_written.py has how they are written."""

import calendar
import json
import re
import time
from collections import defaultdict

import pytest

from runner.access_log import FORMATS, hold_to, log_cases, next_lines
from runner.cases import vectors
from runner.parts import to_bytes
from runner.reload import GET
from runner.twin import read_line
from runner.wire import Connection

CONTENT = b"Hello, world!\n"
each_format = pytest.mark.parametrize("form", FORMATS)


def exchange(address, data):
    """Sends, ends our side, and reads the response. Returns the times at which it began and ended."""
    began = time.time()
    with Connection(address) as connection:
        connection.send(data)
        connection.half_close()
        while connection.receive():
            pass
    return began, time.time()


@each_format
@pytest.mark.parametrize("case", log_cases(), ids=lambda case: case.name.replace(" ", "-"))
def test_case(serve, case, form):
    """The lines are exactly these, until the end."""
    server = serve("--access-log", form, content=CONTENT)
    began, ended = exchange(server.address, to_bytes(case.send))
    expected = getattr(case, form)
    lines = next_lines(server, len(expected))
    hold_to(lines, expected, form, "127.0.0.1", began, ended)
    assert all(json.loads(line) for line in lines if form == "json")
    server.signal()
    assert server.wait(10) == 0
    assert server.process.stdout.read() == b""


@pytest.mark.spec("K-125", "K-140")
@each_format
@pytest.mark.parametrize(("host", "asked", "peer"), [
    ("::1", "::1", "::1"), ("::", "::1", "::1"), ("::", "127.0.0.1", "127.0.0.1"), ("127.0.0.2", None, "127.0.0.1"),
    ("unix:socket", None, "unix:"),
])  # fmt: skip
def test_the_peer(serve, form, host, asked, peer):
    server = serve("--host", host, "--access-log", form, content=CONTENT)
    address = (asked, server.address[1]) if asked else server.address
    began, ended = exchange(address, GET)
    case = next(case for case in log_cases() if case.name == "what a proxy says is not looked at")
    hold_to(next_lines(server, 1), getattr(case, form), form, peer, began, ended)


@pytest.mark.spec("K-15", "K-125", "K-140")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1", 'unix:a"\\b'])
def test_every_line_is_json(serve, host):
    began = int(time.time())
    server = serve("--host", host, "--access-log", "json", content=CONTENT, wait=False)
    first = json.loads(read_line(server.process.stdout, 20))
    assert list(first) == ["time", "listening"]
    assert began <= calendar.timegm(time.strptime(first["time"], "%Y-%m-%dT%H:%M:%SZ")) <= time.time()
    if host.startswith("unix:"):
        assert first["listening"] == 'unix:a\\"\\\\b'
        exchange(str(server.directory / 'a"\\b'), GET)
    else:
        place = re.fullmatch(rf"http://\[?{host}\]?:(\d+)/", first["listening"])
        exchange((host, int(place[1])), GET)
    server.signal()
    assert server.wait(10) == 0
    (line,) = server.process.stdout.read().splitlines()
    assert json.loads(line)["status"] == 200


@pytest.mark.spec("K-125a", "K-110")
@each_format
@pytest.mark.parametrize(("host", "logged"), [
    ("127.0.0.1", False), ("0.0.0.0", False), ("::", False), ("127.0.0.2", False), ("::1", True), ("unix:socket", True),
])  # fmt: skip
def test_a_health_check_has_no_line(twin, serve, host, logged, form):
    """But every other request has, whatever it says of itself."""
    server = serve("--host", host, "--access-log", form, content=CONTENT)
    port = [] if host.startswith("unix:") else ["--port", str(server.address[1])]
    result = twin.run(["healthcheck", "--host", host, *port], cwd=server.directory)
    assert (result.returncode, result.stderr) == (0, b"")
    claims = b"User-Agent: kcup healthcheck\r\nX-Forwarded-For: 127.75.67.85\r\nForwarded: for=127.75.67.85\r\n\r\n"
    exchange(server.address, GET.replace(b" / ", b" /other ")[:-2] + claims)
    lines = next_lines(server, 1 + logged)
    # Lines of different connections have no order.
    assert sorted(b"/other" in line for line in lines) == [False, True][not logged :]
    server.signal()
    assert server.wait(10) == 0
    assert server.process.stdout.read() == b""


# Where to listen for a connection whose peer is this one.
HOSTS = {"127.0.0.1": "127.0.0.1", "::1": "::1", "::ffff:127.0.0.1": "::", "unix:": "unix:socket"}


def vectors_by_server():
    """The vectors of each connection's peer and value of the option."""
    chosen = defaultdict(list)
    for vector in vectors("trusted_proxy")["case"]:
        chosen[vector["peer"], vector.get("trusted", "")].append(vector)
    return [pytest.param(*key, cases, id="-by-".join(key)) for key, cases in chosen.items()]


@pytest.mark.spec("K-125", "K-128", "K-128a", "K-128b", "K-128c")
@pytest.mark.parametrize(("peer", "trusted", "cases"), vectors_by_server())
def test_the_client_behind_a_proxy(serve, peer, trusted, cases):
    """All on one connection, whose lines are in order."""
    host = HOSTS[peer]
    server = serve("--host", host, env={"ACCESS_LOG": "json", "TRUSTED_PROXY": trusted}, content=CONTENT)
    heads = ["\r\n".join(["GET / HTTP/1.1", "Host: a", *case["fields"], "", ""]) for case in cases]
    exchange(("127.0.0.1", server.address[1]) if host == "::" else server.address, "".join(heads).encode())
    lines = next_lines(server, len(cases))
    logged = {case["name"]: json.loads(line)["peer"] for case, line in zip(cases, lines, strict=True)}
    assert logged == {case["name"]: case["want"] for case in cases}


@pytest.mark.spec("K-128")
@each_format
def test_a_refused_head_names_no_client(serve, form):
    server = serve("--access-log", form, "--trusted-proxy", "127.0.0.1", content=CONTENT)
    head = GET.replace(b"\r\n\r\n", b"\r\nX-Forwarded-For: 192.0.2.1\r\nX : y\r\n\r\n")
    began, ended = exchange(server.address, head)
    case = next(case for case in log_cases() if case.name == "a refused head")
    hold_to(next_lines(server, 1), getattr(case, form), form, "127.0.0.1", began, ended)


@pytest.mark.spec("K-125")
def test_the_variable_and_the_default(serve):
    server = serve(env={"ACCESS_LOG": "json"})
    exchange(server.address, GET)
    assert json.loads(next_lines(server, 1)[0])["status"] == 200
    server = serve()
    exchange(server.address, GET)
    server.signal()
    assert server.wait(10) == 0
    assert server.process.stdout.read() == b""
