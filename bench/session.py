"""A run: the scenarios one after another, their contenders in turns, and the results as JSON and CSV."""

import contextlib
import csv
import datetime
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

import correctness
import emulated
import idle
import load
import machine
import startup
from contenders import BINARIES, ROOT, TWINS, choose, find_contender, fingerprint, install, tool
from engine import build_image, copy_from_image
from loads import LoadError
from plan import scenario
from servers import Unserved
from tables import DIMENSIONS, point_name

KINDS = {"load": load.measure, "idle": idle.measure, "startup": startup.measure, "correctness": correctness.measure}
RESULTS = ROOT / "bench" / "results"
QUICK = os.environ.get("QUICK") == "1"
# The conformance of the programs is checked first: the whole suite, or the HTTP cases for a quick run.
SUITE = ["conformance/test_http.py"] if QUICK else ["conformance"]
DESCRIPTORS = 65536
LINE_SECONDS = 10


class Run:
    """The information about a run that a measurement may use."""

    def __init__(self, one, directory):
        self.scenario = one
        self.directory = directory
        self.first_round = True
        self.doing = ""
        self._shown = time.monotonic()

    def show(self, text):
        """Writes one line over the last; without a terminal, a new line every few seconds."""
        line = f"{self.scenario.name}: {self.doing}: {text}"
        if sys.stderr.isatty():
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self._shown >= LINE_SECONDS:
            self._shown = time.monotonic()
            print(line, file=sys.stderr, flush=True)

    def clear(self):
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def begin(command, chosen):
    """A directory for the results of these scenarios, with everything known before the measurements."""
    facts = machine.facts()
    now = datetime.datetime.now(datetime.UTC)
    directory = RESULTS / ("quick" if QUICK else "part") / f"{now:%Y-%m-%dT%H%M%S}-{machine.slug(facts)}"
    directory.mkdir(parents=True)
    used = [use for one in chosen for use in [*map(find_contender, one.contenders), *map(tool, one.tools)]]
    about = {
        "command": command,
        "began": f"{now:%Y-%m-%d %H:%M} UTC",
        "quick": QUICK,
        "machine": facts,
        "versions": {one.name: one.first_line() for one in used if one.path()},
        "commit": commit(),
        "binaries": {twin: fingerprint(binary) for twin, binary in zip(TWINS, BINARIES, strict=True)},
        "conformance": conformance(BINARIES),
    }
    (directory / "run.json").write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n")
    emulated.keep(directory)
    return directory


def commit():
    """The commit whose files are measured, and whether they have been changed since."""
    git = ["git", "-C", str(ROOT)]
    head = subprocess.run([*git, "rev-parse", "HEAD"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    changed = subprocess.run(
        [*git, "status", "--porcelain", "--untracked-files=no"], stdout=subprocess.PIPE, check=True
    )
    return f"{head}, with changes" if changed.stdout else head


def conformance(binaries):
    """Runs the suite against the very binaries. Returns its summary."""
    print(f"conformance first: {' '.join(SUITE)}", flush=True)
    twins = [word for twin, binary in zip(("--rust", "--go"), binaries, strict=True) for word in (twin, binary)]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "4", *SUITE, *twins]
    last = ""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as suite:
        for line in suite.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    if suite.returncode != 0:
        raise SystemExit("what does not conform is not measured")
    return {"suite": " ".join(SUITE), "said": last}


def conformance_of_images():
    """Runs the suite against the programs within the images, too, which were built separately."""
    with tempfile.TemporaryDirectory(prefix="kcup-bench-") as directory:
        programs = [f"{directory}/{twin}" for twin in TWINS]
        for twin, program in zip(TWINS, programs, strict=True):
            copy_from_image(twin, "/kcup", program)
        return {
            "binaries": dict(zip(TWINS, map(fingerprint, programs), strict=True)),
            "conformance": conformance(programs),
        }


def measure(name, directory):
    """Measures one scenario, and writes its results at the end."""
    one = scenario(name, QUICK)
    tools = [tool(needed) for needed in one.tools]
    # Building a tool would take longer than a quick run.
    if QUICK and (missing := [needed.name for needed in tools if not needed.path() and not needed.is_packaged()]):
        print(f"{name}: not run, since {', '.join(missing)} is absent (make bench-install)", flush=True)
        return
    install(tools)
    contenders, absent = choose(one.contenders)
    raise_descriptor_limit()
    checked = prepare_images(one, contenders) if one.engine else {}
    busy, warnings = machine.busy(), machine.doubts()
    began, before = time.monotonic(), machine.cpu_times()
    run = Run(one, directory)
    records = list(turns(one, contenders, run))
    run.clear()
    result = {
        "scenario": name,
        "plan": {key: value for key, value in vars(one).items() if key != "groups"},
        "seconds": round(time.monotonic() - began),
        "busy_before": busy,
        "stolen": machine.shares_since(before)["stolen"],
        "absent": absent,
        **checked,
    }
    result["doubts"] = [*warnings, *machine.doubts_of(result, records)]
    write({**result, "records": records}, directory)


def prepare_images(one, contenders):
    """Builds the images; if containers are measured, first runs the suite against the programs in them."""
    for contender in {each.image: each for each in contenders if each.image}.values():
        print(f"image {contender.image}", flush=True)
        build_image(contender)
    return conformance_of_images() if any("container" in point for point in one.points) else {}


def turns(one, contenders, run):
    """Yields records: at each point, in each round, one measurement of every contender. Each round has an order of its
    own, the same in every run."""
    order = random.Random(one.name)
    for point in one.combinations():
        for turn in range(one.rounds):
            run.first_round = turn == 0
            for contender in order.sample(contenders, len(contenders)):
                if not contender.serves(point.get("size", 0)):
                    continue
                told = {name: point[name] for name in DIMENSIONS if name in point}
                where = [point_name(told), f"round {turn + 1} of {one.rounds}", contender.name]
                run.doing = ", ".join(filter(None, where))
                run.show("starting")
                for record in attempt(one, contender, point, run):
                    yield {"contender": contender.name, "round": turn + 1, **point, **record}


def attempt(one, contender, point, run):
    """One measurement. If it fails, that is reported and recorded, and the others continue."""
    try:
        return KINDS[one.kind](contender, point, run)
    except (LoadError, Unserved) as error:
        print(f"{one.name}: {contender.name}: {error}", file=sys.stderr)
        return [{"failed": str(error)}]


def write(result, directory):
    name, records = result["scenario"], result["records"]
    (directory / f"{name}.json").write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    flat = [{key: value for key, value in record.items() if not isinstance(value, list | dict)} for record in records]
    with (directory / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, dict.fromkeys(key for record in flat for key in record))
        writer.writeheader()
        writer.writerows(flat)


def raise_descriptor_limit():
    """Raises the limit on descriptors for this process and its children, as far as is allowed."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, max(hard, DESCRIPTORS)))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
