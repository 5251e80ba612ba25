"""The other vectors over the wire: ranges, encodings, tags, dates, media types."""

import email.utils
import itertools

import pytest

from runner.cases import HttpCase, OptionSet, vectors
from runner.exchange import perform

TEXT = "text/plain; charset=utf-8"
TIME = 784111777
IDENTITY, VARIED = b"Hello, world!\n", b"All work and no play. " * 100


def options(name, content, file="content.txt", type=TEXT, mtime=TIME):
    return OptionSet(name, (), {}, file, content, mtime, False, type, ())


def get(address, options, request_fields, **want):
    """Sends a GET with these fields and checks the response."""
    head = "\r\n".join(["GET / HTTP/1.1", "Host: a", *request_fields, "", ""])
    perform(address, HttpCase("", (), options, head.encode(), (want,), None, False, False))


def named(name, applies=lambda vector: True):
    """The vectors that hold for any content; the programs' unit tests read the others, too."""
    chosen = [vector for vector in vectors(name)["case"] if applies(vector)]
    return pytest.mark.parametrize("vector", chosen, ids=lambda vector: vector["name"].replace(" ", "-"))


@pytest.mark.spec("K-48")
@named("range")
def test_range(twin, vector, servers):
    content = bytes(itertools.islice(itertools.cycle(b"0123456789"), vector["length"]))
    sized = options(f"range of {vector['length']}", content)
    want = {
        "ignored": {"status": 200, "absent": ["content-range"]},
        "unsatisfiable": {"status": 416, "fields": {"content-range": f"bytes */{vector['length']}"}},
    }.get(vector["want"], {"status": 206, "range": vector["want"]})
    get(servers(twin, sized).address, sized, [f"Range: {vector['value']}"], **want)


@pytest.mark.spec("K-46")
@named("accept_encoding", lambda vector: len(vector["available"]) != 1)
def test_accept_encoding(twin, vector, servers):
    """kcup has either both variants or none."""
    chosen = options("both variants", VARIED) if vector["available"] else options("no variants", IDENTITY)
    fields = [f"Accept-Encoding: {line}" for line in vector["lines"]]
    get(servers(twin, chosen).address, chosen, fields, status=200, encoding=vector["want"])


@pytest.mark.spec("K-47", "K-41")
@named("etag", lambda vector: vector["tag"].removeprefix("W/") == '"abc"')
def test_etag(twin, vector, servers):
    """The vector's tag `abc` stands for the content's tag: that of identity, or of br if the vector's is weak."""
    varied = options("both variants", VARIED)
    weak = vector["tag"].startswith("W/")
    ours = varied.digest + ("-br" if weak else "")
    lines = [line.replace("abc", ours).replace("ABC", ours.upper()) for line in vector["lines"]]
    encoding = ["Accept-Encoding: br"] if weak else []
    for field, holds, fails in (("If-Match", 200, 412), ("If-None-Match", 304, 200)):
        matches = vector["strong"] if field == "If-Match" else vector["weak"]
        fields = [*encoding, *(f"{field}: {line}" for line in lines)]
        get(servers(twin, varied).address, varied, fields, status=holds if matches else fails)


@pytest.mark.spec("K-47")
@named("date")
def test_date(twin, vector, servers):
    """A valid date is before or after that of the content; any other is ignored."""
    old = options("long ago", IDENTITY, mtime=TIME)
    date = vector.get("want")
    unmodified = 412 if date is not None and date < TIME else 200
    modified = 304 if date is not None and date >= TIME else 200
    get(servers(twin, old).address, old, [f"If-Unmodified-Since: {vector['value']}"], status=unmodified)
    get(servers(twin, old).address, old, [f"If-Modified-Since: {vector['value']}"], status=modified)


@pytest.mark.spec("K-48", "K-49")
@pytest.mark.parametrize("form", ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"])
def test_if_range_reads_each_form(twin, form, servers):
    old = options("long ago", IDENTITY, mtime=TIME)
    date = email.utils.parsedate_to_datetime(email.utils.formatdate(TIME, usegmt=True)).strftime(form)
    get(servers(twin, old).address, old, [f"If-Range: {date}", "Range: bytes=0-0"], status=206)


@pytest.mark.spec("K-43")
@pytest.mark.parametrize("row", vectors("media_types")["type"], ids=lambda row: row["extension"])
def test_media_type(twin, row, servers):
    """Text in UTF-8 gets a charset, other content none, whatever the letter case of the name."""
    utf8 = "; charset=utf-8" if row["textual"] else ""
    for content, file, suffix in ((b"Hello", "a.", utf8), (b"\xff\xfe", "B.x.", "")):
        name = file + (row["extension"] if file == "a." else row["extension"].upper())
        typed = options(f"media type of {name}", content, file=name, type=row["type"] + suffix)
        get(servers(twin, typed).address, typed, [], status=200)
