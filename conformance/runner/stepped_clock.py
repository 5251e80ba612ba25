"""A clock that steps, for one process. An emulator passes a static program's system calls through the C library, where
libfaketime changes the time. Tests that need it are skipped if it is missing."""

import email.utils
import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest

from .process import until
from .reload import get, rename_over

DAY = 86400


class SteppedClock:
    """`options` are for Server. Only the time of day steps, not the clock that measures spans."""

    def __init__(self):
        emulator = shutil.which(f"qemu-{os.uname().machine}")
        library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
        if not (emulator and library):
            pytest.skip("nothing here steps the clock for one process (apt-get install qemu-user libfaketime)")
        self.directory = tempfile.TemporaryDirectory()
        self.stamp = Path(self.directory.name) / "clock"
        self.stamp.write_text("+0")
        env = {"LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(self.stamp)}
        env |= {"FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        self.options = {"prefix": (emulator,), "env": env}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.directory.cleanup()

    def step(self, days):
        """From now on the clock is this many days ahead."""
        rename_over(self.stamp, f"{days:+}d".encode())

    def follow(self, server, days):
        """Steps, and waits for a response of that day. Returns its last-modified and its date, in seconds."""
        self.step(days)
        moment = time.time() + days * DAY
        return until(lambda: 0 <= (found := dates(server))[1] + 1 - moment <= 20 and found)


def dates(server):
    """The fields last-modified and date, in seconds."""
    response = get(server.address)
    return [email.utils.parsedate_to_datetime(response.one(name)).timestamp() for name in ("last-modified", "date")]
