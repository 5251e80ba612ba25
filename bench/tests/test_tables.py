"""Medians, ratios and losses."""

from tables import broken, cell_of, losses, point_name, points, ratio, scenario_table


def test_points_are_told_by_what_distinguishes_them(result):
    assert [dimensions for dimensions, _ in points(result)] == [
        {"size": 66, "connections": 66},
        {"size": 10240, "connections": 10240},
    ]
    assert point_name({"size": 10240, "connections": 1}) == "10 KiB, 1 connection"


def test_a_ratio_is_of_medians(result):
    _, cells = next(points(result))
    rust, floor = cell_of(cells, "kcup-rust"), cell_of(cells, "floor")
    assert rust.median("cpu_us") == 4.8 and rust.spread("cpu_us") == (4.6, 5.0)
    assert round(ratio(rust, floor, "cpu_us"), 3) == 1.171


def test_a_table_begins_with_the_ratio(result):
    assert "| **kcup-rust** | 1.17 | 4.80 | 4.60 to 5.00 | 9.00 | 0 |" in scenario_table(result)


def test_a_loss_is_told_with_whether_it_is_certain(result):
    result["plan"]["judged"] = ["cpu_us"]
    for record in result["records"]:
        if record["contender"] == "nginx" and record["size"] == 66:
            record["cpu_us"] -= 2
    told = [(loss.point, loss.twin.contender, loss.is_tie()) for loss in losses(result)]
    assert told == [
        ("66 B, 66 connections", "kcup-rust", True),
        ("66 B, 66 connections", "kcup-go", False),
        ("10 KiB, 10,240 connections", "kcup-go", True),
    ]
    assert round(next(losses(result)).times(), 2) == 1.14


def test_one_round_ranks_nobody(result):
    result["plan"] |= {"judged": ["held"], "rounds": 1}
    for record in result["records"]:
        record["held"] = {"kcup-go": 7}.get(record["contender"], 8)
    assert list(losses(result)) == []
    result["plan"]["kind"] = "correctness"
    assert {loss.twin.contender for loss in losses(result)} == {"kcup-go"}


def test_nobody_loses_to_one_that_was_killed(result):
    result["plan"]["judged"] = ["cpu_us"]
    for record in result["records"]:
        if record["contender"] == "nginx":
            record["killed"] = True
    assert list(losses(result)) == []


def test_more_is_better_where_the_metric_says_so(result):
    result["plan"]["judged"] = ["held"]
    for record in result["records"]:
        record["held"] = {"floor": 0, "kcup-rust": 10, "kcup-go": 7, "nginx": 8}[record["contender"]]
    assert {loss.twin.contender for loss in losses(result)} == {"kcup-go"}


def test_what_was_not_measured_says_why(result):
    for record in result["records"]:
        if record["contender"] == "nginx":
            record["failed"] = "does not serve: no such file"
            del record["cpu_us"]
    assert "| nginx |  | does not serve: no such file |  |" in scenario_table(result)


def test_only_kcup_must_get_through(result):
    result["records"][0] |= {"contender": "nginx", "failed": "does not serve"}
    assert not list(broken(result))
    result["records"][1] |= {"killed": True}
    assert list(broken(result)) == ["small: kcup-rust: killed"]
