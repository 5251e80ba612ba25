"""Faults in a page of metrics, in a line of the access log, or in a response during a reload: each must be caught."""

import re
from dataclasses import replace

PAGE, LINES, RELOADED = {}, {}, {}


def fault(kind, name):
    """Registers a fault: a change to the text, the lines, or the response."""

    def register(function):
        kind[name] = function
        return function

    return register


def replacing(kind, name, old, new, count=1):
    kind[name] = lambda text: text.replace(old, new, count)


replacing(PAGE, "metrics without TYPE", "# TYPE kcup_connections gauge\n", "")
replacing(PAGE, "help in other words", "Connections accepted.", "Accepted connections.")
replacing(PAGE, "a gauge that is a counter", "# TYPE process_open_fds gauge", "# TYPE process_open_fds counter")
replacing(PAGE, "labels in another order", 'method="GET",code="200"', 'code="200",method="GET"')
replacing(PAGE, "spaces between labels", 'method="GET",code', 'method="GET", code')
replacing(PAGE, "codes in another order", 'code="206"} 6', 'code="417"} 6')
replacing(PAGE, "a method of its own", 'method="other"', 'method="POST"', -1)
replacing(PAGE, "a series that is not there yet", 'kcup_reloads_total{result="failed"} 13\n', "")
replacing(PAGE, "a reason of its own", 'reason="peer"', 'reason="client"')
replacing(
    PAGE,
    "a whole number with a fraction",
    "kcup_connections_accepted_total 16453",
    "kcup_connections_accepted_total 16453.0",
)
replacing(PAGE, "an exponent", "process_resident_memory_bytes 26000000", "process_resident_memory_bytes 2.6e+07")
replacing(PAGE, "seconds without decimals", "process_cpu_seconds_total 10000.09", "process_cpu_seconds_total 10000")
replacing(PAGE, "a blank line", "# HELP kcup_connections ", "\n# HELP kcup_connections ")
replacing(PAGE, "CRLF", "\n", "\r\n", -1)
replacing(
    PAGE,
    "a metric of its own",
    "# HELP kcup_build",
    "# HELP go_threads t\n# TYPE go_threads gauge\ngo_threads 1\n# HELP kcup_build",
)


@fault(PAGE, "a series twice")
def _(text):
    return re.sub(r"(kcup_content_bytes \d+\n)", r"\1\1", text)


@fault(PAGE, "no last metric")
def _(text):
    return text[: text.index("# HELP process_start")]


@fault(PAGE, "no end of the last line")
def _(text):
    return text[:-1]


@fault(PAGE, "times of samples")
def _(text):
    return re.sub(r"^(kcup_content_bytes \d+)$", r"\1 1795244400000", text, flags=re.MULTILINE)


replacing(LINES, "a quote that is let through", rb"\x5C", b'"')
replacing(LINES, "a backslash that is let through", rb"\x5C", b"\\")
replacing(LINES, "the head of what was refused", b'"-" 400', b'"GET / HTTP/1.1" 400')
replacing(LINES, "a dash for no bytes", b" 304 0", b" 304 -")
replacing(LINES, "the length of what HEAD did not get", b'"HEAD / HTTP/1.1" 200 0', b'"HEAD / HTTP/1.1" 200 14')
replacing(LINES, "a mapped address", b"127.0.0.1 - -", b"::ffff:127.0.0.1 - -")
replacing(LINES, "a port", b"127.0.0.1 - -", b"127.0.0.1:50000 - -")
replacing(LINES, "a time of another zone", b"+0000", b"+0100")
replacing(LINES, "a time of another hour", b":07:00:00 ", b":08:00:00 ")
replacing(LINES, "a line that is missing", b'127.0.0.1 - - [21/Nov/2026:07:00:00 +0000] "-" 400 11\n', b"")
replacing(LINES, "two lines in one", b"\n", b"", 1)


@fault(LINES, "half a line")
def _(data):
    return data[:-9]


@fault(LINES, "lines in another order")
def _(data):
    return b"".join(reversed(data.splitlines(keepends=True)))


@fault(RELOADED, "the old tag with the new bytes")
def _(response):
    return replace(
        response, fields=[(name, value.swapcase() if name == "etag" else value) for name, value in response.fields]
    )


@fault(RELOADED, "new bytes behind old ones")
def _(response):
    return replace(response, body=response.body[:-1] + bytes([response.body[-1] ^ 1]))


@fault(RELOADED, "a part of the new content")
def _(response):
    return replace(response, body=response.body[:-1])
