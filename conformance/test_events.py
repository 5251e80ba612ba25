"""K-20: the events that both programs log, in the same words. Those that need more are in the tests of their numbers,
where Server.events() holds every line to SPEC's table."""

import contextlib
import hashlib
import os
import pty
import resource
import signal
import subprocess

import pytest

from runner.contract import is_event
from runner.process import until
from runner.reload import GET, STAYS, rename_over
from runner.twin import Server
from runner.wire import Connection

JSON = ("--log-format", "json", "--max-connections", "100")
TEXT = "text/plain; charset=utf-8"
POLICY = b"version: STSv1\nmode: testing\nmx: mx.example.com\nmax_age: 604800\n"
OTHER = POLICY.replace(b"mx.", b"my.")
TYPED = "reading standard input, a terminal: end it with Ctrl-D on a line of its own"


def info(server, count):
    """Waits for this many events, and returns all of them."""
    return until(lambda: len(found := server.events("info", "warn", "error")) >= count and found)


def record(policy):
    digest = hashlib.sha256(policy.replace(b"\n", b"\r\n")).hexdigest()
    return f"mta-sts: publish v=STSv1; id={digest[:32]}; as the TXT record of _mta-sts.DOMAIN"


def ended(server):
    server.signal()
    assert server.wait(10) == 0
    return server.events("info", "warn", "error")


@pytest.mark.spec("K-20")
def test_a_word_that_is_no_event_is_not_taken_for_one():
    assert is_event("serving a: 2 bytes, text/css", "info") and is_event("serving a: 1 byte, text/css", "info")
    assert not any(is_event(f"serving a: {size}, text/css", "info") for size in ("1 bytes", "2 byte", "bytes"))
    assert not is_event("draining", "warn") and not is_event("draining more", "info")


@pytest.mark.spec("K-20", "K-20a", "K-100")
def test_a_life_from_the_start_to_the_end(serve):
    """Nothing is said twice, and nothing that is as ever."""
    server = serve(*JSON, content=b"Hello\n", name='a "b".html')
    name = 'a \\"b\\".html'
    assert server.events("info", "warn", "error") == [f"serving {name}: 6 bytes, text/html; charset=utf-8"]
    server.signal(signal.SIGHUP)
    assert info(server, 2)[1] == f"reloaded {name}: unchanged, 6 bytes, text/html; charset=utf-8"
    rename_over(server.directory / 'a "b".html', b"\xff")
    server.signal(signal.SIGHUP)
    assert info(server, 3)[2] == f"reloaded {name}: changed, 1 byte, text/html"
    (server.directory / 'a "b".html').unlink()
    server.signal(signal.SIGHUP)
    assert info(server, 4)[3] == f'cannot read content from "{name}": no such file{STAYS}'
    assert ended(server)[4:] == ["draining"]


@pytest.mark.spec("K-20", "K-20a")
@pytest.mark.parametrize(
    ("args", "options", "event"),
    [
        ([], {"stdin": b"x"}, f"serving standard input: 1 byte, {TEXT}"),
        (["--text", "two"], {}, f"serving --text: 3 bytes, {TEXT}"),
        (["--text", "two", "--path", "/a"], {}, f"serving --text at /a: 3 bytes, {TEXT}"),
    ],
    ids=["standard input", "text", "path"],
)
def test_what_is_served(serve, args, options, event):
    assert ended(serve(*JSON, *args, content=None, **options)) == [event, "draining"]


@pytest.mark.spec("K-20", "K-92")
def test_the_record_is_logged_when_it_is_another(serve):
    """For other bytes that are served as the same, it is not."""
    server = serve(*JSON, "--preset", "mta-sts", content=POLICY, name="p.txt")
    served = f"p.txt: {{}}, {len(POLICY) + 4} bytes, {TEXT}"
    begun = f"serving p.txt at /.well-known/mta-sts.txt: {len(POLICY) + 4} bytes, {TEXT}"
    assert info(server, 2) == [begun, record(POLICY)]
    rename_over(server.directory / "p.txt", POLICY.replace(b"\n", b"\r\n"))
    server.signal(signal.SIGHUP)
    assert info(server, 3)[2:] == [f"reloaded {served.format('changed')}"]
    rename_over(server.directory / "p.txt", OTHER)
    server.signal(signal.SIGHUP)
    assert info(server, 5)[3:] == [f"reloaded {served.format('changed')}", record(OTHER)]
    server.signal(signal.SIGHUP)
    assert info(server, 6)[5:] == [f"reloaded {served.format('unchanged')}"]
    assert ended(server)[6:] == ["draining"]


@pytest.mark.spec("K-20", "K-84")
def test_limits_are_told_if_they_are_lowered(serve):
    """By the limit on descriptors; test_surroundings.py has that on memory."""
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))  # noqa: E731
    first, *_ = serve("--log-format", "json", preexec_fn=few).events("info")
    number = first.split()[2]
    assert 1 < int(number) < 100
    assert first == f"at most {number} connections, not 20000: the limit on open files allows no more"


@pytest.mark.spec("K-20", "K-19", "K-119")
@pytest.mark.parametrize("count", [1, 2])
def test_a_drain_that_takes_too_long(serve, count):
    server = serve(*JSON, "--shutdown-timeout-seconds", str(count), "--log-level", "debug")
    cut = {1: "1 second: 1 connection", 2: "2 seconds: 2 connections"}[count]
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            connection = stack.enter_context(Connection(server.address))
            connection.send(GET + GET[:5])
            connection.response()
        assert ended(server)[1:] == ["draining", f"the drain is over after {cut} cut"]
    assert ends(server) == ["connection from 127.0.0.1 closed: cut"] * count


@pytest.mark.spec("K-20", "K-12a")
def test_a_terminal_is_told_that_it_is_read(twin):
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "wb", buffering=0) as keys, os.fdopen(theirs, "rb") as terminal:
        server = Server(twin, JSON, wait=False, preexec_fn=lambda: os.dup2(terminal.fileno(), 0))
        with server:
            assert info(server, 1) == [TYPED]
            keys.write(b"Hello\n\x04")
            server.wait_listening()
            assert ended(server) == [TYPED, f"serving standard input: 6 bytes, {TEXT}", "draining"]


@pytest.mark.spec("K-12a")
@pytest.mark.parametrize("verb", ["lint", "txt"])
def test_a_terminal_is_told_that_a_policy_is_read(twin, verb):
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "wb", buffering=0) as keys, os.fdopen(theirs, "rb") as terminal:
        keys.write(POLICY + b"\x04")
        argv = [twin.binary, "mta-sts", verb]
        result = subprocess.run(argv, env={}, stdin=terminal, capture_output=True, timeout=20, check=False)
    assert (result.returncode, result.stderr.decode()) == (0, f"kcup: {TYPED}\n")


ENDS = {"peer": GET, "answered": GET[:-2] + b"Connection: close\r\n\r\n", "refused": b"GET / HTTP/9.9\r\n\r\n"}


@pytest.mark.spec("K-20", "K-20a", "K-119")
@pytest.mark.parametrize(("host", "peer"), [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("unix:socket", "unix:")])
def test_the_end_of_each_connection_is_told_at_debug(serve, host, peer):
    server = serve(*JSON, "--host", host, "--log-level", "debug")
    for count, data in enumerate(ENDS.values(), 1):
        with Connection(server.address) as connection:
            connection.send(data)
            connection.response()
        until(lambda count=count: len(ends(server)) == count)
    with Connection(server.address) as connection:
        connection.send(GET)
        connection.response()
        ended(server)
    assert ends(server) == [f"connection from {peer} closed: {reason}" for reason in (*ENDS, "drained")]


@pytest.mark.spec("K-20", "K-119")
@pytest.mark.parametrize(("clock", "data"), [("idle", b""), ("header", GET[:-2])])
def test_the_end_by_a_clock_is_told_at_debug(serve, clock, data):
    server = serve(*JSON, f"--{clock}-timeout-seconds", "1", "--log-level", "debug")
    with Connection(server.address) as connection:
        connection.send(data)
        until(lambda: ends(server))
    assert ends(server) == [f"connection from 127.0.0.1 closed: {clock}_timeout"]


def ends(server):
    return [event for event in server.events("debug") if event.startswith("connection")]
