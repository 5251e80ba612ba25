"""Whether samples grow: the Theil-Sen slope with its confidence interval (by Kendall's statistic)."""

import math
import statistics
from dataclasses import dataclass

WARM_UP = 0.1  # of the time, for memory that a program takes only once
HOUR = 3600.0
MIB = 1 << 20
# How much each may grow in an hour, or in the whole run if it is shorter.
BOUNDS = {"resident": MIB, "anonymous": MIB, "group": MIB, "descriptors": 0, "threads": 0}
CERTAIN = 1.96  # standard deviations, for 95 %


@dataclass(frozen=True)
class Slope:
    """Growth per hour: the median, and the least and the most that are plausible by chance."""

    median: float
    least: float
    most: float


def slope(points):
    """The median slope of all pairs of points (seconds and value), on which a single step or peak has no effect."""
    ordered = sorted(points)
    slopes = sorted(
        HOUR * (later - earlier) / (end - begin)
        for index, (begin, earlier) in enumerate(ordered)
        for end, later in ordered[index + 1 :]
    )
    n, pairs = len(ordered), len(slopes)
    spread = CERTAIN * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = max(0, int((pairs - spread) / 2))
    return Slope(statistics.median(slopes), slopes[low], slopes[pairs - 1 - low])


def slopes(samples):
    """Of everything that must not grow, at the quiet moments after the warm-up."""
    start = WARM_UP * samples[-1]["seconds"]
    quiet = [sample for sample in samples if sample["quiet"] and sample["seconds"] >= start]
    known = [name for name in BOUNDS if all(sample[name] is not None for sample in quiet)]
    return {name: slope([(sample["seconds"], sample[name]) for sample in quiet]) for name in known}


def grows(samples, name):
    """Whether it certainly grows by more than is allowed."""
    return slopes(samples)[name].least * min(1, samples[-1]["seconds"] / HOUR) > BOUNDS[name]
