"""K-103: how often a file that keeps changing is read. In bytes, which the kernel counts."""

import os
import signal
from pathlib import Path

import pytest

from runner.metrics import reloads, scrape
from runner.process import until
from runner.twin import Server
from test_reload_changing import ATTEMPTS, PATIENCE, SIZE, changing, large, touch

__all__ = ["large"]


@pytest.mark.spec("K-103")
def test_it_is_read_again_ten_times_and_no_more(twin, large):
    args = ["--file", str(large), "--admin", "127.0.0.1:0"]
    with Server(twin, args, preexec_fn=lambda: os.nice(10)) as server, changing(large, touch):
        for _ in range(ATTEMPTS):
            before, over = bytes_read(server), sum(results(server))
            server.signal(signal.SIGHUP)
            until(lambda: sum(results(server)) > over, PATIENCE)  # noqa: B023
            if results(server)[1]:
                break
        else:
            pytest.fail("this machine was too slow: the file was never changed while it was read")
        reads = (bytes_read(server) - before) / SIZE
    assert 9.5 <= reads <= 11.5, f"it was read {reads:.1f} times"


def bytes_read(server):
    lines = Path(f"/proc/{server.process.pid}/io").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("rchar:")))


def results(server):
    """Reloads that succeeded, and those that failed."""
    seen = scrape(server)
    return seen[reloads("ok")], seen[reloads("failed")]
