"""Charts, the pages of a run, and README's section."""

import json
import re
from xml.etree import ElementTree

import axes
import charts
import emulated
import pytest
import readme
import report

CHARTS = [
    {"kind": "ratios", "metric": "cpu_us", "panel": "size"},
    {"kind": "lines", "metric": "cpu_us", "x": "connections", "limit": 5},
    {"kind": "percentiles", "panel": "size"},
    {"kind": "bars", "metric": "cpu_us", "panel": "size"},
    {"kind": "series", "metric": "memory_over_time", "panel": "size", "limit": 100},
]


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart["kind"])
def test_a_chart_is_an_svg_with_kcup_in_its_colours_and_the_same_each_time(chart, result, tmp_path):
    result["plan"]["chart"] = [chart]
    ((name, what),) = charts.draw(result, tmp_path).items()
    first = (tmp_path / name).read_text()
    assert ElementTree.fromstring(first).tag == "{http://www.w3.org/2000/svg}svg"
    assert axes.COLOURS["kcup-rust"].lower() in first and axes.COLOURS["kcup-go"].lower() in first
    assert what.startswith("A scenario: ") and what.endswith("less is better")
    charts.draw(result, tmp_path)
    assert (tmp_path / name).read_text() == first


def test_every_kind_of_chart_is_tried_here():
    assert {chart["kind"] for chart in CHARTS} == charts.KINDS.keys()


def test_names_that_would_overlap_are_moved_apart():
    assert axes.spread_out([0, 1, 50], 10) == [-4.5, 5.5, 50]
    assert axes.spread_out([0, 20], 10) == [0, 20]


def test_the_pages_of_a_run(run_directory):
    (run_directory / "notes.md").write_text("## What is left to gain\n\nNothing.\n")
    report.write(run_directory)
    page, summary = ((run_directory / name).read_text() for name in ("README.md", "summary.md"))
    for told in (
        "`make bench-small`",
        "The machine is shared. (small)",
        "nginx/1.22.1",
        "caddy",
        "Nothing.",
        "ab" * 32,
    ):
        assert told in page
    for told in ("## A scenario", "Published by others", "| **kcup-go** | small, 66 B"):
        assert told in summary


def test_a_page_says_what_the_emulated_machines_saw(run_directory, result):
    result["plan"]["vm"] = ["idle", "wrk"]
    (run_directory / "small.json").write_text(json.dumps(result))
    emulated.keep(run_directory)
    report.write(run_directory)
    summary = (run_directory / "summary.md").read_text()
    assert "| 12,000 idle connections, after one response each | wrk -c400, 1 MiB, 20 s |" in summary
    assert re.search(r"^\| \*\*kcup-rust\*\* \| \d+ \| \d+ \|$", summary, re.MULTILINE)
    assert re.search(r"^\| nginx \| \d+ \| killed \|$", summary, re.MULTILINE)


def test_a_run_may_lose_nowhere(run_directory, result):
    result["records"] = [record for record in result["records"] if record["contender"] != "nginx"]
    (run_directory / "small.json").write_text(json.dumps(result))
    report.write(run_directory)
    assert "Nowhere in this run." in (run_directory / "summary.md").read_text()


def test_only_the_section_of_readme_is_replaced():
    begin, end = readme.MARKS
    before, section, after = readme.split(f"a\n{begin}\nold\n{end}\nb\n")
    assert (before, section, after) == (f"a\n{begin}", "\nold\n", f"{end}\nb\n")
    with pytest.raises(SystemExit):
        readme.split("no marks")


def test_the_section_has_a_line_for_each_question(tmp_path, result, about, monkeypatch):
    monkeypatch.setattr(readme, "ROOT", tmp_path.parent)
    (tmp_path / "run.json").write_text(json.dumps(about))
    more = {"memory": 30.5, "held": 86, "cases": 86, "first_byte_ms": 4.8, "resident_mb": 1.8, "pull_mb": 1.2}
    for order, name in enumerate(["floor", "idle", "correctness", "startup"]):
        records = [
            {**record, **more} for record in result["records"] if name in ("floor", "idle") or record["size"] == 66
        ]
        one = {**result, "scenario": name, "plan": {**result["plan"], "order": order}, "records": records}
        (tmp_path / f"{name}.json").write_text(json.dumps(one))
    section = readme.section(tmp_path)
    assert "of 10 KiB, ratio to a server that parses nothing | 1.17 | 1.54 | 1.51 |  |  |" in section
    assert "| passed, of 86 cases that apply to any server of one file | 86 | 86 | 86 |  |  |" in section
    assert "| image download, MB | 1.20 | 1.20 | 1.20 |  |  |" in section
    assert f"(../{tmp_path.name}/summary.md#where-kcup-loses), 0 places and 6 ties" in section
    brief = readme.brief(tmp_path)
    assert brief.count("\n| ") == 5 and "of 66 B" in brief and "idle, MB" in brief and "at rest, MB" in brief


@pytest.mark.parametrize(("page", "told"), [("PAGE", "section"), ("README", "brief")])
def test_readme_says_what_the_last_full_run_says(page, told):
    _, section, _ = readme.split(getattr(readme, page).read_text())
    runs = readme.full_runs()
    if not runs:
        pytest.skip("no full run is committed yet")
    assert section == getattr(readme, told)(runs[-1]), "make bench-readme"
