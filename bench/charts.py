"""Charts as SVG: one function for each kind of chart in the scenarios' files.

A chart draws the `metric`, with one panel for each value of the dimension `panel`, the dimension `x` on the horizontal
axis, only for the points that match `where`, and with a line at `limit`, under which the metric must stay.
"""

import math

from axes import (
    PLAIN,
    STYLE,
    grid,
    headline,
    ink,
    is_ours,
    mark_limit,
    name_ends,
    name_rows,
    scale_by_ratio,
    scale_from_0,
    scale_heights,
    stroke,
    ticks_at,
    write_value,
)
from matplotlib import pyplot
from tables import DIMENSIONS, METRICS, cell_of, label, number, points

PERCENTILES = {"p50": "50 %", "p75": "75 %", "p90": "90 %", "p95": "95 %", "p99": "99 %", "p999": "99.9 %"}
RATIO_TICKS = (0.5, 1, 2, 5, 10, 20, 50, 100)


def draw(result, directory):
    """Draws all charts of a scenario. Returns their file names, each with its title."""
    drawn = {}
    for chart in result["plan"]["chart"]:
        name = "-".join(filter(None, [result["scenario"], chart["kind"], chart.get("metric")])) + ".svg"
        with pyplot.rc_context(STYLE):
            figure = KINDS[chart["kind"]](result, chart)
            same = {"Date": None, "Creator": None}
            figure.savefig(directory / name, bbox_inches="tight", pad_inches=0.15, metadata=same)
            pyplot.close(figure)
        drawn[name] = title(result, chart)
    return drawn


def title(result, chart, what=None):
    told = what or (label(chart["metric"]) if "metric" in chart else "latency in ms by percentile")
    better = METRICS[chart.get("metric", "p99")].better
    return f"{result['plan']['title']}: {told}; {better} is better"


def panels(result, chart):
    """The cells of each panel by its name; one panel without a name if the chart does not ask for several."""
    grouped = {}
    for dimensions, cells in chosen(result, chart):
        grouped.setdefault(dimensions.get(chart.get("panel")), []).extend(cells)
    return {DIMENSIONS[chart["panel"]](key) if key is not None else "": cells for key, cells in grouped.items()}


def chosen(result, chart):
    for dimensions, cells in points(result):
        if chart.get("where", {}).items() <= dimensions.items():
            yield dimensions, cells


def best_first(cells, metric):
    """Contenders ordered by their medians, or by the geometric mean of several."""
    logs = {}
    for cell in cells:
        if cell.median(metric):
            logs.setdefault(cell.contender, []).append(math.log(cell.median(metric)))
    sign = 1 if METRICS[metric].better == "less" else -1
    return sorted(logs, key=lambda name: sign * sum(logs[name]) / len(logs[name]))


def ratios(result, chart):
    """A row for each contender: its median over the reference's, and a line from least to most."""
    metric, reference = chart["metric"], result["plan"]["reference"]
    shown = panels(result, chart)
    others = {name: [cell for cell in cells if cell.contender != reference] for name, cells in shown.items()}
    names = best_first([cell for cells in others.values() for cell in cells], metric)
    figure, all_axes = grid(len(shown), 2.7, 0.24 * len(names) + 0.7, 4, sharey=True, sharex=True)
    reached = [1.0]
    for axes, (name, cells) in zip(all_axes, shown.items(), strict=True):
        axes.set_title(name)
        axes.axvline(1, color="black", linewidth=1)
        base = cell_of(cells, reference).median(metric)
        for cell in others[name]:
            reached += draw_ratio(axes, names, cell, metric, base)
    left, right = min(reached) / 1.15, max(reached) * 1.7
    for axes in all_axes:
        axes.set_xscale("log")
        axes.set_xlim(left, right)
        ticks_at(axes.xaxis, [tick for tick in RATIO_TICKS if left <= tick <= right])
        name_rows(axes, names)
    headline(figure, title(result, chart, f"ratio to the {reference}, which is the line at 1"))
    return figure


def draw_ratio(axes, names, cell, metric, base):
    """One contender's row. Returns the ends of its line."""
    if not cell.values(metric):
        return []
    row = names.index(cell.contender)
    middle, low, high = (value / base for value in (cell.median(metric), *cell.spread(metric)))
    axes.plot([low, high], [row, row], color=ink(cell.contender), linewidth=1.5, solid_capstyle="butt")
    axes.plot(middle, row, "o", color=ink(cell.contender), markersize=6 if is_ours(cell.contender) else 4)
    write_value(axes, (high, row), f"{middle:.2f}", cell.contender)
    return [low, high]


def lines(result, chart):
    """The metric over a dimension: a line for each contender, with a bar from least to most."""
    metric, x = chart["metric"], chart["x"]
    series = {}
    for dimensions, cells in chosen(result, chart):
        for cell in cells:
            if dimensions.get(x) and cell.values(metric):
                series.setdefault(cell.contender, []).append((dimensions[x], cell.median(metric), cell.spread(metric)))
    figure, (axes,) = grid(1, 7.5, 4, 1)
    places = sorted({place for found in series.values() for place, _, _ in found})
    axes.set_xscale("log", base=2)
    ticks_at(axes.xaxis, places)
    ends, heights = {}, []
    for index, (contender, found) in enumerate(series.items()):
        where, medians, spreads = zip(*found, strict=True)
        axes.plot(where, medians, **stroke(contender, index))
        axes.vlines(where, *zip(*spreads, strict=True), color=ink(contender), linewidth=1, zorder=2)
        # The name of a line that ends early says where.
        name = contender if where[-1] == places[-1] else f"{contender} (to {where[-1]:,})"
        ends[name] = (where[-1], medians[-1])
        heights += medians
    scale_heights(axes, heights)
    mark_limit(axes, chart.get("limit"))
    axes.set_xlabel({"connections": "connections", "vus": "virtual users"}[x])
    headline(figure, title(result, chart))
    name_ends(axes, ends)
    return figure


def percentiles(result, chart):
    """The distribution of latency: a panel for each point, a line for each contender."""
    shown = panels(result, chart)
    figure, all_axes = grid(len(shown), 3.6, 2.9, 3)
    headline(figure, title(result, chart))
    for axes, (name, cells) in zip(all_axes, shown.items(), strict=True):
        ends = {}
        for index, cell in enumerate(cells):
            heights = [cell.median(percentile) for percentile in PERCENTILES]
            if None not in heights:
                axes.plot(range(len(heights)), heights, **stroke(cell.contender, index))
                ends[cell.contender] = (len(heights) - 1, heights[-1])
        scale_by_ratio(axes)
        axes.set_xticks(range(len(PERCENTILES)), PERCENTILES.values(), fontsize=7.5)
        axes.set_title(name)
        name_ends(axes, ends)
    return figure


def bars(result, chart):
    """A bar for each contender, the best at the top, with a line from least to most."""
    metric = chart["metric"]
    shown = panels(result, chart)
    names = best_first([cell for cells in shown.values() for cell in cells], metric)
    columns = min(len(shown), 2)
    figure, all_axes = grid(len(shown), 7 / columns, 0.26 * len(names) + 0.7, columns, sharey=True, sharex=True)
    headline(figure, title(result, chart))
    for axes, (name, cells) in zip(all_axes, shown.items(), strict=True):
        for cell in cells:
            if cell.values(metric):
                row, (low, high) = names.index(cell.contender), cell.spread(metric)
                axes.barh(row, cell.median(metric), color=ink(cell.contender), height=0.62)
                axes.plot([low, high], [row, row], color="black", linewidth=1)
                write_value(axes, (high, row), number(cell.median(metric), metric), cell.contender)
        axes.set_title(name)
        axes.margins(x=0.16)
        axes.xaxis.set_major_formatter(PLAIN)
        name_rows(axes, names)
    return figure


def series(result, chart):
    """The metric over the time of the load, in each contender's first round."""
    metric, limit = chart["metric"], chart.get("limit")
    shown = panels(result, chart)
    figure, all_axes = grid(len(shown), 3.6, 2.9, 3)
    headline(figure, title(result, chart))
    for axes, (name, cells) in zip(all_axes, shown.items(), strict=True):
        ends, heights = {}, []
        for cell in cells:
            if over_time := cell.records[0].get(metric):
                axes.plot(*zip(*over_time, strict=True), **{**stroke(cell.contender), "marker": ""})
                killed = " (killed)" if cell.records[0].get("killed") else ""
                ends[f"{cell.contender}{killed}"] = over_time[-1]
                heights += [height for _, height in over_time]
        scale_from_0(axes, 1.12 * max(limit or 0, *heights))
        mark_limit(axes, limit)
        axes.set_xlabel("seconds")
        axes.set_title(name)
        name_ends(axes, ends)
    return figure


KINDS = {"ratios": ratios, "lines": lines, "percentiles": percentiles, "bars": bars, "series": series}
