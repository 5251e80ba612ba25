"""Lines of the access log: the cases of cases/access_log.toml, and the checks of a line."""

import calendar
import os
import re
import threading
import time
from dataclasses import dataclass

from .cases import of_kind
from .promises import CLOCK_LAG, check
from .twin import read_line

FORMATS = ("common", "json")
STAMPS = {"common": "%d/%b/%Y:%H:%M:%S +0000", "json": "%Y-%m-%dT%H:%M:%SZ"}
STAMP = r"([\w/:+ -]+)"
LIMIT = 10.0


@dataclass(frozen=True)
class LogCase:
    """What is sent on one connection, and its lines in each format."""

    name: str
    spec: list
    send: str | list
    common: list
    json: list


class Reader(threading.Thread):
    """Reads what kcup writes, to its end."""

    def __init__(self, stream):
        super().__init__()
        self.stream, self.data = stream, bytearray()
        self.start()

    def run(self):
        while data := os.read(self.stream.fileno(), 65536):
            self.data += data

    def lines(self):
        return self.data.count(b"\n")


def log_cases():
    return of_kind("log", LogCase)


def next_lines(server, count):
    """The next lines that kcup writes after the line of K-15, as many as given."""
    return [read_line(server.process.stdout, LIMIT) for _ in range(count)]


def hold_to(lines, expected, form, peer, began, ended):
    """Each line is the expected one, and its time is that of the response."""
    check(len(lines) == len(expected), f"{len(lines)} lines, not {len(expected)}")
    for line, text in zip(lines, expected, strict=True):
        pattern = re.escape(text.replace("<peer>", peer) + "\n").replace("<time>", STAMP)
        match = re.fullmatch(pattern, line.decode())
        check(match, f"the line {line!r} is not {text!r}")
        seconds = read_stamp(match[1], form)
        check(int(began - CLOCK_LAG) <= seconds <= ended + 1, f"the time of {line!r}, written about {ended}")


def read_stamp(text, form):
    try:
        return calendar.timegm(time.strptime(text, STAMPS[form]))
    except ValueError:
        check(False, f"not a time of the format {form}: {text!r}")
