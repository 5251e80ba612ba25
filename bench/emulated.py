"""What `make test-vm FULL=1` saw in machines with version 2 of control groups, which this machine may not have."""

import json
import tomllib

from contenders import ROOT, TWINS
from tables import markdown

VM = ROOT / "vm"
NAME = "vm.json"  # in a run's directory
SETTING = {"kernel": "bookworm", "memory": 100, "over": "tcp"}  # in which all servers were attacked


def attacks():
    return tomllib.loads((VM / "plan.toml").read_text())["attacks"]


def keep(directory):
    """Copies the results to those of a run, with the names of the attacks."""
    told = json.loads((VM / "results.json").read_text())
    told["attacks"] = attacks()
    (directory / NAME).write_text(json.dumps(told, indent=1) + "\n")


def read(directory):
    path = directory / NAME
    return json.loads(path.read_text()) if path.exists() else None


def tables(wanted, told):
    """A row for each server, a column for each attack: peak memory in MB, or that the kernel killed the server."""
    if not wanted or not told:
        return
    found = {
        (result["server"], result["scenario"]): result
        for result in told["results"]
        if SETTING.items() <= result.items() and result["scenario"] in wanted
    }
    servers = dict.fromkeys(server for server, _ in found)
    rows = [
        [f"**{server}**" if server in TWINS else server, *(cell(found.get((server, attack))) for attack in wanted)]
        for server in servers
    ]
    yield (
        f"With version 2 of control groups, which charges socket buffers to the server: peak memory in MB of at most "
        f"{SETTING['memory'] * (1 << 20) / 1e6:.0f}, in an emulated machine on {told['date']} at {told['commit'][:8]} "
        "(`make test-vm FULL=1`; raw data in `vm.json`)."
    )
    yield markdown(["", *(told["attacks"][attack] for attack in wanted)], rows)


def cell(result):
    if not result:
        return ""
    return "killed" if result["oom_kill"] else f"{result['peak_kib'] * 1024 / 1e6:.0f}"
