"""The pages of a run, generated from its JSON files alone: README.md, summary.md and the charts."""

import json
import math

import emulated
from charts import draw
from contenders import TWINS
from machine import ALWAYS
from tables import METRICS, losses, markdown, name_of, number, points, scenario_table


def read(directory):
    """The facts about a run, and the results of its scenarios in the order in which they ran."""
    about = json.loads((directory / "run.json").read_text())
    results = [json.loads(path.read_text()) for path in directory.glob("*.json") if path.name != "run.json"]
    results = [result for result in results if "plan" in result]
    return about, sorted(results, key=lambda result: result["plan"]["order"])


def write(directory):
    """Writes both pages. Remarks written by hand are in notes.md."""
    about, results = read(directory)
    notes = directory / "notes.md"
    charts = {result["scenario"]: draw(result, directory) for result in results}
    (directory / "summary.md").write_text(summary(results, charts, emulated.read(directory)))
    (directory / "README.md").write_text(readme(about, results, notes.read_text().strip() if notes.exists() else ""))


def readme(about, results, notes):
    machine, k6 = about["machine"], any(result["scenario"] == "k6" for result in results)
    facts = [
        ("command", f"`{about['command']}`"),
        ("began", about["began"]),
        ("commit", about.get("commit", "not recorded")),
        ("CPU", f"{machine['cpu']}, {machine['cpus']} of them"),
        ("memory", f"{machine['memory_gb']} GB"),
        ("kernel", machine["kernel"]),
        ("Python", machine["python"]),
    ]
    return pages(
        f"# Run of {about['began'][:10]}",
        "[summary.md](summary.md) has the results and the charts; raw data is beside it, JSON and CSV for each scenario"
        f"{', and what k6 said in `k6/`' if k6 else ''}.",
        words(["", ""], facts),
        "## Every reason to distrust it",
        "\n".join(f"- {doubt}" for doubt in [*ALWAYS, *scenario_doubts(results)]),
        "## What was measured",
        "The conformance of the very binaries was checked first.",
        words(["binary", "SHA-256", "checked with", "which said"], checked(about, results)),
        words(["", "version"], [(name, f"`{said}`") for name, said in about["versions"].items()]),
        absent(results),
        "## How",
        "The options of every contender are in `bench/contenders.toml`; sizes, connections and seconds are in "
        "`bench/scenarios/`.",
        markdown(*course(results)),
        notes,
    )


def course(results):
    """How each scenario went: header and rows."""
    header = ["scenario", "rounds", "seconds in all", "CPU time of others before", "CPU time that the host took"]
    rows = []
    for result in results:
        shares = [f"{result['busy_before']:.0%}", f"{result['stolen']:.2%}"]
        rows.append([result["scenario"], result["plan"]["rounds"], result["seconds"], *shares])
    return header, rows


def pages(*parts):
    return "\n\n".join(part for part in parts if part) + "\n"


def words(header, rows):
    """A table without numbers."""
    return markdown(header, rows).replace("---:", "---")


def scenario_doubts(results):
    """Each doubt once, with the scenarios it applies to."""
    found = {}
    for result in results:
        for doubt in result["doubts"]:
            found.setdefault(doubt, []).append(result["scenario"])
    return [f"{doubt} ({', '.join(names)})" for doubt, names in found.items()]


def checked(about, results):
    images = [(f", in the image for {result['scenario']}", result) for result in results if "binaries" in result]
    for where, one in [("", about), *images]:
        suite, said = one["conformance"]["suite"], one["conformance"]["said"]
        yield from ([f"{twin}{where}", f"`{one['binaries'][twin]}`", f"`{suite}`", said] for twin in TWINS)


def absent(results):
    missing = {name: hint for result in results for name, hint in result["absent"].items()}
    if not missing:
        return "Nothing that was to be compared was absent."
    return "Absent, and so not measured:\n\n" + "\n".join(f"- {name}: `{hint}`" for name, hint in missing.items())


def summary(results, charts, told):
    """`told` is what the emulated machines saw, if it is known."""
    parts = [
        "# Summary",
        "Medians of the rounds; contenders took turns. Read the ratios: all values are of one machine, and "
        "[README.md](README.md) has every reason to distrust them.",
        "## Where kcup loses",
        loss_table(results),
    ]
    for result in results:
        plan = result["plan"]
        parts += [f"## {plan['title']}", plan["method"].strip()]
        parts += [f"![{what}]({name})" for name, what in charts[result["scenario"]].items()]
        parts += [scenario_table(result), *DETAILS.get(plan["kind"], lambda _: [])(result)]
        parts += [*emulated.tables(plan.get("vm"), told), *(published(table) for table in plan["published"])]
    return pages(*parts)


def loss_table(results):
    found = [(result["scenario"], loss) for result in results for loss in losses(result)]
    if not found:
        return "Nowhere in this run."
    found.sort(key=lambda pair: (pair[1].is_tie(), -(pair[1].times() or math.inf)))
    header = ["", "where", "by", "to", "times worse", "medians", "tie"]
    rows = markdown(header, [loss_row(scenario, loss) for scenario, loss in found])
    return (
        "Against the best of all others that served to the end, by what a scenario is judged by, if it had more than "
        "one round. It is a tie if kcup's best round is no worse than the other's worst.\n\n" + rows
    )


def loss_row(scenario, loss):
    medians = " : ".join(number(cell.median(loss.metric), loss.metric) for cell in (loss.twin, loss.best))
    return [
        name_of(loss.twin),
        ", ".join(filter(None, [scenario, loss.point])),
        METRICS[loss.metric].label,
        loss.best.contender,
        "" if loss.times() is None else f"{loss.times():.2f}",
        medians,
        "yes" if loss.is_tie() else "",
    ]


def correctness_details(result):
    """Results by group, and the names of the cases that do not hold."""
    cells = [cell for _, cells in points(result) for cell in cells]
    groups = [key for key in cells[0].records[0] if key.startswith("held: ")]
    header = ["", *(group.removeprefix("held: ") for group in groups)]
    yield markdown(header, [[name_of(cell), *(cell.records[0].get(group, "") for group in groups)] for cell in cells])
    for cell in cells:
        if not_held := cell.records[0].get("not_held"):
            lines = "\n".join(f"- {name}: {reason}" for name, reason in not_held.items())
            yield f"<details><summary>{cell.contender}: {len(not_held)} do not hold</summary>\n\n{lines}\n\n</details>"


DETAILS = {"correctness": correctness_details}


def published(table):
    header, *rows = table["rows"]
    return (
        f"Published by others, on other machines (compare shapes and ratios, never values): {table['source']}.\n\n"
        + markdown(header, rows)
    )
