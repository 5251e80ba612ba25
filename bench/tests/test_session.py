"""A quick run reports what it leaves out."""

import session
from contenders import Tool


def test_a_quick_run_builds_no_tool(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(session, "QUICK", True)
    monkeypatch.setattr(Tool, "path", lambda _: None)
    monkeypatch.setattr(session, "install", lambda tools: (_ for _ in ()).throw(AssertionError(tools)))
    session.measure("k6", tmp_path)
    assert capsys.readouterr().out == "k6: not run, since k6 is absent (make bench-install)\n"
    assert not list(tmp_path.iterdir())
