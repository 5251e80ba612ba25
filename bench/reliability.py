"""The section of docs/reliability.md on `make soak`, and the chart of its hour, from conformance/results."""

import json
import statistics

from axes import STYLE, draw_grid, grid, headline, ink, name_ends
from contenders import ROOT
from matplotlib import pyplot
from matplotlib.ticker import MaxNLocator
from readme import split
from report import pages
from tables import markdown

RESULTS = ROOT / "conformance" / "results"
PAGE = ROOT / "docs" / "reliability.md"
MARKS = ("<!-- soak: begin -->", "<!-- soak: end -->")
CHART = "hour.svg"
LEGEND = (
    "Band: everything seen within a minute. Line: once a minute with the same content, and without load and faults"
    " (latency, rate: median)"
)
KIB, MIB = 1 << 10, 1 << 20
TWINS = ("rust", "go")
# For each panel: the sampled value, its unit, and whether its line shows only quiet moments.
PANELS = {
    "resident memory, MiB": ("resident", MIB, True),
    "memory of its control group, without file pages, MiB": ("group", MIB, True),
    "open descriptors": ("descriptors", 1, True),
    "threads": ("threads", 1, True),
    "latency, 99 % of a second client's requests, ms": ("p99", 1, False),
    "responses per second": ("rate", 1, False),
}
SLOPES = {
    "growth of resident memory, KiB": ("resident", KIB),
    "of that, anonymous memory, KiB": ("anonymous", KIB),
    "growth of its control group's memory, KiB": ("group", KIB),
    "growth of descriptors": ("descriptors", 1),
    "growth of threads": ("threads", 1),
}


def update():
    hour = read("hour")
    draw(hour, RESULTS / CHART)
    before, _, after = split(PAGE.read_text(), MARKS)
    PAGE.write_text(before + section(read("soak"), hour) + after)


def read(name):
    path = RESULTS / f"{name}.json"
    if not path.exists():
        raise SystemExit(f"{path.relative_to(ROOT)} is not there: make soak writes it (hour: with SOAK_SECONDS=3600)")
    return json.loads(path.read_text())


def section(soak, hour):
    return "\n" + pages(
        f"An hour, {place_and_time(hour)}. In brackets the 95 % confidence interval:",
        markdown(["", *(f"kcup-{name}" for name in TWINS)], list(hour_rows(hour))),
        f"![memory, descriptors, threads, latency and responses over an hour](../conformance/results/{CHART})",
        "Both programs ran at the same time, and the machine had other work (a load average of "
        f"{median_load(hour):.0f}), so the latency is that of a busy machine. Memory, descriptors and threads do not "
        "depend on that.",
        hour.get("remark", ""),
        f"Single faults, {place_and_time(soak)}, 4 s for most; *failed* counts requests without the right response:",
        markdown(["fault", "", "what happened", "responses", "failed"], fault_rows(soak)).replace("---:", "---"),
    )


def place_and_time(seen):
    return f"{seen['date']}, {seen['kernel']}, programs of commit {seen['commit']}"


def hour_rows(hour):
    outcomes = [hour["outcomes"][name] for name in TWINS]
    for what, (name, unit) in SLOPES.items():
        if all(name in outcome["slopes"] for outcome in outcomes):
            yield [what, *(growth(outcome["slopes"][name], unit) for outcome in outcomes)]
    yield ["responses", *(f"{outcome['samples']['answered'][-1]:,}" for outcome in outcomes)]
    yield ["connections", *(f"{outcome['accepted']:,}" for outcome in outcomes)]
    yield ["faults", *(f"{outcome['turns']:,}" for outcome in outcomes)]
    for result, told in {"ok": "reloads", "failed": "refused reloads"}.items():
        yield [told, *(f"{outcome['reloads'][result]:,}" for outcome in outcomes)]
    yield ["requests that failed", *(len(outcome["problems"]) for outcome in outcomes)]


def growth(slope, unit):
    middle, least, most = (round(slope[name] / unit) for name in ("median", "least", "most"))
    return f"{middle:+,} ({least:+,} to {most:+,})".replace("+0", "0")


def median_load(hour):
    return statistics.median(load for name in TWINS for load in hour["outcomes"][name]["samples"]["machine"])


def fault_rows(soak):
    names = list(dict.fromkeys(row["fault"] for row in soak["rows"]))
    rows = sorted(soak["rows"], key=lambda row: (names.index(row["fault"]), TWINS.index(row["twin"])))
    return [[row.get(column, "") for column in ("fault", "twin", "happened", "answered", "failed")] for row in rows]


def draw(hour, path):
    with pyplot.rc_context(STYLE):
        figure, all_axes = grid(len(PANELS), 4.6, 2.3, 2, sharex=True)
        headline(figure, f"An hour of load, reloads and faults. {place_and_time(hour)}\n{LEGEND}")
        for axes, (name, panel) in zip(all_axes, PANELS.items(), strict=True):
            axes.set_title(name)
            draw_panel(axes, hour, *panel)
        for axes in all_axes[-2:]:
            axes.set_xlabel("minutes")
        same = {"Date": None, "Creator": None}
        figure.savefig(path, bbox_inches="tight", pad_inches=0.15, metadata=same)
        pyplot.close(figure)


def draw_panel(axes, hour, name, unit, quiet):
    """The band is everything seen within each minute; the line is each minute's quiet moment, or its median."""
    ends, top = {}, 0
    for twin in TWINS:
        samples, colour = hour["outcomes"][twin]["samples"], ink(f"kcup-{twin}")
        values = rates(samples) if name == "rate" else samples[name]
        if None in values:
            continue
        minutes = by_minute(samples["seconds"], values, samples["quiet"], quiet)
        where, lows, highs, middles = zip(*minutes, strict=True)
        lows, highs, middles = ([height / unit for height in heights] for heights in (lows, highs, middles))
        axes.fill_between(where, lows, highs, color=colour, alpha=0.22, linewidth=0)
        axes.plot(where, middles, color=colour, linewidth=1.8, zorder=5)
        ends[f"kcup-{twin}"] = (where[-1], middles[-1])
        top = max(top, *highs)
    axes.set_ylim(0, top * 1.05)
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    draw_grid(axes)
    name_ends(axes, ends)


def by_minute(seconds, values, quiet, wants_quiet):
    """Each minute with its least and its most value, and the value for the line."""
    grouped = {}
    for second, value, is_quiet in zip(seconds, values, quiet, strict=True):
        grouped.setdefault(int(second // 60), []).append((value, is_quiet))
    for minute, seen in grouped.items():
        chosen = [value for value, is_quiet in seen if is_quiet or not wants_quiet]
        if chosen and len(seen) > 1:  # the last may have only its first second
            every = [value for value, _ in seen]
            yield minute, min(every), max(every), statistics.median(chosen)


def rates(samples):
    """Responses per second between each sample and the one before."""
    seconds, answered = [0, *samples["seconds"]], [0, *samples["answered"]]
    return [
        (answered[index + 1] - answered[index]) / max(seconds[index + 1] - seconds[index], 0.1)
        for index in range(len(samples["seconds"]))
    ]
