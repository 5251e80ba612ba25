"""Lines of the access log: the cases of cases/access_log.toml, and what a line must look like."""

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
    """Takes what kcup writes, to its end."""

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
    """So many lines that kcup writes behind the line of K-15."""
    return [read_line(server.process.stdout, LIMIT) for _ in range(count)]


def hold_to(lines, expected, form, peer, began, ended):
    """Each is the one expected, and its time is when it was answered."""
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
