"""The measurements on docs/benchmarks.md and, in short, in README, from the last full run that is committed."""

from collections import Counter
from pathlib import Path

import report
from contenders import ROOT, TWINS
from machine import ALWAYS
from report import pages, read
from session import RESULTS
from tables import cell_of, losses, markdown, number, point_name, points, ratio_of, size_name

PAGE = ROOT / "docs" / "benchmarks.md"
README = ROOT / "README.md"
MARKS = ("<!-- bench: begin -->", "<!-- bench: end -->")
PICTURES = {
    "floor-ratios-cpu_us.svg": "CPU time per request, as a ratio to a server that parses nothing",
    "ladder-lines-requests_per_second.svg": "requests per second by connections",
    "idle-lines-memory.svg": "memory by idle connections",
}
NAMES = [*TWINS, "nginx", "lighttpd", "caddy"]


def full_runs():
    """Directories of finished full runs, oldest first. Unfinished and quick runs are elsewhere."""
    return sorted(path.parent for path in RESULTS.glob("*/run.json") if path.parent.name[:1].isdigit())


def split(text, marks=MARKS):
    """The text before the section, the section, and the text after it."""
    before, begin, rest = text.partition(marks[0])
    section, end, after = rest.partition(marks[1])
    if not (begin and end):
        raise SystemExit(f"the page lacks {' or '.join(marks)}")
    return before + begin, section, end + after


def update():
    """Regenerates both, and the pages of the run that they come from."""
    runs = full_runs()
    if not runs:
        raise SystemExit("no full run is there: make bench-all makes one")
    report.write(runs[-1])
    for page, told in {PAGE: section, README: brief}.items():
        before, _, after = split(page.read_text())
        page.write_text(before + told(runs[-1]) + after)


def section(directory):
    about, results = read(directory)
    results = {result["scenario"]: result for result in results}
    place, machine = Path("..", directory.relative_to(ROOT)), about["machine"]
    lost = Counter(loss.is_tie() for result in results.values() for loss in losses(result))
    return pages(
        f"\nThe run of {about['began'][:10]} on {machine['cpus']} CPUs, {machine['cpu']}, {machine['kernel']}: "
        f"[all results]({place}/summary.md), next to figures published by others; "
        f"[where kcup loses]({place}/summary.md#where-kcup-loses), {lost[False]} places and {lost[True]} ties; "
        f"[every reason to distrust it]({place}/README.md). {ALWAYS[1]}",
        markdown(["", *NAMES], rows(results)),
        *(f"![{what}]({place}/{picture})" for picture, what in PICTURES.items()),
    )


def brief(directory):
    """Three questions and one chart, for README."""
    about, results = read(directory)
    results = {result["scenario"]: result for result in results}
    first, *_, memory, _, _, rest, _ = rows(results)
    picture, what = next(iter(PICTURES.items()))
    return pages(
        f"\nOn {about['began'][:10]}, on {about['machine']['cpus']} CPUs:",
        markdown(["", *NAMES], [first, memory, rest]),
        f"![{what}]({directory.relative_to(ROOT)}/{picture})",
    )


def rows(results):
    """A row for each question that a newcomer has."""
    for dimensions, cells in points(results["floor"]):
        floor = cell_of(cells, "floor")
        told = {cell.contender: ratio_of(cell, floor, "cpu_us") for cell in cells}
        size = size_name(dimensions["size"])
        yield row(f"CPU time per request of {size}, ratio to a server that parses nothing", told)
    *_, (dimensions, cells) = points(results["idle"])
    yield medians(f"memory of {point_name(dimensions)}, idle, MB", cells, "memory")
    ((_, cells),) = points(results["correctness"])
    cases = number(cells[0].median("cases"), "cases")
    yield medians(f"passed, of {cases} cases that apply to any server of one file", cells, "held")
    ((_, cells),) = points(results["startup"])
    yield medians("from start to the first byte, ms", cells, "first_byte_ms")
    yield medians("memory at rest, MB", cells, "resident_mb")
    yield medians("image download, MB", cells, "pull_mb")


def medians(question, cells, metric):
    return row(question, {cell.contender: number(cell.median(metric), metric) for cell in cells})


def row(question, told):
    return [question, *(told.get(name, "") for name in NAMES)]
