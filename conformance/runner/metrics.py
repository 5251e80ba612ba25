"""The page of K-118, checked byte by byte and read by Prometheus' own parser; and how counters are watched."""

import http.client
import itertools
import re

from prometheus_client.parser import text_string_to_metric_families

from .contract import metrics
from .process import until
from .promises import check
from .responses import Response, WireError
from .wire import Connection

TYPE = "text/plain; version=0.0.4; charset=utf-8"
SAMPLE = re.compile(r'(?P<key>(?P<name>\w+)(?:\{(?P<labels>\w+="[^"\\]*"(?:,\w+="[^"\\]*")*)\})?) (?P<value>\S+)')
WHOLE, TWO_DECIMALS = r"0|[1-9]\d*", r"(?:0|[1-9]\d*)\.\d\d"
WITH_DECIMALS = {"process_cpu_seconds_total", "process_start_time_seconds"}
REQUESTS = "kcup_http_requests_total"
OK = f'{REQUESTS}{{method="GET",code="200"}}'
BYTES = "kcup_http_response_bytes_total"
ACCEPTED = "kcup_connections_accepted_total"
LOST = "kcup_access_log_lines_lost_total"
HOT, PARKED = 'kcup_connections{state="hot"}', 'kcup_connections{state="parked"}'
CLOSED = "kcup_connections_closed_total"
COUNTERS = (REQUESTS, BYTES, ACCEPTED, LOST, CLOSED, "kcup_reloads_total")


def closed(reason):
    return f'{CLOSED}{{reason="{reason}"}}'


def reloads(result):
    return f'kcup_reloads_total{{result="{result}"}}'


class AdminConnection(Connection):
    """A connection to the admin listener, whose responses come from a library, and are read by Python's."""

    def response(self, bodyless=False):
        response = http.client.HTTPResponse(self.socket, method="HEAD" if bodyless else "GET")
        response.begin()
        fields = [(name.lower(), value) for name, value in response.getheaders()]
        return Response(response.status, response.reason, fields, b"", response.read())

    def expect_end(self):
        """Reads until the end, whether or not anything comes before it."""
        while self.receive():
            pass


def ask(address, target, method="GET"):
    """One response of the admin listener, after which it closes."""
    with AdminConnection(address) as connection:
        connection.send(f"{method} {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        response = connection.response(method == "HEAD")
        check(response.one("connection") == "close", f"connection: {response.one('connection')}")
        connection.expect_end()
    return response


def page(server):
    """The text of /metrics."""
    response = ask(server.admin, "/metrics")
    check((response.status, response.one("content-type")) == (200, TYPE), f"{response.status} {response.fields}")
    return response.body.decode()


def samples(text):
    """The value of each sample, by its name and labels as written."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    found = [SAMPLE.fullmatch(line) for line in lines]
    check(all(found), f"not samples: {[line for line, match in zip(lines, found, strict=True) if not match]}")
    return {match["key"]: number(match["value"]) for match in found}


def number(text):
    return int(text) if text.isdigit() else float(text)


def scrape(server):
    return samples(page(server))


def counters(server):
    return {key: value for key, value in scrape(server).items() if key.startswith(COUNTERS)}


def grown(server, before):
    """By how much each counter has grown since then; counters that have not grown are left out."""
    return {key: value - before.get(key, 0) for key, value in counters(server).items() if value != before.get(key, 0)}


def until_grown(server, before, expected):
    """Waits until exactly these counters have grown by exactly these amounts."""
    expected = {key: value for key, value in expected.items() if value}
    seen = {}

    def as_expected():
        nonlocal seen
        seen = grown(server, before)
        return seen == expected

    try:
        until(as_expected, 5)
    except AssertionError:
        raise WireError(f"counted {seen}, expected {expected}") from None


def hold_to_format(text, tls=False):
    """Every line is as in K-118 and K-119, in the order of the table, and a second parser reads the same."""
    check(text.endswith("\n"), "the last line has no end")
    lines = iter(text[:-1].split("\n"))
    ahead = next(lines, None)
    for metric in metrics(tls):
        check(ahead == f"# HELP {metric.name} {metric.help}", f"{ahead!r} where the HELP of {metric.name} should be")
        kind = next(lines, None)
        check(kind == f"# TYPE {metric.name} {metric.type}", f"{kind!r} where the TYPE of {metric.name} should be")
        series = []
        while (ahead := next(lines, None)) is not None and not ahead.startswith("#"):
            series.append(hold_to_sample(metric, ahead))
        hold_to_series(metric, series)
    check(ahead is None, f"{ahead!r} after the last metric")
    hold_to_parser(text, tls)


def hold_to_sample(metric, line):
    """The label values of a sample of this metric, in the order of the table."""
    match = SAMPLE.fullmatch(line)
    check(match and match["name"] == metric.name, f"{line!r} is not a sample of {metric.name}")
    written = TWO_DECIMALS if metric.name in WITH_DECIMALS else WHOLE
    check(re.fullmatch(written, match["value"]), f"how a number is written: {line!r}")
    labels = re.findall(r'(\w+)="([^"]*)"', match["labels"] or "")
    check([name for name, _ in labels] == list(metric.labels), f"labels: {line!r}")
    return tuple(value for _, value in labels)


def hold_to_series(metric, series):
    """All samples that must exist, in order. Codes are in the order of their first response; `1` is the build."""
    check(len(set(series)) == len(series), f"a series of {metric.name} twice")
    if metric.name == REQUESTS:
        methods = metric.labels["method"]
        check(all(method in methods for method, _ in series), f"methods: {series}")
        check(series == sorted(series, key=lambda s: (methods.index(s[0]), int(s[1]))), f"order: {series}")
    elif metric.name == "kcup_build_info":
        check(len(series) == 1 and series[0][1] in metric.labels["implementation"], f"builds: {series}")
    else:
        expected = list(itertools.product(*metric.labels.values()))
        check(series == expected, f"series of {metric.name}: {series}, not {expected}")


def hold_to_parser(text, tls):
    """What Prometheus' parser reads."""
    families = list(text_string_to_metric_families(text))
    found = [(family.name, family.type, family.documentation) for family in families]
    expected = [(metric.name.removesuffix("_total"), metric.type, metric.help) for metric in metrics(tls)]
    check(found == expected, f"families {found}, not {expected}")
    read = {rendered(sample): sample.value for family in families for sample in family.samples}
    check(read == samples(text), "Prometheus's parser reads other values")


def rendered(sample):
    labels = ",".join(f'{name}="{value}"' for name, value in sample.labels.items())
    return sample.name + (f"{{{labels}}}" if labels else "")
