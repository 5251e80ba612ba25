"""Evaluation of records: medians with their spread, ratios, losses; and tables in Markdown."""

import statistics
from dataclasses import dataclass

from contenders import TWINS

LESS, MORE = "less", "more"


@dataclass(frozen=True)
class Metric:
    label: str
    unit: str
    decimals: int
    better: str | None = None


METRICS = {
    "cpu_us": Metric("CPU time per request", "µs", 2, LESS),
    "requests_per_second": Metric("requests/s", "", 0, MORE),
    "megabytes_per_second": Metric("received", "MB/s", 1, MORE),
    "mean": Metric("mean", "ms", 2, LESS),
    "p50": Metric("p50", "ms", 2, LESS),
    "p95": Metric("p95", "ms", 2, LESS),
    "p99": Metric("p99", "ms", 2, LESS),
    "worst": Metric("worst", "ms", 1, LESS),
    "errors": Metric("errors", "", 0, LESS),
    "killed": Metric("killed", "", 0, LESS),
    "kills": Metric("OOM kills", "", 0, LESS),
    "slow_open": Metric("slow clients open", "", 0),
    "memory_peak": Metric("peak memory", "MB", 1, LESS),
    "memory_over_time": Metric("memory", "MB", 1, LESS),
    "memory": Metric("memory", "MB", 1, LESS),
    "held": Metric("held", "", 0, MORE),
    "cases": Metric("cases", "", 0),
    "answered_again": Metric("answered again", "", 0, MORE),
    "bytes_each": Metric("bytes each", "", 0, LESS),
    "first_byte_ms": Metric("first byte", "ms", 1, LESS),
    "resident_mb": Metric("memory at rest", "MB", 2, LESS),
    "program_mb": Metric("program", "MB", 2, LESS),
    "image_mb": Metric("image", "MB", 2, LESS),
    "pull_mb": Metric("pull", "MB", 2, LESS),
}


def size_name(size):
    units = ((1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))
    return next(f"{size // unit} {name}" for unit, name in units if size >= unit)


def counted(count, one):
    return f"{count:,} {one}{'' if count == 1 else 's'}"


# How dimensions of a point are written, in this order. Others are the same at all points, or follow from these.
DIMENSIONS = {
    "text": lambda text: f"`{text}`",
    "size": size_name,
    "connections": lambda count: counted(count, "connection"),
    "vus": lambda count: counted(count, "user"),
    "cpus": lambda count: counted(count, "CPU"),
    "memory_mb": lambda size: f"{size / 1000:.1f} GB" if size >= 1000 else f"{size} MB",
    "placement": str,
    "slow": lambda name: "alone" if name == "none" else f"beside {name}",
}


def number(value, metric):
    return "" if value is None else f"{value:,.{METRICS[metric].decimals}f}"


@dataclass(frozen=True)
class Cell:
    """A contender at a point: the measurements of all rounds."""

    contender: str
    records: list[dict]

    def values(self, metric):
        return [float(record[metric]) for record in self.records if record.get(metric) is not None]

    def median(self, metric):
        return statistics.median(self.values(metric)) if self.values(metric) else None

    def spread(self, metric):
        """Least and most."""
        return (min(self.values(metric)), max(self.values(metric))) if self.values(metric) else None

    def lasted(self):
        """Whether it served to the end of every round. A server that was killed gets no credit for what it did
        not use."""
        return not any(record.get("killed") or "failed" in record for record in self.records)

    def failures(self):
        return [record["failed"] for record in self.records if "failed" in record]


def points(result):
    """For each point, in order: the dimensions in which it differs from others, and its contenders' cells, in the order
    of the scenario's file."""
    places = {name: place for place, name in enumerate(result["plan"]["contenders"])}
    grouped = {}  # records, by point and by contender
    for record in result["records"]:
        point = tuple((name, record[name]) for name in DIMENSIONS if name in record)
        grouped.setdefault(point, {}).setdefault(record["contender"], []).append(record)
    for point, contenders in grouped.items():
        dimensions = {name: value for name, value in point if differs(name, grouped)}
        yield dimensions, [Cell(name, contenders[name]) for name in sorted(contenders, key=places.get)]


def differs(dimension, points):
    """Whether the points do not all have the same value in this dimension."""
    return len({dict(point).get(dimension) for point in points}) > 1


def point_name(dimensions):
    return ", ".join(DIMENSIONS[name](value) for name, value in dimensions.items())


def cell_of(cells, contender):
    return next((cell for cell in cells if cell.contender == contender), None)


def ratio(cell, other, metric):
    """The median divided by the other's, or None if either has none."""
    if other is None or not other.median(metric) or cell.median(metric) is None:
        return None
    return cell.median(metric) / other.median(metric)


@dataclass(frozen=True)
class Loss:
    """A place where one of kcup's programs has a worse median than the best of all other servers that lasted."""

    metric: str
    point: str
    twin: Cell
    best: Cell

    def times(self):
        """How many times worse its median is, or None if the better one is 0."""
        less, more = sorted(cell.median(self.metric) for cell in (self.twin, self.best))
        return more / less if less else None

    def is_tie(self):
        """Whether kcup's best round is no worse than the other's worst."""
        mine, theirs = ([rank(value, self.metric) for value in c.values(self.metric)] for c in (self.twin, self.best))
        return min(mine) <= max(theirs)


def losses(result):
    """At every point, by the metrics by which the scenario is judged. One round ranks nobody, except by what would be
    the same in another."""
    plan = result["plan"]
    if plan["rounds"] == 1 and plan["kind"] != "correctness":
        return
    for dimensions, cells in points(result):
        for metric in plan["judged"] or plan["metrics"][:1]:
            ranked = {cell.contender: rank(cell.median(metric), metric) for cell in cells if cell.values(metric)}
            lasting = [cell.contender for cell in cells if cell.lasted() and cell.contender in ranked]
            others = [name for name in lasting if name not in (*TWINS, "floor")]
            best = min(others, key=ranked.get, default=None)
            for twin in TWINS:
                if best and twin in ranked and ranked[twin] > ranked[best]:
                    yield Loss(metric, point_name(dimensions), cell_of(cells, twin), cell_of(cells, best))


def broken(result):
    """Failures of kcup's programs. Failures of other servers are results."""
    for record in result["records"]:
        if record["contender"] in TWINS and ("failed" in record or record.get("killed")):
            yield f"{result['scenario']}: {record['contender']}: {record.get('failed', 'killed')}"


def rank(value, metric):
    """A number that is smaller for better values."""
    return value if METRICS[metric].better == LESS else -value


def markdown(header, rows):
    """A table with its first column aligned left, and the others right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def scenario_table(result):
    """Every contender at every point: the ratio and the median of the first metric, its spread, other medians."""
    plan = result["plan"]
    known = [metric for metric in plan["metrics"] if any(metric in record for record in result["records"])]
    first, others = known[0], known[1:]
    header = ["", f"{METRICS[first].label}, ratio to {plan['reference']}", label(first)]
    header += ["least to most"] if plan["rounds"] > 1 else []
    rows = []
    for dimensions, cells in points(result):
        if dimensions:
            rows.append([f"**{point_name(dimensions)}**", *[""] * (len(header) - 1 + len(others))])
        for cell in cells:
            told = [ratio_of(cell, cell_of(cells, plan["reference"]), first), median_of(cell, first)]
            told += [spread_of(cell, first)] if plan["rounds"] > 1 else []
            rows.append([name_of(cell), *told, *(number(cell.median(metric), metric) for metric in others)])
    return markdown([*header, *map(label, others)], rows)


def label(metric):
    known = METRICS[metric]
    return f"{known.label}, {known.unit}" if known.unit else known.label


def name_of(cell):
    return f"**{cell.contender}**" if cell.contender in TWINS else cell.contender


def ratio_of(cell, reference, metric):
    compared = ratio(cell, reference, metric)
    return "" if compared is None else f"{compared:.2f}"


def median_of(cell, metric):
    """The median, or the reason why nothing was measured."""
    return number(cell.median(metric), metric) or (cell.failures() or ["none"])[0].replace("\n", " ")[:60]


def spread_of(cell, metric):
    return " to ".join(number(value, metric) for value in cell.spread(metric) or ())
