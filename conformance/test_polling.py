"""K-102: the file is checked from time to time. All experiments run at once, as in test_clocks.py."""

import os
import signal
import time

import pytest

from runner.clock import Span, experiment, experiments, hold_to_limit
from runner.metrics import reloads, scrape
from runner.process import until
from runner.reload import STAYS, become, get, plain, rename_over, serves, warned
from runner.twin import Server

pytestmark = pytest.mark.xdist_group("polling")
OLD, NEW = plain(b"old\n"), plain(b"new\n" * 1000)


def polling(twin, *args, seconds=1):
    """A server that checks its file every second, and a file that nobody has touched."""
    args = [
        "--file",
        "a",
        "--reload-interval-seconds",
        str(seconds),
        "--log-format",
        "json",
        "--admin",
        "127.0.0.1:0",
        *args,
    ]
    return Server(twin, args, files=[("a", OLD.content, OLD.mtime)])


@experiment("K-102", late=2.0)
def a_change_is_loaded_when_it_has_settled(twin):
    with polling(twin) as server:
        before = time.monotonic()
        rename_over(server.directory / "a", NEW.content)
        after = time.monotonic()
        until(lambda: serves(server, NEW))
        return Span(time.monotonic() - before, time.monotonic() - after)


@experiment("K-102", span=False)
def what_is_still_being_written_is_left_alone(twin):
    """Twenty parts, each written before two reads can agree: only the whole file is ever served."""
    with polling(twin) as server, open(server.directory / "a", "wb") as file:
        for part in range(20):
            file.write(NEW.content[part * 200 : (part + 1) * 200])
            file.flush()
            paused = time.monotonic()
            while time.monotonic() - paused < 0.3:
                assert get(server.address).body in (OLD.content, NEW.content)
                time.sleep(0.05)
        until(lambda: serves(server, NEW))
        assert server.events("warn", "error") == []


@experiment("K-102", "K-119", span=False)
def bytes_that_did_not_change_load_nothing(twin):
    """Neither a new time nor a new file with the same bytes counts."""
    with polling(twin) as server:
        path = server.directory / "a"
        loaded = get(server.address).one("last-modified")
        os.utime(path, (OLD.mtime + 1, OLD.mtime + 1))
        time.sleep(2.5)
        rename_over(path, OLD.content, OLD.mtime + 2)
        time.sleep(2.5)
        assert get(server.address).one("last-modified") == loaded
        assert (scrape(server)[reloads("ok")], scrape(server)[reloads("failed")]) == (0, 0)


@experiment("K-102", "K-119", span=False)
def a_change_is_loaded_once(twin):
    with polling(twin) as server:
        rename_over(server.directory / "a", NEW.content)
        until(lambda: serves(server, NEW))
        time.sleep(2.5)
        assert (scrape(server)[reloads("ok")], scrape(server)[reloads("failed")]) == (1, 0)


@experiment("K-102", "K-101", span=False)
def a_failure_is_logged_once_and_another_one_too(twin):
    missing, empty = (f'cannot read content from "a": {reason}{STAYS}' for reason in ("no such file", "it is empty"))
    with polling(twin) as server:
        path = server.directory / "a"
        path.unlink()
        warned(server, 1)
        time.sleep(2.5)
        assert server.events("warn") == [missing]
        path.write_bytes(b"")
        warned(server, 2)
        time.sleep(2.5)
        assert server.events("warn") == [missing, empty]
        rename_over(path, NEW.content)
        until(lambda: serves(server, NEW))
        assert server.events("warn", "error") == [missing, empty]
        assert scrape(server)[reloads("failed")] >= 2


@experiment("K-102", span=False)
def a_failure_that_is_soon_gone_is_not_logged(twin):
    """The file is deleted and created again, with a pause that is nearly always seen by one check and never by two."""
    with polling(twin) as server:
        path = server.directory / "a"
        for _ in range(3):
            path.unlink()
            time.sleep(0.9)
            rename_over(path, OLD.content)
            time.sleep(1.3)
        assert server.events("warn", "error") == []


@experiment("K-102", span=False)
def a_policy_with_an_error_is_refused_by_polling_too(twin):
    policy = b"version: STSv1\r\nmode: none\r\nmax_age: 604800\r\n"
    target = "/.well-known/mta-sts.txt"
    args = ["--file", "p", "--preset", "mta-sts", "--reload-interval-seconds=1", "--log-format=json"]
    with Server(twin, args, files=[("p", policy, None)]) as server:
        begun = len(server.events("warn"))
        become(server.directory / "p", {"content": policy.decode() + "\n"})
        refused, *findings = until(lambda: len(found := server.events("warn")[begun:]) > 1 and found)
        assert refused == 'cannot publish the policy from "p"' + STAYS
        assert all(finding.startswith("p:") for finding in findings)
        assert get(server.address, target).body == policy


@experiment("K-100", "K-102", late=0.5, limit=0)
def a_signal_does_not_wait_for_the_interval(twin):
    with polling(twin, seconds=86400) as server:
        rename_over(server.directory / "a", NEW.content)
        before = time.monotonic()
        server.signal(signal.SIGHUP)
        until(lambda: serves(server, NEW))
        return Span(time.monotonic() - before, time.monotonic() - before)


@pytest.mark.parametrize("name", experiments(__name__))
def test_limit(twin, name, outcomes):
    hold_to_limit(__name__, name, outcomes[twin.name, name])
