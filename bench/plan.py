"""Scenarios as their files in scenarios/ declare them: what is measured, on whom, how often, how long that takes."""

import itertools
import tomllib
from dataclasses import dataclass, field

from peers import HOME, choose

SCENARIOS = HOME / "scenarios"
# What the conformance of programs and images, and the pages take in a full and in a quick run, without builds.
BESIDES_SECONDS, BESIDES_QUICK_SECONDS = 90, 30


@dataclass(frozen=True)
class Scenario:
    """The keys of a scenario's file.

    points      what is measured: tables of dimensions, each a value or a list of values; every combination is a point
    contenders  who takes turns at each point, `rounds` times
    seconds     of load in one measurement; `overhead` is what it takes besides
    metrics     columns of the summary; the first is also shown as a ratio to the contender `reference`
    judged      metrics by which one can lose: the first of `metrics` unless told
    engine      whether it takes a Docker engine
    groups      what kind "correctness" sends
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
    overhead: float
    metrics: list[str]
    reference: str = "kcup-rust"
    judged: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    engine: bool = False
    chart: list[dict] = field(default_factory=list)
    published: list[dict] = field(default_factory=list)
    groups: list[dict] = field(default_factory=list)

    def combinations(self):
        """Every point, as a table of dimensions with one value each."""
        for table in self.points:
            options = [value if isinstance(value, list) else [value] for value in table.values()]
            yield from (dict(zip(table, chosen, strict=True)) for chosen in itertools.product(*options))

    def seconds_at(self, point):
        """Of load: a point may have its own."""
        return point.get("seconds", self.seconds)

    def estimate(self):
        """Seconds with the contenders that are there."""
        present, _ = choose(self.contenders)
        return self.rounds * sum(
            self.seconds_at(point) + self.overhead
            for point in self.combinations()
            for peer in present
            if peer.serves(point.get("size", 0))
        )


def scenario(name, quick=False):
    table = tomllib.loads((SCENARIOS / f"{name}.toml").read_text())
    changes = table.pop("quick", {})
    return Scenario(name, **{**table, **(changes if quick else {})})


def scenarios(quick=False):
    """All, in the order in which they are run: what an engine or tracked connections would falsify comes first."""
    found = [scenario(path.stem, quick) for path in SCENARIOS.glob("*.toml")]
    return sorted(found, key=lambda one: one.order)


def total(quick):
    """Seconds that a run of all takes."""
    return sum(one.estimate() for one in scenarios(quick)) + (BESIDES_QUICK_SECONDS if quick else BESIDES_SECONDS)
