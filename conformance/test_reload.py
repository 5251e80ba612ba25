"""K-100, K-101: SIGHUP, and what it does with the changed file."""

import email.utils
import hashlib
import os
import signal
from dataclasses import replace

import pytest

from runner.process import has_read_all, listening_port, pending_signals, unread, until, write_fifo
from runner.reload import (
    GET,
    STAYS,
    WAYS,
    become,
    clear,
    config_map,
    get,
    hold_to_all,
    plain,
    reload,
    reload_cases,
    rename_over,
    serves,
    swap_the_data_link,
    warned,
)
from runner.wire import Connection

BIG, OTHER_BIG = (plain(bytes(range(start, start + 128)) * 131072) for start in (0, 128))
SUCCESSES = [case for case in reload_cases() if case.to]
FAILURES = [case for case in reload_cases() if not case.to]


def named(cases):
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name.replace(" ", "-"))


def started(serve, options, **more):
    args = ("--log-format", "json", *options.args)
    return serve(*args, content=options.content, name=options.file, mtime=options.mtime, **more)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@named(SUCCESSES)
def test_reload(serve, case, way):
    """Every field, variant and byte is that of the new content, however the file was replaced."""
    as_mounted = {"preexec_fn": lambda: config_map(case.set.file)} if way is swap_the_data_link else {}
    server = started(serve, case.set, **as_mounted)
    hold_to_all(server, case.set, case.target)
    way(server.directory / case.set.file, case.to.content, case.to.mtime)
    assert serves(server, case.set, case.target), "nobody asked for a reload yet"
    reload(server, case.to, case.target)
    hold_to_all(server, case.to, case.target, case.set)
    assert server.events("warn", "error") == []


@named(FAILURES)
def test_reload_that_fails(serve, case, request):
    """The last good content stays, and each line that would have ended kcup is a warning. The next reload works as
    usual."""
    user = request.getfixturevalue("as_nobody") if "mode" in case.file else {}
    server = started(serve, case.set, **user)
    path = server.directory / case.set.file
    become(path, case.file)
    server.signal(signal.SIGHUP)
    first, *findings = case.warnings
    expected = [first + STAYS, *findings]
    assert warned(server, len(expected)) == expected
    hold_to_all(server, case.set, case.target)
    clear(path)
    touched = replace(case.set, mtime=case.set.mtime + 1)
    rename_over(path, touched.content, touched.mtime)
    server.signal(signal.SIGHUP)
    date = email.utils.formatdate(touched.mtime, usegmt=True)
    until(lambda: get(server.address, case.target).one("last-modified") == date)
    hold_to_all(server, touched, case.target)
    assert server.events("warn", "error") == expected


@pytest.mark.spec("K-101")
def test_of_a_fifo_nothing_is_read(serve):
    server = serve("--log-format", "json")
    become(server.directory / "hello.txt", {"fifo": True})
    fifo = os.open(server.directory / "hello.txt", os.O_RDWR | os.O_NONBLOCK)
    os.write(fifo, b"not for kcup")
    server.signal(signal.SIGHUP)
    assert warned(server, 1) == ['cannot read content from "hello.txt": it is not a regular file' + STAYS]
    assert unread(fifo) == len(b"not for kcup")
    os.close(fifo)


@pytest.mark.spec("K-101")
def test_standard_input_can_be_read_only_once(serve):
    server = serve("--log-format", "json", content=None, stdin=b"Hello")
    server.signal(signal.SIGHUP)
    assert warned(server, 1) == ["cannot read content from standard input: it can be read only once" + STAYS]
    assert get(server.address).body == b"Hello"


@pytest.mark.spec("K-101")
@pytest.mark.parametrize("then", ["the same FIFO", "a regular file"])
def test_what_was_no_regular_file_can_be_read_only_once(serve, then):
    server = serve(
        "--log-format", "json", "--file", "fifo", content=None, wait=False, preexec_fn=lambda: os.mkfifo("fifo")
    )
    write_fifo(server.directory / "fifo", b"Hello")
    server.wait_listening()
    if then == "a regular file":
        rename_over(server.directory / "fifo", b"other")
    server.signal(signal.SIGHUP)
    assert warned(server, 1) == ['cannot read content from "fifo": it can be read only once' + STAYS]
    assert get(server.address).body == b"Hello"


@pytest.mark.spec("K-100", "K-92")
def test_the_record_of_a_new_policy_is_logged(serve, twin):
    case = next(case for case in SUCCESSES if "--preset" in case.set.args)
    server = started(serve, case.set)
    rename_over(server.directory / case.set.file, case.to.content)
    reload(server, case.to, case.target)
    record = twin.run(["mta-sts", "txt"], stdin=case.to.content).stdout.decode().strip()
    said = f"mta-sts: publish {record} as the TXT record of _mta-sts.DOMAIN"
    until(lambda: said in server.events("info"))


@pytest.mark.spec("K-100")
def test_every_worker_answers_with_it_at_once(serve):
    """On connections that were already open, spread over all workers."""
    server, new = serve("--threads", "4"), plain(b"new\n")
    held = [Connection(server.address) for _ in range(32)]
    for connection in held:
        connection.send(GET)
        assert connection.response().body == b"Hello\n"
    rename_over(server.directory / "hello.txt", new.content)
    reload(server, new)
    for connection in held:
        connection.send(GET)
        assert connection.response().body == new.content


@pytest.mark.spec("K-100")
def test_a_response_under_way_goes_on_with_its_content(serve):
    server = serve(content=BIG.content)
    with Connection(server.address, receive_buffer=65536) as connection:
        connection.send(GET * 2)
        start = connection.receive(1000)
        rename_over(server.directory / "hello.txt", OTHER_BIG.content)
        reload(server, OTHER_BIG)
        connection.pending = start
        assert hashlib.sha256(connection.response().body).hexdigest()[:32] == BIG.digest
        assert hashlib.sha256(connection.response().body).hexdigest()[:32] == OTHER_BIG.digest


@pytest.mark.spec("K-100")
def test_a_storm_of_signals_ends_with_the_last_content(serve):
    server = serve("--log-format", "json")
    contents = [plain(f"number {number}\n".encode()) for number in range(10)]
    for content in contents:
        rename_over(server.directory / "hello.txt", content.content)
        for _ in range(100):
            server.signal(signal.SIGHUP)
    until(lambda: serves(server, contents[-1]))
    assert server.events("warn", "error") == []
    server.signal()
    assert server.wait(10) == 0


@pytest.mark.spec("K-100", "K-10")
def test_before_it_listens_a_signal_does_nothing(serve):
    reading, writing = os.pipe()
    with open(writing, "wb", buffering=0) as pipe, open(reading, "rb") as stdin:
        server = serve("--log-format", "json", content=None, wait=False, preexec_fn=lambda: os.dup2(stdin.fileno(), 0))
        pipe.write(b"one ")
        until(lambda: unread(pipe.fileno()) == 0)
        for _ in range(10):
            server.signal(signal.SIGHUP)
        until(lambda: not pending_signals(server.process.pid))
        pipe.write(b"two")
    server.wait_listening()
    assert get(server.address).body == b"one two"
    assert server.events("warn", "error") == []


@pytest.mark.spec("K-100", "K-18")
def test_during_the_drain_a_signal_does_nothing(serve):
    server = serve("--shutdown-timeout-seconds", "60", "--log-format", "json")
    with Connection(server.address) as connection:
        connection.send(GET[:-2])
        until(lambda: has_read_all(server, [connection]))
        server.signal()
        until(lambda: not listening_port(server.process.pid))
        become(server.directory / "hello.txt", {"content": ""})
        server.signal(signal.SIGHUP)
        until(lambda: not pending_signals(server.process.pid))
        connection.send(GET[-2:])
        assert connection.response().body == b"Hello\n"
    assert server.wait(10) == 0
    assert server.events("warn", "error") == []
