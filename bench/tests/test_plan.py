"""The files of scenarios and contenders: everything they name exists, and a run takes no longer than allowed."""

import charts
import correctness
import emulated
import pytest
from contenders import choose, everything, fill_in, find_contender, tool
from plan import scenarios, total
from session import KINDS
from tables import DIMENSIONS, METRICS

FULL_SECONDS, QUICK_SECONDS = 150 * 60, 5 * 60
BOTH = [*scenarios(quick=False), *scenarios(quick=True)]


@pytest.mark.parametrize("one", BOTH, ids=lambda one: one.name)
def test_what_a_scenario_names_is_declared(one):
    assert one.kind in KINDS
    assert one.reference in one.contenders
    for name in one.contenders:
        assert find_contender(name).install
    for name in one.tools:
        assert tool(name).install
    assert {*one.metrics, *one.judged} <= METRICS.keys()
    assert {*one.vm} <= emulated.attacks().keys()
    for chart in one.chart:
        assert chart["kind"] in charts.KINDS
        assert chart.get("metric", "p99") in METRICS
        assert chart.get("panel", "size") in DIMENSIONS
    assert list(one.combinations())


def test_the_order_is_of_no_chance():
    orders = [one.order for one in scenarios()]
    assert len(orders) == len(set(orders))


def test_engines_come_last():
    needed = [one.engine for one in scenarios()]
    assert needed == sorted(needed)


@pytest.mark.parametrize(("quick", "most"), [(False, FULL_SECONDS), (True, QUICK_SECONDS)])
def test_a_run_of_all_is_short_enough(quick, most, monkeypatch):
    monkeypatch.setattr("plan.choose", lambda names: ([find_contender(name) for name in names], {}))
    assert total(quick) < most


def test_ports_are_of_one_peer_each():
    ports = [one.port for one in everything() if hasattr(one, "port")]
    assert len(ports) == len(set(ports))


def test_an_absent_peer_is_named_with_what_installs_it(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda program: None if program == "caddy" else program)
    present, absent = choose(["nginx", "caddy"])
    assert [one.name for one in present] == ["nginx"]
    assert absent == {"caddy": "apt-get install -y caddy"}


def test_every_case_of_correctness_is_in_the_suite():
    (one,) = (one for one in scenarios() if one.kind == "correctness")
    names = [name for group in one.groups for name in group["cases"]]
    assert len(names) == len(set(names))
    assert not set(names) - correctness.suite().keys()
    assert {group["judge"] for group in one.groups} <= correctness.JUDGES.keys()


def test_configurations_keep_the_braces_of_their_own_language():
    text = fill_in("http { listen {port}; }", {"port": 80})
    assert text == "http { listen 80; }"
