"""Every HTTP case against each program, and both programs compared byte by byte."""

import re
import time

import pytest

from runner.cases import http_cases
from runner.exchange import perform

CASES = http_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_case(twin, case, servers):
    perform(servers(twin, case.set).address, case)


@pytest.mark.spec("K-35")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_both_send_the_same_bytes(twins, case, servers):
    first, second = ([comparable(a, case.set) for a in perform(servers(t, case.set).address, case)] for t in twins)
    assert first == second


def comparable(response, options):
    """What must be equal by K-35: all but the date, the time of loading, and compressed bodies with their length."""
    head = re.sub(rb"\r\ndate: [^\r]*", b"\r\ndate:", response.head)
    if options.mtime is None or options.mtime > time.time():
        head = re.sub(rb"\r\nlast-modified: [^\r]*", b"\r\nlast-modified:", head)
    if not response.values("content-encoding"):
        return head, response.body
    return re.sub(rb"\r\ncontent-length: [^\r]*", b"\r\ncontent-length:", head), None
