"""From exec to the line that says it listens, and resident memory at rest: both programs in turns."""

import re
import subprocess
import tempfile
import time
from pathlib import Path

from measure import QUICK, doubts, median, progress, report, run, table
from servers import ROOT, content, stop

PROGRAMS = ["kcup-rust", "kcup-go"]
ROUNDS = 5 if QUICK else 30
CONTENT = 66
# What a runtime needs to give back what starting took.
SETTLE_SECONDS = 0.5


def start(program, file):
    """Milliseconds to the line, kilobytes resident with one worker."""
    command = [ROOT / "bin" / program, "--file", file, "--port", "0", "--threads", "1", "--log-level", "error"]
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        milliseconds = (time.monotonic() - began) * 1000
        time.sleep(SETTLE_SECONDS)
        status = Path(f"/proc/{process.pid}/status").read_text()
    finally:
        stop(process)
    return milliseconds, int(re.search(r"VmRSS:\s+(\d+) kB", status)[1])


def main():
    warnings = doubts()
    sizes = {program: (ROOT / "bin" / program).stat().st_size for program in PROGRAMS}
    results = {program: {"ms": [], "rss_kb": [], "bytes": size} for program, size in sizes.items()}
    with tempfile.TemporaryDirectory(prefix="kcup-bench-") as directory:
        file = content(directory, CONTENT)
        for number in range(ROUNDS):
            progress(f"round {number + 1} of {ROUNDS}")
            for program, result in results.items():
                milliseconds, resident = start(program, file)
                result["ms"].append(milliseconds)
                result["rss_kb"].append(resident)
    header = ["", "ms to listening", "least", "most", "MB resident", "MB program"]
    rows = [
        [
            program,
            *(f"{pick(result['ms']):.1f}" for pick in (median, min, max)),
            f"{median(result['rss_kb']) * 1024 / 1e6:.2f}",
            f"{result['bytes'] / 1e6:.2f}",
        ]
        for program, result in results.items()
    ]
    table(header, rows)
    report("startup", {}, results, warnings)


if __name__ == "__main__":
    run(main)
