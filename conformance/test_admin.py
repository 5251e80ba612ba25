"""K-115 to K-117: the second listener."""

import contextlib
import socket

import pytest

from runner.metrics import HOT, TYPE, AdminConnection, ask, scrape
from runner.process import descriptors, has_read_all, until
from runner.reload import GET, get
from runner.wire import GONE, Connection

ADMIN = ("--admin", "127.0.0.1:0")
TEXT = "text/plain; charset=utf-8"
FIELDS = {"content-type", "content-length", "date", "connection"}
NOT_READ = {
    "no version": b"GET /healthz\r\n\r\n",
    "a head of 32 KiB": b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 32768 + b"\r\n\r\n",
    "not HTTP at all": bytes(range(256)) + b"\r\n\r\n",
}
CASES = {
    "healthz": ("GET", "/healthz", 200, TEXT, b"ok"),
    "readyz": ("GET", "/readyz", 200, TEXT, b"ready"),
    "metrics": ("GET", "/metrics", 200, TYPE, None),
    "HEAD of healthz": ("HEAD", "/healthz", 200, TEXT, b""),
    "HEAD of readyz": ("HEAD", "/readyz", 200, TEXT, b""),
    "HEAD of metrics": ("HEAD", "/metrics", 200, TYPE, b""),
    "the root": ("GET", "/", 404, TEXT, b"No such resource"),
    "a slash behind": ("GET", "/healthz/", 404, TEXT, b"No such resource"),
    "capitals": ("GET", "/HEALTHZ", 404, TEXT, b"No such resource"),
    "a query": ("GET", "/healthz?x", 200, TEXT, b"ok"),
    "an empty query": ("GET", "/readyz?", 200, TEXT, b"ready"),
    "an absolute form": ("GET", "http://a/healthz", 200, TEXT, b"ok"),
    "two slashes": ("GET", "//healthz", 404, TEXT, b"No such resource"),
    "HEAD of nothing": ("HEAD", "/x", 404, TEXT, b""),
    "POST": ("POST", "/healthz", 404, TEXT, b"No such resource"),
    "DELETE": ("DELETE", "/metrics", 404, TEXT, b"No such resource"),
    "OPTIONS of all": ("OPTIONS", "*", 404, TEXT, b"No such resource"),
}
each_case = pytest.mark.parametrize("case", CASES, ids=lambda name: name.replace(" ", "-"))


@pytest.mark.spec("K-115", "K-116", "K-117", "K-118")
@each_case
def test_response(serve, case):
    method, target, status, content_type, body = CASES[case]
    response = ask(serve(*ADMIN).admin, target, method)
    assert (response.status, response.one("content-type")) == (status, content_type)
    assert set(response.names()) == FIELDS and len(response.fields) == len(FIELDS)
    assert response.one("connection") == "close"
    assert body is None or response.body == body


@pytest.mark.spec("K-115")
@pytest.mark.parametrize("case", NOT_READ, ids=lambda name: name.replace(" ", "-"))
def test_what_cannot_be_read_is_refused(serve, case):
    """Unread bytes of the request may reset the connection, and the response is then lost."""
    server = serve(*ADMIN)
    status = 400
    with AdminConnection(server.admin) as connection, contextlib.suppress(*GONE):
        connection.send(NOT_READ[case])
        status = connection.response().status
    assert 400 <= status < 600
    assert ask(server.admin, "/healthz").body == b"ok"


@pytest.mark.spec("K-115", "K-17a")
@pytest.mark.parametrize(
    ("admin", "host"),
    [
        *[("127.0.0.1:0", "127.0.0.1"), ("127.0.0.9:0", "127.0.0.9"), ("[::1]:0", "::1")],
        *[("localhost:0", "127.0.0.1"), (":0", "::")],
    ],
)
def test_the_address_is_logged_before_the_line(serve, admin, host):
    server = serve("--admin", admin, "--log-format", "json")
    shown = f"[{host}]" if ":" in host else host
    assert server.admin[0] == host
    assert server.admin[1] not in (0, server.address[1])
    assert f"admin listening on http://{shown}:{server.admin[1]}/" in server.events("info")
    assert ask(server.admin, "/healthz").body == b"ok"


@pytest.mark.spec("K-17a")
def test_a_port_alone_is_on_all_addresses(serve):
    port = serve(env={"ADMIN": ":0"}).admin[1]
    for host in ("127.0.0.1", "127.0.0.9", "::1"):
        assert ask((host, port), "/healthz").body == b"ok"


@pytest.mark.spec("K-115", "K-02")
def test_the_port_and_the_variable(serve):
    first = serve(env={"ADMIN": "127.0.0.1:0"})
    port = first.admin[1]
    first.signal()
    assert first.wait(10) == 0
    assert serve("--admin", f"127.0.0.1:{port}").admin[1] == port


@pytest.mark.spec("K-16", "K-115")
def test_an_admin_address_in_use(twin):
    """The public listener has not listened, and no line said that it does, or which limits it would have."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        admin = f"127.0.0.1:{taken.getsockname()[1]}"
        result = twin.run(["--port", "0", "--admin", admin, "--max-connections", "1000000"], stdin=b"x")
    assert (result.returncode, result.stdout) == (1, b"")
    assert result.stderr.decode() == f"kcup: cannot listen on {admin}: address already in use\n"


@pytest.mark.spec("K-115")
@pytest.mark.parametrize("target", ["/healthz", "/readyz", "/metrics"])
def test_nothing_of_it_is_public(serve, target):
    server = serve(*ADMIN)
    response = get(server.address, target)
    assert (response.status, response.body) == (200, b"Hello\n")
    assert get(serve(*ADMIN, "--path", "/a").address, target).status == 404


@pytest.mark.spec("K-115")
def test_a_head_may_come_in_single_bytes(serve):
    with AdminConnection(serve(*ADMIN).admin) as connection:
        connection.send(b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n", piece=1)
        assert connection.response().body == b"ready"
        connection.expect_end()


@pytest.mark.spec("K-115", "K-117", "K-18")
def test_it_answers_until_the_drain_is_over(serve):
    server = serve(*ADMIN, "--shutdown-timeout-seconds", "60")
    with Connection(server.address) as connection:
        connection.send(GET[:9])
        until(lambda: has_read_all(server, [connection]))
        assert ask(server.admin, "/readyz").status == 200
        server.signal()
        until(lambda: ask(server.admin, "/readyz").status == 503)
        response = ask(server.admin, "/readyz")
        assert (response.one("content-type"), response.body) == (TEXT, b"draining")
        assert (ask(server.admin, "/readyz", "HEAD").status, ask(server.admin, "/healthz").status) == (503, 200)
        until(lambda: refused(server.address))
        assert scrape(server)[HOT] == 1
        connection.send(GET[9:])
        assert connection.response().status == 200
    assert server.wait(10) == 0


def refused(address):
    try:
        Connection(address).socket.close()
    except OSError:
        return True
    return False


@pytest.mark.spec("K-115", "K-18")
def test_silent_admin_connections_hold_no_drain_up(serve):
    server = serve(*ADMIN, "--shutdown-timeout-seconds", "60")
    before = len(descriptors(server.process.pid))
    with AdminConnection(server.admin) as connection:
        connection.send(b"GET /healthz")
        until(lambda: len(descriptors(server.process.pid)) > before)
        server.signal()
        assert server.wait(10) == 0
