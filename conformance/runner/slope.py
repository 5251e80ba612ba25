"""Whether what was sampled grows: the slope of Theil and Sen, and what chance leaves possible (Kendall's interval)."""

import math
import statistics
from dataclasses import dataclass

WARM_UP = 0.1  # of the time: what a program takes once, it takes here
HOUR = 3600.0
MIB = 1 << 20
# What each may grow in an hour, or in the whole time where that is shorter.
BOUNDS = {"resident": MIB, "anonymous": MIB, "group": MIB, "descriptors": 0, "threads": 0}
CERTAIN = 1.96  # standard deviations: 95 % of chance


@dataclass(frozen=True)
class Slope:
    """Growth in an hour: the likeliest, and the least and the most that chance leaves possible."""

    median: float
    least: float
    most: float


def slope(points):
    """Of pairs of seconds and a value. The median of all pairs' slopes: one step or one peak is none."""
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
    """Whether it certainly grows by more than it may."""
    return slopes(samples)[name].least * min(1, samples[-1]["seconds"] / HOUR) > BOUNDS[name]
