"""The contract, the cases and the two programs must not drift apart."""

import json
import os
import re
import subprocess
import sys
from collections import defaultdict

import pytest

from runner.cases import HOME, named, vectors
from runner.contract import SPEC, numbers, sentences

ROOT = HOME.parent
# Go's packages have names of one word.
IN_RUST = {"mtasts": "mta_sts", "accesslog": "access_log"}
WITH_NAMES = [
    "range", "accept_encoding", "etag", "date", "guard", "mta_sts", "metrics", "access_log", "trusted_proxy", "resets",
]  # fmt: skip


@pytest.fixture(scope="module")
def claims(request, tmp_path_factory):
    """The numbers of SPEC, each with the cases, vectors and tests (one for each parameter) that name it."""
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
    """A number has at least as many cases as sentences. Only people can check which case is for which sentence."""
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


@pytest.mark.parametrize("name", WITH_NAMES)
def test_vectors_have_names_of_their_own(name):
    names = [vector["name"] for vector in vectors(name)["case"]]
    assert len(names) == len(set(names))


def modules(program):
    """The modules of a program by name, each with the file that opens it."""
    if program == "rust":
        found = [path for path in (ROOT / "kcup-rust" / "src").iterdir() if path.is_dir()]
        return {path.name: path / "mod.rs" for path in found}
    found = [path for path in (ROOT / "kcup-go" / "internal").iterdir() if path.is_dir()]
    return {IN_RUST.get(path.name, path.name): path / f"{path.name}.go" for path in found}


def test_both_programs_have_the_same_modules():
    assert modules("rust").keys() == modules("go").keys()


@pytest.mark.parametrize("program", ["rust", "go"])
def test_every_module_opens_with_what_it_is_for(program):
    for name, path in modules(program).items():
        opening = path.read_text().splitlines()[:6]
        assert sum("//" in line for line in opening) >= 2, f"kcup-{program}: {name} does not open with a description"
