"""K-104, K-105: content for which there is no memory, and what was served before."""

import contextlib
import os
import signal
import subprocess
import time
from subprocess import DEVNULL, PIPE

import pytest

from runner.cgroup import memory_group
from runner.process import until
from runner.reload import GET, STAYS, get, plain, reload, rename_over, warned
from runner.twin import Server
from runner.wire import Connection
from test_versions import SOON, held

MIB = 1 << 20


@pytest.mark.spec("K-104")
def test_a_reload_that_has_no_room_fails(twin):
    """Both contents together exceed the limit; a smaller one is reloaded, before and after."""
    first, second, large = (plain(bytes([size]) * size * MIB) for size in (24, 23, 120))
    files = [("content", first.content, None)]
    args = ["--file", "content", "--log-format", "json", "--max-content-bytes", str(200 * MIB), "--max-connections=9"]
    with memory_group(128 * MIB) as group, Server(twin, args, files=files, preexec_fn=group.enter) as server:
        path = server.directory / "content"
        rename_over(path, second.content)
        reload(server, second)
        rename_over(path, large.content)
        server.signal(signal.SIGHUP)
        expected = [f'cannot read content from "content": there is not enough memory for it{STAYS}']
        assert warned(server, 1) == expected
        rename_over(path, first.content)
        reload(server, first)
        assert get(server.address).body == first.content
        assert (server.events("warn", "error"), group.kills()) == (expected, 0)


@pytest.mark.spec("K-104", "K-11")
@pytest.mark.parametrize("size", [40, 63, 120])
@pytest.mark.parametrize("way", ["file", "standard input", "pipe"])
def test_content_that_the_limit_cannot_hold_is_refused(twin, tmp_path, way, size):
    """With one line, and not killed by the kernel; content that fits is served."""
    path = tmp_path / "content"
    path.touch()
    os.truncate(path, size * MIB)
    args = [*(["--file", str(path)] if way == "file" else []), "--sandbox=off", "--threads=1"]
    command = [str(twin.binary), *args, "--port=0", "--max-content-bytes", str(1 << 30)]
    with memory_group(64 * MIB) as group, contextlib.ExitStack() as stack:
        stdin = stack.enter_context(open(path, "rb"))
        if way == "pipe":
            cat = stack.enter_context(subprocess.Popen(["cat"], stdin=stdin, stdout=PIPE, stderr=DEVNULL))
            stack.callback(cat.kill)
            stdin = cat.stdout
        process = subprocess.Popen(command, env={}, stdin=stdin, stdout=PIPE, stderr=PIPE, preexec_fn=group.enter)
        stack.enter_context(process)
        stack.callback(process.kill)
        listens = process.stdout.readline().startswith(b"kcup listening")
        assert (listens, group.kills()) == (size == 40, 0)
        if not listens:
            origin = f'"{path}"' if way == "file" else "standard input"
            said = process.stderr.read().decode()
            assert said == f"kcup: cannot read content from {origin}: there is not enough memory for it\n"
            assert process.wait(20) == 1


@pytest.mark.spec("K-104", "K-45")
@pytest.mark.parametrize("size", [56000, MIB])
def test_variants_that_there_is_no_room_for_are_not_made(twin, size):
    """1 MiB of text in 9 MiB is served without variants, a short text with them."""
    warning = "not compressed: there is not enough memory for it"
    args = ["--file=content.txt", "--log-format=json", "--threads=1", "--max-connections=9"]
    with memory_group(9 * MIB) as group:
        files = [("content.txt", b"line of text\n" * (size // 13), None)]
        with Server(twin, args, files=files, preexec_fn=group.enter) as server:
            assert encoding(server) == (None if size == MIB else "br")
            assert (server.events("warn").count(warning), group.kills()) == (size == MIB, 0)


def encoding(server):
    with Connection(server.address) as connection:
        connection.send(b"GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: br\r\n\r\n")
        return connection.response().one("content-encoding")


@pytest.mark.spec("K-105")
def test_old_content_is_gone_soon_after_its_last_reader(twin):
    """In a small group. The kernel charges memory in batches, so its files in memory are counted instead."""
    first, *others = (plain(bytes([n]) * 16 * MIB) for n in range(5))
    with memory_group(128 * MIB) as group:
        files = [("content", first.content, None)]
        with Server(twin, ["--file=content"], files=files, preexec_fn=group.enter) as server:
            rest = held(server)
            for content in others:
                with Connection(server.address, receive_buffer=65536) as reader:
                    reader.send(GET)
                    reader.receive(1000)
                    rename_over(server.directory / "content", content.content)
                    reload(server, content)
                    time.sleep(0.5)  # so that no garbage collection of the reload is still running
                    assert held(server) > rest + 15 * MIB, "the reader's content is gone"
                until(lambda: held(server) < rest + 2 * MIB, SOON)
