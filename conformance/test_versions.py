"""K-105: how long old versions are held, for whom, and which readers are reset if there are too many."""

import contextlib
import os
from pathlib import Path

import pytest

from runner.metrics import closed, scrape
from runner.peers import ADMIN, MIB, is_reset, not_reading
from runner.process import descriptors, until
from runner.reload import plain, reload, rename_over
from test_reload_load import resident

SIZE = 24 * MIB
SOON = 5  # the second of K-105, and more on a busy machine; without K-105 an idle garbage collector took two minutes
PATIENT = ("--compression", "off", "--write-timeout-seconds", "300")
VERSIONS = [plain(bytes([number]) * SIZE) for number in range(250, 255)]


def held(server):
    """Bytes: of the process, and of the files in memory that it has open, mapped or not."""
    files, pid = {}, server.process.pid
    for number, target in descriptors(pid).items():
        if target.startswith("/memfd:"):
            with contextlib.suppress(FileNotFoundError):  # it has been closed in the meantime
                seen = os.stat(f"/proc/{pid}/fd/{number}")
                files[seen.st_ino] = seen.st_blocks * 512
    status = Path(f"/proc/{pid}/status").read_text()
    anonymous = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon:"))
    return max(resident(server), anonymous * 1024 + sum(files.values()))


@pytest.mark.spec("K-105", "K-119")
@pytest.mark.parametrize("threads", [1, 3])
def test_two_versions_before_the_current_one_are_held(serve, threads):
    """Each has a reader. A reload that would make them three ends the oldest's reader, and the next reload the next
    one's."""
    server = serve(*ADMIN, *PATIENT, "--threads", str(threads), content=VERSIONS[0].content)
    path, readers = server.directory / "hello.txt", []
    for number, new in enumerate(VERSIONS[1:], 1):
        readers += not_reading(server, 1)
        readers[-1].pending = readers[-1].exactly(1000)
        rename_over(path, new.content)
        reload(server, new)
        gone = max(0, number - 2)
        until(lambda: sum(map(is_reset, readers)) == gone)  # noqa: B023
        assert [is_reset(reader) for reader in readers] == [True] * gone + [False] * (number - gone)
        until(lambda: scrape(server)[closed("replaced")] == gone)  # noqa: B023
    for reader, version in list(zip(readers, VERSIONS, strict=False))[2:]:
        assert reader.response().body == version.content


@pytest.mark.spec("K-105")
def test_a_version_is_given_back_with_its_last_reader(serve):
    """Within a second, plus the time of the check, without any further event."""
    server = serve(*PATIENT, content=VERSIONS[0].content)
    reload_to(server, VERSIONS[1])
    until(lambda: held(server) < 2 * SIZE, SOON)
    alone = held(server)
    readers = not_reading(server, 2)
    reload_to(server, VERSIONS[2])
    readers += not_reading(server, 1)
    reload_to(server, VERSIONS[3])
    assert held(server) >= alone + 1.9 * SIZE, "nothing is held, though there are readers"
    readers[0].socket.close()
    readers[2].socket.close()
    until(lambda: held(server) < alone + 1.5 * SIZE, SOON)
    assert readers[1].response().body == VERSIONS[1].content
    until(lambda: held(server) < alone + 0.5 * SIZE, SOON)


def reload_to(server, version):
    rename_over(server.directory / "hello.txt", version.content)
    reload(server, version)


@pytest.mark.spec("K-105")
def test_a_reader_that_waits_for_the_next_response_holds_nothing(serve):
    """It has read all of an old version and is silent: it survives any number of reloads."""
    server = serve(*ADMIN, *PATIENT)
    (silent,) = not_reading(server, 1)
    assert silent.response().body == b"Hello\n"
    for version in VERSIONS:
        reload_to(server, version)
    silent.expect_open()
    until(lambda: scrape(server)[closed("replaced")] == 0)


@pytest.mark.spec("K-105", "K-104")
def test_the_readers_of_old_versions_go_when_a_reload_needs_the_memory(serve, memory):
    """Without them there is room for the new content, which would otherwise be refused."""
    group = memory(112 * MIB)
    server = serve(*ADMIN, *PATIENT, "--max-connections", "64", content=VERSIONS[0].content, preexec_fn=group.enter)
    (reader,) = not_reading(server, 1)
    reload_to(server, VERSIONS[1])
    large = plain(b"large" * (60 * MIB // 5))
    reload_to(server, large)
    until(lambda: is_reset(reader))
    until(lambda: scrape(server)[closed("replaced")] == 1)
    assert group.kills() == 0
