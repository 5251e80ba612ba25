"""K-106: what is in huge pages, and what is not."""

import os
import re
from pathlib import Path

import pytest

from runner.peers import MIB
from runner.process import descriptors
from runner.reload import get, plain, reload, rename_over
from test_start import linux_version

HUGE = 2 * MIB
SETTING = Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ (\d+) .*\n(?:\w+: .*\n)*?VmFlags: (.*)\n")

with_huge_pages = pytest.mark.skipif(
    linux_version() < (6, 1) or not SETTING.exists() or "[deny]" in SETTING.read_text(),
    reason="the kernel does not offer huge pages",
)


def held(server):
    """Bytes of all content, including the rest of each file in memory."""
    pid = server.process.pid
    files = [number for number, target in descriptors(pid).items() if target.startswith("/memfd:")]
    return sum(os.stat(f"/proc/{pid}/fd/{number}").st_blocks * 512 for number in files)


@with_huge_pages
@pytest.mark.spec("K-106")
@pytest.mark.parametrize(
    ("size", "pages"),
    [(999_999, 0), (1_000_000, 1), (HUGE, 1), (HUGE + 999_999, 1), (HUGE + 1_000_000, 2)],
)
def test_large_content_lies_in_huge_pages(serve, size, pages):
    old, new = plain(b"\xff" * size), plain(b"\xfe" * size)
    server = serve("--compression", "off", content=old.content)
    expected = max(pages * HUGE, -(-size // 4096) * 4096)
    assert held(server) == expected
    assert get(server.address).body == old.content
    rename_over(server.directory / "hello.txt", new.content)
    reload(server, new)
    assert get(server.address).body == new.content


@pytest.mark.spec("K-106")
def test_where_memory_is_short_content_does_not_lie_in_huge_pages(serve, memory):
    server = serve("--compression", "off", content=b"\xff" * MIB, preexec_fn=memory(24 * MIB).enter)
    assert held(server) == MIB


@pytest.mark.spec("K-106")
def test_nothing_but_content_may_lie_in_huge_pages(serve):
    """No piece of writable memory is long enough, unless the kernel was told not to use them. Memory that the program
    begins with is left out: kcup-go has zeros there that it never touches. What Go's runtime maps for itself is one
    long piece if the kernel happens to put it side by side: seldom, so one start of three is enough."""
    assert any(not long_pieces(serve("--threads", "2", "--admin", "127.0.0.1:0")) for _ in range(3))


def long_pieces(server):
    for _ in range(200):
        get(server.address)
    maps = Path(f"/proc/{server.process.pid}/smaps").read_text()
    behind, found = None, []
    for first, last, mode, file, flags in MAPPING.findall(maps):
        start, end = int(first, 16), int(last, 16)
        if file != "0":
            behind = end
        elif mode == "rw-p" and start != behind and "nh" not in flags.split():
            rounded = -(-start // HUGE) * HUGE
            found += [(first, last)] if rounded + HUGE <= end else []
    assert behind
    return found
