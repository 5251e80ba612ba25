"""K-118, K-119: metrics, compared with what really happened."""

import contextlib
import os
import re
import resource
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from runner.cases import of_kind, option_sets
from runner.metrics import (
    ACCEPTED,
    BYTES,
    OK,
    REQUESTS,
    closed,
    counters,
    hold_to_format,
    page,
    reloads,
    samples,
    scrape,
    until_grown,
)
from runner.parts import to_bytes
from runner.process import descriptors, until
from runner.reload import GET, get, plain, reload, rename_over
from runner.twin import Server
from runner.wire import Connection

COUNTED = option_sets()["counted"]
ADMIN = ("--admin", "127.0.0.1:0")
BIG = bytes(range(256)) * 65536
VERSION = (Path(__file__).resolve().parents[1] / "VERSION").read_text().strip()


@dataclass(frozen=True)
class CountCase:
    """What is sent, and by how much each counter grows."""

    name: str
    spec: list
    send: str | list
    counts: dict


def until_end(connection):
    """The number of bytes received until the peer ends its side."""
    received = 0
    while data := connection.receive():
        received += len(data)
    return received


@pytest.mark.parametrize("case", of_kind("count", CountCase), ids=lambda case: case.name.replace(" ", "-"))
def test_case(twin, case):
    with COUNTED.start(Server, twin) as server:
        before = counters(server)
        with Connection(server.address) as connection:
            connection.send(to_bytes(case.send))
            connection.half_close()
            received = until_end(connection)
        until_grown(server, before, {**case.counts, ACCEPTED: 1, BYTES: received})


@pytest.mark.spec("K-118", "K-119")
def test_every_series_is_there_from_the_start_but_requests(serve):
    text = page(serve(*ADMIN))
    hold_to_format(text)
    assert {value for key, value in samples(text).items() if key.startswith("kcup_") and "_total" in key} == {0}
    assert REQUESTS + "{" not in text


@pytest.mark.spec("K-118")
def test_the_format_holds_with_all_requests_there_are(twin):
    """The responses come in another order than that of the page."""
    with COUNTED.start(Server, twin) as server:
        counts = {}
        for case in reversed(of_kind("count", CountCase)):
            with Connection(server.address) as connection:
                connection.send(to_bytes(case.send))
                connection.half_close()
                until_end(connection)
            for key, value in case.counts.items():
                counts[key] = counts.get(key, 0) + value
        until(lambda: counts.items() <= counters(server).items())
        hold_to_format(page(server))


@pytest.mark.spec("K-118")
def test_both_send_the_same_page(twins):
    first, second = (one_of_each(twin) for twin in twins)
    assert first == second


def one_of_each(twin):
    """The page after the same use, without what depends on the program or the machine."""
    with COUNTED.start(Server, twin) as server:
        with Connection(server.address) as connection:
            connection.send(GET + b"HEAD / HTTP/1.1\r\n\r\n")
            received = until_end(connection)
        expected = {OK: 1, f'{REQUESTS}{{method="other",code="400"}}': 1, closed("refused"): 1}
        until_grown(server, dict.fromkeys(counters(server), 0), {**expected, ACCEPTED: 1, BYTES: received})
        text = page(server)
        hold_to_format(text)
    text = text.replace(f'implementation="{twin.name}"', "")
    return re.sub(r"^((?:process|kcup_content_loaded)_\w+) .*", r"\1", text, flags=re.MULTILINE)


@pytest.mark.spec("K-119")
def test_scraping_is_not_counted(serve):
    server = serve(*ADMIN)
    before = counters(server)
    for _ in range(5):
        assert counters(server) == before


@pytest.mark.spec("K-118", "K-119", "K-100")
def test_reloads_and_the_content(serve):
    server, new = serve(*ADMIN), plain(b"longer than before\n")
    began, path = time.time(), server.directory / "hello.txt"
    first = scrape(server)
    assert first["kcup_content_bytes"] == len(b"Hello\n")
    assert abs(first["kcup_content_loaded_timestamp_seconds"] - began) <= 5
    rename_over(path, new.content)
    reload(server, new)
    until(lambda: scrape(server)[reloads("ok")] == 1)
    second = scrape(server)
    assert second["kcup_content_bytes"] == len(new.content)
    assert int(began) <= second["kcup_content_loaded_timestamp_seconds"] <= time.time()
    path.unlink()
    server.signal(signal.SIGHUP)
    until(lambda: scrape(server)[reloads("failed")] == 1)
    third = scrape(server)
    kept = ("kcup_content_bytes", "kcup_content_loaded_timestamp_seconds", reloads("ok"))
    assert [third[key] for key in kept] == [second[key] for key in kept]
    assert get(server.address).body == new.content


@pytest.mark.spec("K-118")
def test_what_the_kernel_says_of_the_process(serve, twin):
    """Within what changes during the check."""
    server = serve(*ADMIN, content=BIG)
    pid = server.process.pid
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            connection = stack.enter_context(Connection(server.address))
            connection.send(GET)
            connection.response()
        until(lambda: scrape(server)["process_open_fds"] >= 20)
        seen = scrape(server)
        assert abs(seen["process_open_fds"] - len(descriptors(pid))) <= 3
        assert seen["process_max_fds"] == resource.prlimit(pid, resource.RLIMIT_NOFILE)[0]
        status = Path(f"/proc/{pid}/status").read_text()
        virtual, resident = (int(re.search(rf"{name}:\s+(\d+)", status)[1]) * 1024 for name in ("VmSize", "VmRSS"))
        assert abs(seen["process_virtual_memory_bytes"] - virtual) <= 0.1 * virtual
        assert abs(seen["process_resident_memory_bytes"] - resident) <= 0.5 * resident
        assert abs(seen["process_cpu_seconds_total"] - server.cpu_seconds()) <= 0.1 + 0.1 * server.cpu_seconds()
        assert abs(seen["process_start_time_seconds"] - started(pid)) <= 1
    assert seen[f'kcup_build_info{{version="{VERSION}",implementation="{twin.name}"}}'] == 1


def started(pid):
    """The time at which a process started, in seconds since 1970."""
    ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    since_boot = ticks / os.sysconf("SC_CLK_TCK")
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + since_boot
