"""The checks of metrics, access log lines and responses during reloads, tried on wrong ones."""

import calendar

import pytest

from runner import faults_operations as faults
from runner.access_log import hold_to
from runner.cases import option_sets, vectors
from runner.metrics import hold_to_format
from runner.process import until
from runner.responses import Response, WireError
from runner.witness import Witness
from runner.wrong_server import WrongServer
from test_reload_load import CONTENTS, is_of_one_content

PAGES = vectors("metrics")["case"]
RIGHT = PAGES[1]["text"]
WITNESSED = [
    "bytes of another content",
    "content-length one too small",
    "a tag that is not of the content",
    "closes although the connection persists",
]
NOW = calendar.timegm((2026, 11, 21, 7, 0, 0))
WANTED = [
    '<peer> - - [<time>] "GET /\\x5C HTTP/1.1" 200 14',
    '<peer> - - [<time>] "HEAD / HTTP/1.1" 200 0',
    '<peer> - - [<time>] "GET / HTTP/1.1" 304 0',
    '<peer> - - [<time>] "-" 400 11',
]
WRITTEN = "".join(
    line.replace("<peer>", "127.0.0.1").replace("<time>", "21/Nov/2026:07:00:00 +0000") + "\n" for line in WANTED
).encode()


def judge(data):
    hold_to(data.splitlines(keepends=True), WANTED, "common", "127.0.0.1", NOW, NOW)


def reloaded():
    content = CONTENTS[0]
    return Response(200, "OK", [("etag", content.fill("<etag>"))], b"", content.content)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page["name"].replace(" ", "-"))
def test_a_right_page_passes(page):
    hold_to_format(page["text"], tls="tls" in page)


@pytest.mark.parametrize("name", faults.PAGE)
def test_a_wrong_page_is_caught(name):
    wrong = faults.PAGE[name](RIGHT)
    assert wrong != RIGHT
    with pytest.raises(WireError):
        hold_to_format(wrong)


@pytest.mark.parametrize("wrong", [None, "status 403 for 404", *WITNESSED])
def test_the_witness_of_soak_sees_what_is_wrong(wrong):
    text = option_sets()["text"]
    with WrongServer(text, wrong) as server, Witness(server.address, [text.content]) as witness:
        until(lambda: witness.answered > 20 or len(witness.failed) + witness.reopened > 5)
    assert bool(witness.broken()) == (wrong in WITNESSED)


def test_right_lines_pass():
    judge(WRITTEN)


@pytest.mark.parametrize("name", faults.LINES)
def test_wrong_lines_are_caught(name):
    wrong = faults.LINES[name](WRITTEN)
    assert wrong != WRITTEN
    with pytest.raises(WireError):
        judge(wrong)


def test_a_response_of_one_content_passes():
    assert is_of_one_content(reloaded())


@pytest.mark.parametrize("name", faults.RELOADED)
def test_a_response_of_two_contents_is_caught(name):
    wrong = faults.RELOADED[name](reloaded())
    assert wrong != reloaded()
    assert not is_of_one_content(wrong)
