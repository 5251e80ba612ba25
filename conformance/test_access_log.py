"""K-125 to K-127: a line for each response, and what happens to lines that nobody reads."""

import calendar
import fcntl
import json
import os
import re
import signal
import threading
import time
from collections import defaultdict

import pytest

from runner.access_log import FORMATS, Reader, hold_to, log_cases, next_lines
from runner.cases import vectors
from runner.metrics import LOST, scrape
from runner.parts import to_bytes
from runner.process import listening_port, until
from runner.reload import GET
from runner.twin import read_line
from runner.wire import Connection

CONTENT = b"Hello, world!\n"
F_SETPIPE_SZ = 1031
each_format = pytest.mark.parametrize("form", FORMATS)
# The start of a line in each format, up to the number of the request, with which its target begins.
NUMBER = {
    "common": re.compile(r'127\.0\.0\.1 - - \[[^]]{26}\] "GET /(\d+)-a* HTTP/1\.1" 200 14'),
    "json": re.compile(
        r'\{"time":"[^"]{20}","peer":"127\.0\.0\.1","method":"GET","target":"/(\d+)-a*","version":"HTTP/1\.1",'
        r'"status":200,"bytes":14\}'
    ),
}


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
    assert [b"/other" in line for line in lines] == [False, True][not logged :]
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


def ask_in_order(address, count, first=0, length=1):
    """Makes this many numbered requests on one connection, some at once; each must get a response."""
    with Connection(address) as connection:
        for start in range(first, first + count, 20):
            numbers = range(start, min(start + 20, first + count))
            targets = [f"/{number}-{'a' * length}".encode() for number in numbers]
            connection.send(b"".join(GET.replace(b" / ", b" %s " % target) for target in targets))
            for _ in numbers:
                assert connection.response().body == CONTENT


def numbers_of(data, form):
    """The numbers of the requests in whole lines; anything else is an error."""
    assert data.endswith(b"\n") or not data, f"half a line at the end: {bytes(data[-200:])!r}"
    matches = [(NUMBER[form].fullmatch(line), line) for line in data.decode().splitlines()]
    assert all(match for match, _ in matches), next(line for match, line in matches if not match)[:300]
    return [int(match[1]) for match, _ in matches]


@pytest.mark.spec("K-125")
@each_format
def test_every_response_has_its_line_in_the_order_of_its_connection(serve, form):
    server = serve("--access-log", form, "--threads", "2", content=CONTENT)
    reader = Reader(server.process.stdout)
    asking = [threading.Thread(target=ask_in_order, args=(server.address, 2000, n * 10000)) for n in range(4)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    server.signal()
    assert server.wait(10) == 0
    reader.join()
    numbers = numbers_of(reader.data, form)
    for start in range(0, 40000, 10000):
        mine = [number for number in numbers if start <= number < start + 10000]
        assert mine == list(range(start, start + 2000))


@pytest.mark.spec("K-125", "K-127")
@each_format
def test_at_the_end_what_is_left_is_written(serve, form):
    server = serve("--access-log", form, content=CONTENT)
    ask_in_order(server.address, 100)
    server.signal(signal.SIGTERM)
    assert server.wait(10) == 0
    assert numbers_of(server.process.stdout.read(), form) == list(range(100))


@pytest.mark.spec("K-127", "K-20")
@each_format
@pytest.mark.parametrize("length", [50, 3900])
def test_lines_that_a_full_pipe_does_not_take_are_lost_whole_and_counted(serve, form, length):
    """Every response arrives although nobody reads the log. Once it is read, the lines written and lost add up."""
    server = serve("--access-log", form, "--admin", "127.0.0.1:0", content=CONTENT)
    fcntl.fcntl(server.process.stdout, F_SETPIPE_SZ, 4096)
    count = 20000 if length < 1000 else 4000
    ask_in_order(server.address, count, length=length)
    until(lambda: scrape(server)[LOST] > 0)
    reader = Reader(server.process.stdout)
    until(lambda: reader.lines() + scrape(server)[LOST] == count)
    ask_in_order(server.address, 20, first=count)
    until(lambda: reader.lines() + scrape(server)[LOST] == count + 20)
    lost = scrape(server)[LOST]
    server.signal()
    assert server.wait(10) == 0
    reader.join()
    numbers = numbers_of(reader.data, form)
    assert len(numbers) + lost == count + 20
    assert numbers == sorted(numbers)
    assert numbers[-20:] == list(range(count, count + 20)), "what is read again is written again"


@pytest.mark.spec("K-127", "K-20")
@each_format
def test_a_standard_output_that_is_closed_loses_every_line(serve, form):
    server = serve("--access-log", form, "--admin", "127.0.0.1:0", content=CONTENT)
    server.process.stdout.close()
    ask_in_order(server.address, 1000)
    until(lambda: scrape(server)[LOST] == 1000)
    server.signal()
    assert server.wait(10) == 0


@pytest.mark.spec("K-127", "K-20")
@each_format
def test_a_full_disk_loses_every_line(serve, form):
    """This includes the line of K-15. The admin listener uses IPv6, to be told from the public one."""
    full = os.open("/dev/full", os.O_WRONLY)
    server = serve(
        "--access-log", form, "--admin", "[::1]:0", content=CONTENT, wait=False, preexec_fn=lambda: os.dup2(full, 1)
    )
    os.close(full)
    port = until(lambda: listening_port(server.process.pid))
    ask_in_order(("127.0.0.1", port), 1000)
    until(lambda: scrape(server)[LOST] == 1000)
    server.signal()
    assert server.wait(10) == 0
