"""What keeps the contract, the cases and the two programs from drifting apart."""

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from runner.cases import HOME, named, vectors
from runner.contract import SPEC, numbers, sentences

ROOT = HOME.parent
ROOMS = {"rust": ROOT / "kcup-rust" / "src", "go": ROOT / "kcup-go"}
ROOM_NAMES = {"mtasts": "mta_sts"}
# What one program has and the other does not, each with its reason. An exception that is no longer true is an error.
ONLY = {}


@pytest.fixture(scope="module")
def claims(request, tmp_path_factory):
    """Who names which number: cases, vectors, and tests with each of their parameters."""
    path = tmp_path_factory.mktemp("claims") / "claims.json"
    twins = [f"--{twin.name}={twin.binary}" for twin in request.config.twins]
    command = [sys.executable, "-m", "pytest", HOME, "--collect-only", "-q", "-p", "runner.claims", *twins]
    env = {**os.environ, "CLAIMS": str(path), "PYTHONPATH": str(HOME)}
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
    found = defaultdict(set, {number: set(names) for number, names in json.loads(path.read_text()).items()})
    for name, spec in [*named(), *((v["name"], v["spec"]) for v in vectors("guard")["case"])]:
        for number in spec:
            found[number].add(name)
    return found


def test_every_sentence_has_a_case(claims):
    """Or as many cases as a number has sentences, at least: which is for which only people know."""
    short = {number: len(claims[number]) for number, count in sentences().items() if len(claims[number]) < count}
    assert not short


def test_every_case_names_a_number_of_the_contract(claims):
    unknown = {number: names for number, names in claims.items() if number not in numbers()}
    assert not unknown


def test_every_case_names_at_least_one_number():
    assert not [name for name, spec in named() if not spec]


def test_numbers_of_the_contract_are_in_order_and_unique():
    found = re.findall(r"^- \*\*K-(\d+)([a-z]?)\*\*", SPEC.read_text(), re.MULTILINE)
    assert found == sorted(set(found), key=lambda number: (int(number[0]), number[1]))


@pytest.mark.parametrize(
    "name", ["range", "accept_encoding", "etag", "date", "guard", "mta_sts", "metrics", "access_log"]
)
def test_vectors_have_names_of_their_own(name):
    names = [vector["name"] for vector in vectors(name)["case"]]
    assert len(names) == len(set(names))


def files(twin):
    """The source files of a twin as room/name, without tests; what lies at the root is main. guard_x.go is of guard."""
    root, suffix = ROOMS[twin], {"rust": ".rs", "go": ".go"}[twin]
    found = set()
    for path in root.rglob(f"*{suffix}"):
        parts = path.relative_to(root).with_suffix("").parts
        if is_test(parts) or parts[0] in ("target", "vendor"):
            continue
        room = ROOM_NAMES.get(parts[0], parts[0]) if len(parts) > 1 else "main"
        found.add(f"{room}/{sibling_name(room, parts)}")
    return {file for file in found if file.rpartition("_")[0] not in found}


def is_test(parts):
    return parts[-1].endswith("_test") or parts[-1] in ("tests", "test", "export_test") or "tests" in parts


def sibling_name(room, parts):
    """mod.rs and lib.rs are what room.go is in Go; a directory of a file's parts is that file."""
    name = parts[1] if len(parts) > 2 else parts[-1]
    return {"mod": room, "lib": "main", "mtasts": "mta_sts", "accesslog": "access_log"}.get(name, name)


def test_both_programs_have_the_same_rooms():
    rooms = {twin: {file.partition("/")[0] for file in files(twin)} for twin in ROOMS}
    assert rooms["rust"] == rooms["go"]


def test_every_file_has_its_sibling():
    rust, go = files("rust"), files("go")
    alone = (rust ^ go) - set(ONLY)
    assert not alone, {"only in kcup-rust": sorted(alone & rust), "only in kcup-go": sorted(alone & go)}
    assert not [file for file in ONLY if (file in rust) == (file in go)], "an exception that is none"


def test_every_room_opens_by_saying_what_it_owns():
    for twin, root in ROOMS.items():
        for path in main_files(twin, root):
            opening = "".join(path.read_text().splitlines(keepends=True)[:6])
            assert opening.count("//") >= 3, f"{path.relative_to(ROOT)} does not open with three lines on the room"


def main_files(twin, root):
    rooms = [path for path in root.iterdir() if path.is_dir() and path.name not in ("target", "vendor", "bin")]
    names = [path / ("mod.rs" if twin == "rust" else f"{path.name}.go") for path in rooms]
    return [path for path in names if Path(path).exists()]
