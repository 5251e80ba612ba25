"""The cost of a request in kcup's own code. callgrind counts instructions, so a busy machine has no influence."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(sys.argv[1])
# What is counted, how many instructions are allowed for each, and the program that processes a given number of them.
BUDGETS = [("byte of a browser's head", 10, "guard_cost"), ("response to wrk's request", 3000, "response_cost")]


def run(program, times):
    """The instructions of a whole run, and the number of items that the program reports."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, str(times)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", ended.stderr)[1]), int(ended.stdout)


def cost(program):
    (less, few), (more, many) = run(program, 1000), run(program, 2000)
    return (more - less) / (many - few)


costs = [cost(EXAMPLES / program) for _, _, program in BUDGETS]
for (what, allowed, _), instructions in zip(BUDGETS, costs, strict=True):
    print(f"{instructions:.1f} instructions per {what}; {allowed} are allowed")
sys.exit(any(instructions > allowed for (_, allowed, _), instructions in zip(BUDGETS, costs, strict=True)))
