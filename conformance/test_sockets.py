"""K-140, K-141: unix sockets, and sockets passed by a service manager."""

import contextlib
import errno
import os
import signal
import socket
import stat
import sys
import tempfile
from pathlib import Path

import pytest

from runner.cases import HOME
from runner.peers import is_open
from runner.process import until
from runner.reload import GET, get
from runner.syscalls import Watch
from runner.wire import Connection

CANNOT_TAKE = "kcup: cannot take the socket that was passed: "
NO_LISTENER = CANNOT_TAKE + "it is not a listening stream socket\n"


@pytest.mark.spec("K-140", "K-15")
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o777])
def test_everybody_may_come_in(serve, umask):
    server = serve("--host", "unix:socket", preexec_fn=lambda: os.umask(umask))
    assert server.line == b"kcup listening on unix:socket\n"
    mode = os.stat(server.address).st_mode
    assert (stat.S_ISSOCK(mode), stat.S_IMODE(mode)) == (True, 0o666)
    assert get(server.address).body == b"Hello\n"


@pytest.mark.spec("K-140", "K-15")
def test_an_absolute_path_and_the_variable(serve, tmp_path):
    with tempfile.TemporaryDirectory() as directory:
        server = serve(env={"HOST": f"unix:{directory}/a b"})
        assert server.line.decode() == f"kcup listening on unix:{directory}/a b\n"
        assert get(server.address).status == 200


@pytest.mark.spec("K-140")
def test_a_path_as_long_as_may_be(serve):
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/" + "a" * (106 - len(directory))
        assert get(serve("--host", f"unix:{path}").address).status == 200


@pytest.mark.spec("K-140", "K-110")
@pytest.mark.parametrize("name", ["@", "@" * 107, "@" + "a" * 105, "\udcff", "a\nb", "\u202e", 'a"b\\'], ids=ascii)
def test_a_path_may_be_of_any_bytes(serve, twin, name):
    """The line of K-15 quotes it as values are quoted, and remains one line."""
    server = serve("--host", f"unix:{name}")
    assert (server.directory / name).is_socket()
    assert server.line.count(b"\n") == 1 and server.line.decode().rstrip("\n").isprintable()
    result = twin.run(["healthcheck", "--host", f"unix:{name}"], cwd=server.directory)
    assert (result.returncode, result.stderr) == (0, b"")
    server.process.kill()
    server.wait()
    result = twin.run(["healthcheck", "--host", f"unix:{name}"], cwd=server.directory)
    expected = server.line.replace(b"kcup listening on ", b"kcup: unhealthy: cannot connect to ").rstrip()
    assert result.stderr == expected + b": connection refused\n"


@pytest.mark.spec("K-140")
def test_the_mode_is_there_from_the_beginning(serve):
    """Setting it later would follow a link that somebody put in the socket's place."""
    watch = Watch(("chmod",), lambda *_: errno.EPERM)
    server = serve("--host", "unix:socket", preexec_fn=watch.enter)
    assert stat.S_IMODE(os.stat(server.address).st_mode) == 0o666


@pytest.mark.spec("K-140", "K-16")
def test_a_socket_on_which_somebody_listens_is_left_alone(serve, twin):
    first = serve("--host", "unix:socket")
    args = ["--host", f"unix:{first.address}", "--log-level", "error"]
    result = twin.run(args, stdin=b"other")
    assert (result.returncode, result.stdout) == (1, b"")
    assert result.stderr.decode() == f"kcup: cannot listen on unix:{first.address}: address already in use\n"
    assert get(first.address).body == b"Hello\n"


@pytest.mark.spec("K-140")
def test_a_socket_that_nobody_listens_on_is_replaced(serve):
    first = serve("--host", "unix:socket")
    first.process.kill()
    first.wait()
    assert Path(first.address).is_socket()
    second = serve("--host", f"unix:{first.address}", content=b"second")
    assert get(second.address).body == b"second"


@pytest.mark.spec("K-140")
def test_a_socket_is_left_behind_at_the_end(serve):
    server = serve("--host", "unix:socket")
    server.signal()
    assert server.wait(10) == 0
    assert Path(server.address).is_socket()


@pytest.mark.spec("K-140")
def test_what_is_no_socket_stays(twin, tmp_path):
    """The target of a link is not touched, either."""
    (tmp_path / "file").write_bytes(b"precious")
    (tmp_path / "link").symlink_to("file")
    for name in ("file", "link"):
        result = twin.run(["--host", f"unix:{name}", "--log-level", "error"], cwd=tmp_path, stdin=b"x")
        assert (result.returncode, result.stderr.decode()) == (
            1,
            f"kcup: cannot listen on unix:{name}: it is not a socket\n",
        )
    assert (tmp_path / "file").read_bytes() == b"precious"


@pytest.mark.spec("K-140", "K-18")
def test_a_drain_answers_what_waits_at_a_unix_socket(serve):
    server = serve("--host", "unix:socket", "--shutdown-timeout-seconds", "60")
    server.signal(signal.SIGSTOP)
    waiting = [Connection(server.address) for _ in range(20)]
    silent = [Connection(server.address) for _ in range(5)]
    for connection in waiting:
        connection.send(GET)
    server.signal()
    server.signal(signal.SIGCONT)
    for connection in waiting:
        assert connection.response().status == 200
        connection.expect_end()
    for connection in silent:
        connection.expect_end()
    assert server.wait(10) == 0


@pytest.mark.spec("K-140", "K-84")
def test_a_silent_one_makes_room_at_a_unix_socket(serve):
    server = serve("--host", "unix:socket", "--max-connections", "2")
    held = []
    for _ in range(4):
        held.append(Connection(server.address))
        held[-1].send(GET)
        assert held[-1].response().status == 200
    until(lambda: sum(map(is_open, held)) == 2)


def activated(serve, descriptor, *args, process="self", count="1", **options):
    """A kcup to which this descriptor was passed as number 3."""
    number = "none" if descriptor is None else str(descriptor)
    wrapper = (sys.executable, str(HOME / "runner" / "activate.py"), number, process, count)
    passed = () if descriptor is None else (descriptor,)
    return serve(*args, prefix=wrapper, pass_fds=passed, **options)


@pytest.mark.spec("K-141", "K-15")
def test_a_tcp_listener_is_taken(serve):
    """The host cannot be bound, and the port is taken: both are ignored."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        server = activated(serve, listener.fileno(), "--host", "192.0.2.1", "--port", str(port))
    assert server.line.decode() == f"kcup listening on http://{host}:{port}/\n"
    assert get(server.address).body == b"Hello\n"
    server.signal()
    assert server.wait(10) == 0


@pytest.mark.spec("K-141", "K-15")
def test_a_listener_of_ipv6_is_taken(serve):
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
        server = activated(serve, listener.fileno())
        assert server.line.decode() == f"kcup listening on http://[::1]:{listener.getsockname()[1]}/\n"
    assert get(server.address).body == b"Hello\n"


@pytest.mark.spec("K-141", "K-140")
def test_a_unix_listener_is_taken(serve):
    with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{directory}/socket")
        listener.listen()
        server = activated(serve, listener.fileno())
        assert server.line.decode() == f"kcup listening on unix:{directory}/socket\n"
        assert get(server.address).body == b"Hello\n"


@pytest.mark.spec("K-141")
def test_what_has_waited_since_before_is_answered(serve):
    """This is the purpose of socket activation."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        early = Connection(listener.getsockname())
        early.send(GET)
        server = activated(serve, listener.fileno())
        assert early.response().body == b"Hello\n"
        server.signal()
        early.expect_end()
        assert server.wait(10) == 0
        late = Connection(listener.getsockname())
        late.send(GET)
        activated(serve, listener.fileno(), content=b"next")
        assert late.response().body == b"next"


@pytest.mark.spec("K-141")
@pytest.mark.parametrize(("count", "said"), [("2", "2"), ("17", "17"), ("1\n", '"1\\n"')])
def test_another_number_of_sockets_is_an_error(serve, count, said):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = activated(serve, listener.fileno(), "--log-level", "error", count=count, wait=False)
        assert server.wait() == 1
    assert server.stderr() == f"{CANNOT_TAKE}there are {said}, and one is expected\n"
    assert server.process.stdout.read() == b""


@contextlib.contextmanager
def no_listener(kind):
    """A descriptor that is not a listening stream socket."""
    with contextlib.ExitStack() as stack:
        if kind == "nothing":
            yield None
        elif kind == "a pipe":
            reading, writing = os.pipe()
            stack.callback(os.close, reading)
            stack.callback(os.close, writing)
            yield reading
        elif kind == "a file":
            yield stack.enter_context(tempfile.TemporaryFile()).fileno()
        else:
            types = {"a datagram socket": socket.SOCK_DGRAM}
            opened = stack.enter_context(socket.socket(socket.AF_INET, types.get(kind, socket.SOCK_STREAM)))
            opened.bind(("127.0.0.1", 0))
            if kind == "a connection":
                other = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
                opened.connect(other.getsockname())
            yield opened.fileno()


@pytest.mark.spec("K-141")
@pytest.mark.parametrize(
    "kind",
    ["nothing", "a pipe", "a file", "a datagram socket", "a socket that does not listen", "a connection"],
    ids=lambda kind: kind.replace(" ", "-"),
)
def test_what_is_no_listening_stream_socket_is_an_error(serve, kind):
    with no_listener(kind) as descriptor:
        server = activated(serve, descriptor, "--log-level", "error", wait=False)
        assert server.wait() == 1
    assert (server.process.stdout.read(), server.stderr()) == (b"", NO_LISTENER)


@pytest.mark.spec("K-141")
def test_sockets_of_another_process_are_nothing(serve):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = activated(serve, listener.fileno(), process="1", count="2")
        assert server.address != listener.getsockname()
    assert get(server.address).status == 200


@pytest.mark.spec("K-141")
def test_without_a_process_there_are_no_sockets(serve):
    server = serve(env={"LISTEN_FDS": "1"})
    assert get(server.address).status == 200


@pytest.mark.spec("K-141")
def test_an_empty_number_is_unset(serve):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = activated(serve, listener.fileno(), count="")
        assert server.address != listener.getsockname()
    assert get(server.address).status == 200
