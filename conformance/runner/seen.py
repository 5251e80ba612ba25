"""Results of a soak, for docs/reliability.md: with date, kernel, and the last commit that changed the programs."""

import hashlib
import json
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS, SCRATCH = ROOT / "conformance" / "results", ROOT / "bin" / "soak"


def about(twins):
    commit = ["git", "-C", ROOT, "log", "-1", "--format=%h", "--abbrev=12", "--", "kcup-rust", "kcup-go"]
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "commit": subprocess.run(commit, capture_output=True, text=True, check=True).stdout.strip(),
        "programs": {f"kcup-{twin.name}": hashlib.sha256(twin.binary.read_bytes()).hexdigest() for twin in twins},
    }


def write(name, seen, whole):
    """To conformance/results or, if the run is partial or of one program, to bin. One line for each list."""
    place = RESULTS if whole and len(seen["programs"]) == 2 else SCRATCH
    place.mkdir(parents=True, exist_ok=True)
    text = re.sub(r"(?<=[\[{,]) ?(?=\[|\"\w+\": [\[{])", "\n", json.dumps(seen))
    (place / f"{name}.json").write_text(text + "\n")


def progress(text):
    """One line that is overwritten; nothing without a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
