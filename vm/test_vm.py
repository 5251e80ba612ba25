"""pytest vm: every attack of plan.toml, in one virtual machine for each kernel, all at the same time."""

import hashlib
import json
import os
import subprocess
from concurrent.futures import Future
from datetime import date
from threading import Thread

import pytest
from kernels import ROOT, kernel
from machine import Machine
from plan import TWINS, name, rows

FULL = bool(os.environ.get("FULL"))
PROGRAMS = {twin: ROOT / "bin" / twin for twin in TWINS}
ROWS = rows(FULL)
# Only a full run is one that README tells of.
RESULTS = ROOT / "vm" / "results.json" if FULL else ROOT / "bin" / "vm" / "results.json"
SECONDS = 7200 if FULL else 600


def run(suite, path, plan, futures):
    """Fills in what became of each row; of those that the machine did not come to, why."""
    left = list(plan)
    try:
        with Machine(path, PROGRAMS, plan, SECONDS) as machine:
            for result in machine.results():
                futures[name(left.pop(0))].set_result(result | {"kernel": suite, "release": result["kernel"]})
            raise RuntimeError(f"the machine ended early: {machine.last_words()}" if left else "")
    except Exception as error:
        for row in left:
            futures[name(row)].set_exception(error)


@pytest.fixture(scope="session")
def results():
    futures = {name(row): Future() for row in ROWS}
    for suite in dict.fromkeys(row["kernel"] for row in ROWS):
        plan = [row for row in ROWS if row["kernel"] == suite]
        Thread(target=run, args=(suite, kernel(suite)[0], plan, futures), daemon=True).start()
    yield futures
    done = [future.result() for future in futures.values() if future.done() and not future.exception()]
    RESULTS.write_text(json.dumps(about() | {"results": done}, indent=1) + "\n")


def about():
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    sums = {twin: hashlib.sha256(path.read_bytes()).hexdigest() for twin, path in PROGRAMS.items()}
    return {"date": str(date.today()), "commit": commit.strip(), "sha256": sums}


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_nobody_pushes_it_over(results, row):
    result = results[name(row)].result()
    # The others are there to be compared with.
    assert result["ok"] or row["server"] not in TWINS, json.dumps(result, indent=1)
