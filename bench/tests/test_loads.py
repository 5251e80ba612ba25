"""The output of wrk, k6 and perf is read correctly."""

import flame
import pytest
from loads import LoadError, parse_k6, parse_wrk

WRK = """Running 1s test @ http://127.0.0.1:18001/content.txt
  1 threads and 2 connections
  941 requests in 1.05s, 1.04MB read
Requests/sec:    898.57

{"requests":941,"seconds":2.0,"bytes":4000000,"errors":3,"mean":5.6953,"worst":45.397,"p99":40.53,"p50":1.025}
"""
K6 = {
    "metrics": {
        "http_req_duration": {
            **{"avg": 1.5, "min": 0.2, "med": 1.2, "p(75)": 1.7, "p(90)": 2.4, "p(95)": 3.7, "p(99)": 20.7, "max": 81.2}
        },
        "http_reqs": {"count": 1624, "rate": 812.0},
        "data_received": {"count": 4_000_000, "rate": 2_000_000.0},
        "checks": {"passes": 3240, "fails": 8, "value": 0.99},
    }
}


def test_wrk_is_read():
    load = parse_wrk(WRK)
    assert (load["requests"], load["errors"], load["p50"], load["p99"], load["worst"]) == (941, 3, 1.025, 40.53, 45.397)
    assert (load["requests_per_second"], load["megabytes_per_second"]) == (470.5, 2.0)


def test_wrk_without_a_response_has_no_latency():
    load = parse_wrk('{"requests":0,"seconds":1.0,"bytes":0,"errors":9,"mean":0.0,"p99":0.0}')
    assert (load["requests_per_second"], load["errors"], load["p99"], load["mean"]) == (0, 9, None, None)


def test_wrk_that_fails_is_an_error_with_its_words():
    with pytest.raises(LoadError, match="unable to connect"):
        parse_wrk("unable to connect to 127.0.0.1:18001 Connection refused")


def test_k6_is_read():
    load = parse_k6(K6)
    assert (load["requests"], load["requests_per_second"], load["errors"]) == (1624, 812.0, 8)
    assert (load["mean"], load["p50"], load["p95"], load["worst"]) == (1.5, 1.2, 3.7, 81.2)
    assert load["megabytes_per_second"] == 2.0


def test_stacks_are_counted_by_where_they_end():
    total, kernel, own = flame.shares("kcup;main;serve 3\nkcup;main;serve;tcp_sendmsg_[k] 6\nkcup;main 1\n")
    assert (total, kernel, own) == (10, 6, {"serve": 3, "main": 1})
