"""REDbot lints HTTP and probes gzip, conditions and ranges. Each of its notes is good, or is explained here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from runner.cases import HOME

# Notes that are neither good nor neutral, and right nevertheless, with where each is explained.
EXPLAINED = {"FRESHNESS_HEURISTIC": "docs/adr/0003-no-freshness-of-our-own.md"}
FINE = {"GOOD", "INFO"}
SEEN = {"CL_CORRECT", "DATE_CORRECT", "IMS_304", "INM_304", "RANGE_CORRECT"}
KEPT = ["--header", "Cache-Control: max-age=60"]
# A file's name, its content, arguments, and REDbot's notes other than SEEN. REDbot requests up to 97 bytes.
KINDS = {
    "text with variants": ("a.txt", b"All work and no play makes Jack a dull boy.\n" * 400, [], {"CONNEG_GZIP_GOOD"}),
    "text with variants and freshness": ("a.txt", b"All work and no play.\n" * 400, KEPT, {"CONNEG_GZIP_GOOD"}),
    "text without variants": ("b.txt", b"Hello, world!\n" * 40, [], set()),
    "no text": ("c.bin", bytes(range(256)) * 40, [], set()),
}


def notes(tree):
    """Every note of a report, including those of the probes within it."""
    if isinstance(tree, dict):
        if "note_id" in tree:
            yield tree
        tree = tree.values()
    elif not isinstance(tree, list):
        return
    for branch in tree:
        yield from notes(branch)


def report(address):
    redbot = Path(sys.executable).with_name("redbot")
    url = f"http://{address[0]}:{address[1]}/"
    ended = subprocess.run([redbot, "-o", "har", url], capture_output=True, timeout=60, check=True)
    return list(notes(json.loads(ended.stdout)))


@pytest.mark.spec("K-37", "K-40", "K-41", "K-46", "K-47", "K-48")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.replace(" ", "-"))
def test_redbot(twin, serve, kind):
    name, content, args, seen = KINDS[kind]
    found = report(serve(*args, content=content, name=name).address)
    assert SEEN | seen <= {note["note_id"] for note in found}
    doubtful = {note["note_id"] for note in found if note["level"] not in FINE}
    assert doubtful == (set() if args else set(EXPLAINED))


def test_explanations_are_there():
    assert not [path for path in EXPLAINED.values() if not (HOME.parent / path).is_file()]
