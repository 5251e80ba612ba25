"""What is run, as data: plan.toml."""

import tomllib
from itertools import product
from pathlib import Path

TWINS = ["kcup-rust", "kcup-go"]
OTHERS = ["nginx", "lighttpd"]
KEY = ("kernel", "scenario", "memory", "over", "server")
PLAN = tomllib.loads(Path(__file__).with_name("plan.toml").read_text())
ATTACKS = PLAN["attacks"]


def rows(full):
    """In the order in which they are run; the group's `peers` take the place of as many as the scenario has."""
    found = {}
    for group in PLAN["groups"]:
        if group.get("full", full) == full:
            given = {"server": TWINS} | group
            for values in product(*(given[part] for part in KEY)):
                found[values] = dict(zip(KEY, values, strict=True)) | {"peers": group.get("peers", 0)}
    return list(found.values())


def name(row):
    return "-".join(str(row[part]) for part in KEY)
