"""python bench COMMAND, which `make bench...` calls.

list            list the scenarios, and how long each takes
run NAME...     run these scenarios (--into DIR: put their results into an existing directory)
all             run all scenarios; a full run is kept in bench/results/
report DIR      regenerate the pages and charts of a run from its raw data
readme          regenerate docs/benchmarks.md and README's numbers from the last full run
reliability     regenerate the soaks in docs/reliability.md, and the chart of the hour, from conformance/results
install         install every absent competitor and tool (QUICK=1: those that Debian packages)
profile TWIN    draw a flame graph of kcup-TWIN (rust, go), beside the results of the last full run
"""

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import contenders
import flame
import readme
import reliability
import report
import session
from plan import scenarios, total
from tables import broken

ENGINE = str(contenders.ROOT / "containers" / "with-engine")
PROFILE_SECONDS = 2 if session.QUICK else 10


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    contenders.look_where_others_install()
    parser = argparse.ArgumentParser(
        prog="bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--into", type=Path)
    asked = parser.parse_args()
    try:
        COMMANDS[asked.command](asked)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        sys.exit(130)


def list_scenarios(_):
    for one in scenarios(session.QUICK):
        print(f"  make bench-{one.name:12} {minutes(one.estimate()):>6}  {one.title}")
    print(f"  make bench-all          {minutes(total(session.QUICK)):>6}  all of them, in this order")


def minutes(seconds):
    return f"{seconds // 60:.0f}:{seconds % 60:02.0f}"


def run_some(asked):
    known = {one.name: one for one in scenarios(session.QUICK)}
    if unknown := set(asked.names) - set(known):
        raise SystemExit(f"no such scenario: {', '.join(sorted(unknown))} (make bench lists them)")
    chosen = [known[name] for name in asked.names]
    targets = " ".join(f"bench-{name}" for name in asked.names)
    directory = asked.into or session.begin(command(f"make {targets}"), chosen)
    run_in_order(chosen, directory, has_engine=asked.into is not None)
    if not asked.into:
        finish(directory)


def run_all(_):
    print(f"this takes about {minutes(total(session.QUICK))} minutes", flush=True)
    chosen = scenarios(session.QUICK)
    directory = session.begin(command("make bench-all"), chosen)
    run_in_order(chosen, directory)
    if not session.QUICK:
        directory = keep(directory)
    finish(directory)


def command(words):
    return f"QUICK=1 {words}" if session.QUICK else words


def run_in_order(chosen, directory, has_engine=False):
    """Scenarios that need an engine come last, under one that is started for them if none is running."""
    for one in chosen:
        if has_engine or not one.engine:
            print(f"{one.name}, about {minutes(one.estimate())}: {one.title}", flush=True)
            session.measure(one.name, directory)
    with_engine = [one.name for one in chosen if one.engine]
    if with_engine and not has_engine:
        run_with_engine(["run", *with_engine, "--into", str(directory)])


def run_with_engine(words):
    """Runs this program again under the script that provides an engine. It is interrupted when this one is."""
    process = subprocess.Popen([ENGINE, sys.executable, str(contenders.HOME), *words], start_new_session=True)
    try:
        status = process.wait()
    except KeyboardInterrupt:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        raise
    if status:
        raise SystemExit(status)


def keep(directory):
    """Moves a finished full run to the committed results."""
    name = directory.name[: len("2026-11-21")] + directory.name[len("2026-11-21T070000") :]
    target = session.RESULTS / name
    number = 2
    while target.exists():
        target, number = session.RESULTS / f"{name}-{number}", number + 1
    return Path(shutil.move(directory, target))


def finish(directory):
    report.write(directory)
    print((directory / "summary.md").read_text())
    print(f"results: {directory.relative_to(contenders.ROOT)}")
    _, results = report.read(directory)
    if told := [line for result in results for line in broken(result)]:
        raise SystemExit("\n".join(told))


def profile(asked):
    runs = [] if session.QUICK else readme.full_runs()
    for twin in asked.names:
        flame.record(twin, PROFILE_SECONDS, runs[-1] if runs else session.RESULTS / "quick" / "profile")


def install(_):
    contenders.install([one for one in contenders.everything() if one.is_packaged() or not session.QUICK])


COMMANDS = {
    "list": list_scenarios,
    "run": run_some,
    "all": run_all,
    "report": lambda asked: [report.write(Path(name).resolve()) for name in asked.names],
    "readme": lambda _: readme.update(),
    "reliability": lambda _: reliability.update(),
    "install": install,
    "profile": profile,
}

if __name__ == "__main__":
    main()
