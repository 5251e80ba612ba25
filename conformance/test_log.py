"""K-20: diagnostics."""

import fcntl
import json
import os
import signal

import pytest

from runner.process import until
from runner.twin import Server
from runner.wire import Connection

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
LEVELS = ["error", "warn", "info", "debug"]
F_SETPIPE_SZ = 1031


def use(server):
    """Does a little of everything that could be logged."""
    for data in (
        GET,
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
        b"GET /",
    ):
        with Connection(server.address) as connection:
            connection.send(data)
            connection.half_close()
            while connection.receive():
                pass


def ended(server):
    server.signal()
    assert server.wait(10) == 0
    return server.stderr().splitlines()


@pytest.mark.spec("K-20")
@pytest.mark.parametrize("level", LEVELS)
def test_text_is_one_event_a_line_at_or_above_its_level(serve, level):
    server = serve("--log-level", level)
    use(server)
    for line in ended(server):
        words = line.lower().split()
        assert any(name in words for name in LEVELS[: LEVELS.index(level) + 1]), line
    assert server.process.stdout.read() == b""


@pytest.mark.spec("K-20")
@pytest.mark.parametrize("level", LEVELS)
def test_json_has_time_level_and_msg(serve, level):
    server = serve("--log-format", "json", "--log-level", level)
    use(server)
    for line in ended(server):
        event = json.loads(line)
        assert {"time", "level", "msg"} <= set(event)
        assert event["level"] in LEVELS[: LEVELS.index(level) + 1]


@pytest.mark.spec("K-20", "K-101")
@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_long_event_is_whole(serve, log_format):
    """A file name of the greatest length, and a reload after the file was removed."""
    name = "./" * 2040 + "hello.txt"
    server = serve("--file", name, "--log-format", log_format)
    (server.directory / "hello.txt").unlink()
    server.signal(signal.SIGHUP)
    line = until(lambda: [line for line in server.stderr().splitlines(keepends=True) if "cannot read" in line])[0]
    event = json.loads(line)["msg"] if log_format == "json" else line.split(" ", 2)[2].rstrip("\n")
    assert event == f'cannot read content from "{name}": no such file; the last good content stays'
    assert line.endswith("\n")


@pytest.mark.spec("K-20")
def test_ordinary_use_is_worth_no_warning(serve):
    server = serve("--log-level", "warn", "--max-connections", "100")
    use(server)
    assert ended(server) == []


@pytest.mark.spec("K-20", "K-19")
def test_a_warning_in_json(serve):
    server = serve("--log-format", "json", "--shutdown-timeout-seconds", "1", "--max-connections", "100")
    with Connection(server.address) as connection:
        connection.send(GET[:9])
        connection.send(GET[9:] + GET[:9])
        connection.response()
        events = [json.loads(line) for line in ended(server)]
    assert [event["level"] for event in events if event["level"] in ("warn", "error")] == ["warn"]


@pytest.mark.spec("K-20")
@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_standard_error_that_nobody_reads_delays_nothing(twin, tmp_path, log_format):
    reading, writing = os.pipe()
    size = fcntl.fcntl(writing, F_SETPIPE_SZ, 4096)
    os.write(writing, b"x" * size)
    with stuck(twin, writing, log_format) as server:
        for _ in range(50):
            use(server)
        server.signal()
        assert server.wait(15) == 0
    os.close(reading)
    os.close(writing)


@pytest.mark.spec("K-20")
@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_standard_error_that_is_closed_ends_nothing(twin, log_format):
    reading, writing = os.pipe()
    os.close(reading)
    with stuck(twin, writing, log_format) as server:
        use(server)
        server.signal()
        assert server.wait(15) == 0
    os.close(writing)


def stuck(twin, descriptor, log_format):
    """A server with this descriptor as standard error."""
    args = ["--log-level", "debug", "--log-format", log_format]
    return Server(twin, args, stdin=b"Hello", preexec_fn=lambda: os.dup2(descriptor, 2), pass_fds=(descriptor,))


@pytest.mark.spec("K-20")
def test_standard_output_that_is_closed_later_ends_nothing(serve):
    server = serve()
    server.process.stdout.close()
    use(server)
    assert server.process.poll() is None
    server.signal()
    until(lambda: server.process.poll() is not None)
    assert server.process.returncode == 0
