"""SOAK_SECONDS=3600 make soak: an hour of load, reloads and faults of both programs at once. Nothing grows or fails."""

import json
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial

import pytest

from runner.endurance import endure
from runner.seen import SCRATCH, about, progress, write
from runner.slope import BOUNDS, grows, slopes
from runner.worker import FORK

pytestmark = pytest.mark.soak
SECONDS = int(os.environ.get("SOAK_SECONDS") or 60)
PUBLISHED = 3600


@pytest.fixture(scope="module")
def endured(request):
    twins = request.config.twins
    SCRATCH.mkdir(parents=True, exist_ok=True)
    told = about(twins)
    with ProcessPoolExecutor(len(twins), FORK) as pool:
        running = {twin.name: pool.submit(partial(endure, twin, SECONDS, SCRATCH)) for twin in twins}
        while not all(future.done() for future in running.values()):
            progress("; ".join(f"kcup-{name} {last_sample(name)}" for name in running))
            time.sleep(1)
        progress("")
        outcomes = {name: future.result() for name, future in running.items()}
    told |= {"seconds": SECONDS, "bounds": BOUNDS, "outcomes": {name: to_write(one) for name, one in outcomes.items()}}
    write("hour", told, SECONDS >= PUBLISHED)
    return outcomes


def to_write(outcome):
    """The outcome with slopes, and with a list for each metric."""
    samples = outcome["samples"]
    found = {name: asdict(one) for name, one in slopes(samples).items()}
    return {**outcome, "slopes": found, "samples": {name: [one[name] for one in samples] for name in samples[0]}}


def last_sample(name):
    lines = (SCRATCH / f"{name}.jsonl").read_text().splitlines() if (SCRATCH / f"{name}.jsonl").exists() else []
    if not lines:
        return "starts"
    seen = json.loads(lines[-1])
    return (
        f"{seen['seconds']:.0f} s, {seen['resident'] >> 10} KiB, {seen['answered']} answered, {seen['failed']} failed"
    )


@pytest.mark.parametrize("name", BOUNDS)
def test_nothing_grows(endured, twin, name):
    samples = endured[twin.name]["samples"]
    if name not in (found := slopes(samples)):
        pytest.skip("no memory cgroup can be made here")
    too_much = grows(samples, name)
    assert not too_much, f"{name} grows by {found[name]} in an hour"


def test_nobody_is_failed(endured, twin):
    assert not endured[twin.name]["problems"]


def test_the_end_is_whole(endured, twin):
    outcome = endured[twin.name]
    assert outcome["status"] == 0
    assert outcome["accepted"] == outcome["closed"]
