"""pytest vm: every attack of plan.toml, in as many virtual machines at a time as there are CPUs."""

import hashlib
import json
import os
import subprocess
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date

import pytest
import readme
from kernels import ROOT, kernel
from machine import MIPS, Machine
from plan import TWINS, groups, name

FULL = bool(os.environ.get("FULL"))
GROUPS = groups(FULL)
PROGRAMS = {twin: ROOT / "bin" / twin for twin in TWINS}
SECONDS = 7200 if FULL else 600


def run(path, plan, futures):
    """Fills in the result of each row, or why the machine did not get to it."""
    left = list(plan)
    try:
        with Machine(path, PROGRAMS, plan, SECONDS) as machine:
            for result in machine.results():
                row = left.pop(0)
                futures[name(row)].set_result(result | row | {"release": result["kernel"]})
            why = RuntimeError(f"the machine ended early: {machine.last_words()}")
    except Exception as error:
        why = error
    for row in left:
        futures[name(row)].set_exception(why)


@pytest.fixture(scope="session")
def results(request):
    """The result of each selected row, once it is known."""
    selected = [item.callspec.params["row"] for item in request.session.items if "row" in item.fixturenames]
    futures = {name(row): Future() for row in selected}
    paths = {suite: kernel(suite)[0] for suite in sorted({row["kernel"] for row in selected})}
    with ThreadPoolExecutor(int(os.environ.get("MACHINES", 0)) or os.cpu_count()) as machines:
        for group in GROUPS:
            if plan := [row for row in group if name(row) in futures]:
                machines.submit(run, paths[plan[0]["kernel"]], plan, futures)
        yield futures
    # docs/reliability.md shows only complete full runs.
    whole = FULL and len(futures) == sum(len(group) for group in GROUPS)
    write([future.result() for future in futures.values() if not future.exception()], whole)


def write(results, whole):
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    sums = {twin: hashlib.sha256(path.read_bytes()).hexdigest() for twin, path in PROGRAMS.items()}
    about = {"date": str(date.today()), "commit": head.strip(), "mips": MIPS, "sha256": sums}
    path = readme.RESULTS if whole else ROOT / "bin" / "vm" / "results.json"
    lines = ",\n".join(json.dumps(result) for result in results)
    path.write_text(f'{json.dumps(about)[:-1]}, "results": [\n{lines}\n]}}\n')
    if whole:
        readme.update()


@pytest.mark.parametrize("row", [row for group in GROUPS for row in group], ids=name)
def test_nobody_pushes_it_over(results, row):
    result = results[name(row)].result()
    # The other servers are only for comparison and may die.
    assert result["ok"] or row["server"] not in TWINS, json.dumps(result, indent=1)
