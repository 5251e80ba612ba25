"""One attack or some, in a virtual machine: for trying things. `make test-vm` runs them all.

python3 vm --scenario unread-1m --server kcup-rust --memory 100
"""

import argparse
import json
from itertools import product

from kernels import ROOT, SUITES, kernel
from machine import Machine
from plan import ATTACKS, OTHERS, TWINS


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--scenario", action="append", required=True, choices=ATTACKS, help="may be repeated")
    options.add_argument("--server", action="append", choices=[*TWINS, *OTHERS], help="may be repeated (both kcup)")
    options.add_argument("--memory", type=int, action="append", help="MiB; may be repeated (100)")
    options.add_argument("--peers", type=int, default=0, help="how many, where not as many as the scenario has")
    options.add_argument("--over", choices=["tcp", "unix", "tls"], default="tcp")
    options.add_argument("--rust", default=ROOT / "bin" / "kcup-rust", help="the program under test")
    options.add_argument("--go", default=ROOT / "bin" / "kcup-go", help="the program under test")
    options.add_argument("--kernel", choices=SUITES, default="bookworm")
    options.add_argument("--seconds", type=int, default=600, help="after which the machine is ended")
    options.add_argument("--verbose", action="store_true", help="the machine's console, and what the servers log")
    given = options.parse_args()
    plan = [
        dict(scenario=scenario, memory=memory, server=server, over=given.over, peers=given.peers, verbose=given.verbose)
        for scenario, memory, server in product(given.scenario, given.memory or [100], given.server or TWINS)
    ]
    path, _ = kernel(given.kernel)
    with Machine(path, {"kcup-rust": given.rust, "kcup-go": given.go}, plan, given.seconds, given.verbose) as machine:
        results = []
        for result in machine.results():
            print(json.dumps(result), flush=True)
            results.append(result)
        if len(results) < len(plan):
            print(machine.last_words())
            raise SystemExit("the machine ended before the plan was carried out")
        raise SystemExit(not all(result["ok"] for result in results))


if __name__ == "__main__":
    main()
