"""The section on soaks and the chart of the hour, from invented data; and the page matches the results."""

import pytest
import reliability
from readme import split

SLOPE = {"median": 2048.4, "least": -1024.0, "most": 1.5 * 2**20}
NONE = dict.fromkeys(SLOPE, 0)


def outcome():
    seconds = range(10, 121, 10)
    names = ("resident", "group", "descriptors", "threads", "p99")
    return {
        "samples": {
            "seconds": list(seconds),
            "quiet": [int(second % 60 == 0) for second in seconds],
            "answered": [100 * second for second in seconds],
            "machine": [3.0] * 12,
            **{name: [30 + second * (second % 60 != 0) for second in seconds] for name in names},
        },
        "slopes": {"resident": SLOPE, "anonymous": SLOPE, "descriptors": NONE, "threads": NONE},
        "turns": 100,
        "accepted": 5000,
        "reloads": {"ok": 30, "failed": 7},
        "problems": [],
    }


@pytest.fixture
def hour():
    about = {"date": "2026-11-22", "kernel": "Linux 6.1 x86_64", "commit": "abc", "seconds": 120}
    return {**about, "outcomes": {"rust": outcome(), "go": outcome()}}


@pytest.fixture
def soak(hour):
    rows = [
        {"fault": "a fault", "twin": "rust", "happened": "it went on", "answered": 7, "failed": 0},
        {"fault": "another", "twin": "rust", "happened": "skipped: no clock"},
        {"fault": "a fault", "twin": "go", "happened": "it went on", "answered": 8, "failed": 0},
    ]
    return {**hour, "rows": rows}


def test_the_section_has_growth_and_faults(hour, soak):
    section = reliability.section(soak, hour)
    assert "An hour, 2026-11-22, Linux 6.1 x86_64, programs of commit abc." in section
    assert "| growth of resident memory, KiB | +2 (-1 to +1,536) | +2 (-1 to +1,536) |" in section
    assert "| growth of descriptors | 0 (0 to 0) | 0 (0 to 0) |" in section
    assert "control group" not in section
    assert "| responses | 12,000 | 12,000 |" in section
    assert "a load average of 3" in section
    rows = ["| a fault | rust | it went on | 7 | 0 |", "| a fault | go | it went on | 8 | 0 |"]
    assert "\n".join([*rows, "| another | rust | skipped: no clock |  |  |"]) in section


def test_the_line_is_of_quiet_moments_and_the_band_of_all(hour):
    samples = hour["outcomes"]["go"]["samples"]
    told = samples["seconds"], samples["resident"], samples["quiet"]
    assert list(reliability.by_minute(*told, True)) == [(1, 30, 140, 30)]
    assert next(reliability.by_minute(*told, False)) == (0, 40, 80, 60)
    assert reliability.rates(samples) == [100] * 12


def test_a_chart_is_drawn_without_a_control_group_too(hour, tmp_path):
    hour["outcomes"]["go"]["samples"]["group"] = [None] * 12
    reliability.draw(hour, tmp_path / "hour.svg")
    assert (tmp_path / "hour.svg").read_text().count("<!-- threads -->") == 1


def test_the_page_says_what_the_last_soak_says():
    _, section, _ = split(reliability.PAGE.read_text(), reliability.MARKS)
    assert section == reliability.section(reliability.read("soak"), reliability.read("hour")), "make soak-readme"
