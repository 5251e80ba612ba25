"""What the guard costs: instructions per byte of a head. callgrind counts them, so a busy machine changes nothing."""

import re
import subprocess
import sys

BUDGET = 10.0
PROGRAM = sys.argv[1]


def run(times):
    """The instructions of a whole run, and the bytes it scanned."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", PROGRAM, str(times)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", ended.stderr)[1]), int(ended.stdout)


(less, few), (more, many) = run(1000), run(2000)
cost = (more - less) / (many - few)
print(f"{cost:.2f} instructions per byte of head; {BUDGET:.0f} are allowed")
sys.exit(cost > BUDGET)
