"""A small invented run, as the benchmarks would leave it: two points, four contenders, two rounds."""

import json

import pytest

PLAN = {
    "title": "A scenario",
    "method": "How it is done.",
    "order": 1,
    "kind": "load",
    "contenders": ["floor", "kcup-rust", "kcup-go", "nginx"],
    "rounds": 2,
    "seconds": 1,
    "reference": "floor",
    "metrics": ["cpu_us", "p99", "errors"],
    "judged": [],
    "published": [{"source": "somebody (2020)", "rows": [["", "requests/s"], ["theirs", "1,000"]]}],
    "chart": [],
}
COSTS = {"floor": (4.0, 4.2), "kcup-rust": (4.6, 5.0), "kcup-go": (6.2, 6.4), "nginx": (5.8, 6.6)}
PERCENTILES = {"p50": 1.0, "p75": 1.5, "p90": 2.0, "p95": 3.0, "p99": 9.0, "p999": 20.0}


def records():
    for size in (66, 10240):
        for number in (0, 1):
            for contender, costs in COSTS.items():
                over_time = [[0.0, 10.0], [0.5, 20.0 + number]]
                yield {
                    **{"contender": contender, "round": number + 1, "size": size, "connections": size},
                    **{"cpu_us": costs[number], "errors": 0, "memory_over_time": over_time, **PERCENTILES},
                }


@pytest.fixture
def result():
    return {
        "scenario": "small",
        "plan": dict(PLAN),
        "seconds": 8,
        "busy_before": 0.3,
        "stolen": 0.01,
        "absent": {"caddy": "apt-get install -y caddy"},
        "doubts": ["The machine is shared."],
        "records": list(records()),
    }


@pytest.fixture
def about():
    return {
        "command": "make bench-small",
        "began": "2026-11-21 07:00 UTC",
        "quick": False,
        "machine": {"cpu": "A CPU", "cpus": 2, "memory_gb": 4.0, "kernel": "Linux 6.1 x86_64", "python": "3.11.7"},
        "versions": {"nginx": "nginx/1.22.1"},
        "binaries": {"kcup-rust": "ab" * 32, "kcup-go": "cd" * 32},
        "conformance": {"suite": "conformance", "said": "9 passed in 1.00s"},
    }


@pytest.fixture
def run_directory(tmp_path, result, about):
    (tmp_path / "run.json").write_text(json.dumps(about))
    (tmp_path / "small.json").write_text(json.dumps(result))
    return tmp_path
