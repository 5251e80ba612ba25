"""Scenarios as declared by their files in scenarios/: what is measured, on which servers, how often, how long it
takes."""

import itertools
import tomllib
from dataclasses import dataclass, field

from contenders import HOME, choose

SCENARIOS = HOME / "scenarios"
# For conformance checks of programs and images, and for the pages, in a full and in a quick run, without builds.
BESIDES_SECONDS, BESIDES_QUICK_SECONDS = 90, 30


@dataclass(frozen=True)
class Scenario:
    """The keys of a scenario's file.

    points      what is measured: tables of dimensions, each a value or a list of values; every combination is a point
    contenders  the servers that take turns at each point, `rounds` times
    seconds     of load in one measurement, after `warm_up` seconds that do not count; `overhead` is the additional time
    metrics     columns of the summary; the first is also shown as a ratio to the contender `reference`
    judged      metrics by which a server can lose; by default the first of `metrics`
    engine      whether it needs a Docker engine
    groups      what the kind "correctness" sends
    vm          attacks of vm/plan.toml that show the same in emulated machines
    """

    name: str
    title: str
    method: str
    order: int
    kind: str
    contenders: list[str]
    points: list[dict]
    rounds: int
    seconds: float
    overhead: float  # with the warm-up
    metrics: list[str]
    reference: str = "kcup-rust"
    judged: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    engine: bool = False
    chart: list[dict] = field(default_factory=list)
    published: list[dict] = field(default_factory=list)
    groups: list[dict] = field(default_factory=list)
    warm_up: int = 0
    vm: list[str] = field(default_factory=list)

    def combinations(self):
        """Every point, as a table with one value for each dimension."""
        for table in self.points:
            options = [value if isinstance(value, list) else [value] for value in table.values()]
            yield from (dict(zip(table, chosen, strict=True)) for chosen in itertools.product(*options))

    def seconds_at(self, point):
        """Seconds of load: a point may set its own."""
        return point.get("seconds", self.seconds)

    def estimate(self):
        """Seconds with the contenders that are installed."""
        present, _ = choose(self.contenders)
        return self.rounds * sum(
            self.seconds_at(point) + self.overhead
            for point in self.combinations()
            for contender in present
            if contender.serves(point.get("size", 0))
        )


def scenario(name, quick=False):
    table = tomllib.loads((SCENARIOS / f"{name}.toml").read_text())
    changes = table.pop("quick", {})
    return Scenario(name, **{**table, **(changes if quick else {})})


def scenarios(quick=False):
    """All scenarios in order: first those that an engine or connection tracking would distort."""
    found = [scenario(path.stem, quick) for path in SCENARIOS.glob("*.toml")]
    return sorted(found, key=lambda one: one.order)


def total(quick):
    """Seconds for a run of all scenarios."""
    return sum(one.estimate() for one in scenarios(quick)) + (BESIDES_QUICK_SECONDS if quick else BESIDES_SECONDS)
