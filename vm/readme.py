"""The tables of attacks in docs/reliability.md, generated from results.json.

python3 vm/readme.py    regenerates them, as a full run does
"""

import json
import re
from pathlib import Path

from kernels import ROOT
from plan import ATTACKS, OTHERS, TWINS

PAGE = ROOT / "docs" / "reliability.md"
RESULTS = Path(__file__).with_name("results.json")
SECTION = re.compile(r"(<!-- vm: begin -->\n).*?(<!-- vm: end -->\n)", re.DOTALL)
NAMES = [*TWINS, *OTHERS]
OVER = {"tcp": "TCP", "unix": "unix socket", "tls": "TLS"}


def update():
    PAGE.write_text(with_attacks(PAGE.read_text()))


def with_attacks(text):
    """The page's text with the tables of these results."""
    told = json.loads(RESULTS.read_text())
    if len(SECTION.findall(text)) != 1:
        raise SystemExit("docs/reliability.md: the marks of the attacks are not there, or more than once")
    return SECTION.sub(lambda marks: f"{marks[1]}\n{section(told)}\n{marks[2]}", text)


def section(told):
    results = told["results"]
    compared = setting_of(next(result for result in results if result["server"] in OTHERS))
    others = {setting_of(result) for result in results} - {compared}
    attacks = [(ATTACKS[name], compared, name) for name in ATTACKS]
    return "\n".join(
        [
            f"Measured on {told['date']} at {told['commit'][:8]} (`make test-vm FULL=1`), with {told['mips']} million "
            f"instructions a second; {name_of(compared)}:",
            "",
            *table("attack", attacks, results, cell),
            "",
            "In other settings:",
            "",
            *table("setting", [(name_of(one), one, None) for one in sorted(others)], results, summary),
            *missed(results),
        ]
    )


def missed(results):
    """The failures of `make test-vm FULL=1`, if any, without the errors that clients saw."""
    lines = [
        f"- {result['server']}, {ATTACKS[result['scenario']]} ({name_of(setting_of(result))}): "
        f"{result['failed'][0].partition(': ')[0]}"
        for result in results
        if result["server"] in TWINS and not result["ok"]
    ]
    return ["", "Missed bounds:", "", *lines] if lines else []


def setting_of(result):
    return result["release"], result["memory"], result["over"]


def name_of(setting):
    release, memory, over = setting
    return f"Linux {release.partition('-')[0]}, {memory} MiB, {OVER[over]}"


def table(title, questions, results, told_by):
    """A row for each question (its name, its setting, its attack or None), a column for each server."""
    yield f"| {title} | {' | '.join(NAMES)} |"
    yield "|---" * (len(NAMES) + 1) + "|"
    for question, *which in questions:
        cells = [told_by(asked(results, *which, name)) for name in NAMES]
        if any(cells):
            yield f"| {question} | {' | '.join(cells)} |"


def asked(results, setting, scenario, server):
    return [
        result
        for result in results
        if setting_of(result) == setting and result["server"] == server and scenario in (None, result["scenario"])
    ]


def cell(found):
    """The slowest fresh request, the peak memory, and how many connections were closed."""
    if not found:
        return ""
    (result,) = found
    if result["oom_kill"]:
        return f"killed, with {result['came']:,} connected" if result["came"] else "killed"
    if result["scenario"] == "too-big":
        return "refused, with one line" if result["ok"] else "not refused"
    if result["scenario"] == "rest":
        return f"{result['rest_kib'] * 1024 / 1e6:.1f} MB"
    note = each(result) if result["scenario"] == "idle" else result.get("note", "").removesuffix(" in")
    parts = fresh(result), f"{result['peak_kib'] * 1024 / 1e6:.0f} MB", ended(result), note
    return ", ".join(part for part in parts if part)


def fresh(result):
    asked = result["fresh"]
    if asked["failed"]:
        return f"{asked['failed']} of {asked['failed'] + asked['answered']} failed"
    return f"{asked['worst_ms'] / 1000:.2f} s"


def ended(result):
    return f"{result['lost']:,} closed" if result["lost"] else ""


def each(result):
    """Memory for each connection, with all of them open."""
    return f"{(result['held_kib'] - result['rest_kib']) * 1024 / (result['came'] - result['lost']):,.0f} B each"


def summary(found):
    if not found:
        return ""
    good = sum(result["ok"] for result in found)
    slowest = max(result["fresh"]["worst_ms"] for result in found) / 1000
    peak = max(result["peak_kib"] for result in found) * 1024 / 1e6
    return f"{good} of {len(found)} passed, {slowest:.2f} s, {peak:.0f} MB"


if __name__ == "__main__":
    update()
