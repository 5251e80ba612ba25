"""The attacks as data: plan.toml."""

import tomllib
from itertools import product
from pathlib import Path

TWINS = ["kcup-rust", "kcup-go"]
OTHERS = ["nginx", "lighttpd"]
KEY = ("kernel", "memory", "over", "scenario", "server")
PLAN = tomllib.loads(Path(__file__).with_name("plan.toml").read_text())
ATTACKS = PLAN["attacks"]


def groups(full):
    """The rows of each group, which run one after another in their own machine."""
    return [rows({"server": TWINS, "peers": 0} | group) for group in PLAN["full" if full else "quick"]]


def rows(group):
    """All combinations of the listed values. `peers` replaces the scenario's own number."""
    combinations = product([group["kernel"]], *(group[part] for part in KEY[1:]))
    return [dict(zip(KEY, values, strict=True)) | {"peers": group["peers"]} for values in combinations]


def name(row):
    return "-".join(str(row[part]) for part in KEY)
