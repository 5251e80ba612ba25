"""A run: what a quick one leaves out, and in which order contenders take their turns."""

import re

import session
from contenders import Tool, find_contender
from plan import scenario


def test_a_quick_run_builds_no_tool(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(session, "QUICK", True)
    monkeypatch.setattr(Tool, "path", lambda _: None)
    monkeypatch.setattr(session, "install", lambda tools: (_ for _ in ()).throw(AssertionError(tools)))
    session.measure("k6", tmp_path)
    assert capsys.readouterr().out == "k6: not run, since k6 is absent (make bench-install)\n"
    assert not list(tmp_path.iterdir())


def test_every_round_has_its_own_order_the_same_in_every_run(monkeypatch, tmp_path):
    one = scenario("floor")
    contenders = [find_contender(name) for name in one.contenders]
    monkeypatch.setitem(session.KINDS, one.kind, lambda *_: [{}])
    first, again = (list(session.turns(one, contenders, session.Run(one, tmp_path))) for _ in range(2))
    assert first == again
    orders = {}
    for record in first:
        orders.setdefault((record["size"], record["round"]), []).append(record["contender"])
    assert len({tuple(order) for order in orders.values()}) > one.rounds
    assert {len(order) for order in orders.values()} <= {
        len(contenders),
        len(contenders) - 1,
    }  # one serves small content


def test_a_run_names_its_commit():
    assert re.fullmatch(r"[0-9a-f]{40}(, with changes)?", session.commit())
