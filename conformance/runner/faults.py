"""Faults of a server that no mutant of kcup has (`make mutants-suite`). A case in test_tester.py must catch each."""

import email.utils
import time

FAULTS = {}


def fault(name):
    """Register a fault: a change to the bytes of a response, given the request and its response's parts."""

    def register(function):
        FAULTS[name] = function
        return function

    return register


def change(parts, name, value):
    """Set a field's value, or drop it with None."""
    parts["fields"] = [(n, value if n == name else v) for n, v in parts["fields"] if n != name or value is not None]


@fault("status 403 for 404")
def _(parts):
    if parts["status"] == 404:
        parts["status"] = 403


@fault("reason phrase of one's own")
def _(parts):
    parts["reason"] = "Fine"


@fault("no date")
def _(parts):
    change(parts, "date", None)


@fault("a date that stands still")
def _(parts):
    change(parts, "date", email.utils.formatdate(time.time() - 60, usegmt=True))


@fault("a server field")
def _(parts):
    parts["fields"].append(("server", "wrong"))


@fault("names in capitals")
def _(parts):
    parts["fields"] = [(name.title(), value) for name, value in parts["fields"]]


@fault("fields in another order")
def _(parts):
    parts["fields"].reverse()


@fault("answers HTTP 1.0 in kind")
def _(parts):
    parts["version"] = f"HTTP/{parts['asked']}"


@fault("content-length one too small")
def _(parts):
    for name, value in parts["fields"]:
        if name == "content-length":
            return change(parts, name, str(int(value) - 1))


@fault("a newline after a short body")
def _(parts):
    if parts["status"] >= 400 and parts["body"]:
        parts["body"] += b"\n"
        change(parts, "content-length", str(len(parts["body"])))


@fault("a tag that is not of the content")
def _(parts):
    change(parts, "etag", '"0123456789abcdef0123456789abcdef"')


@fault("a modification time of its own")
def _(parts):
    change(parts, "last-modified", "Thu, 01 Jan 1970 00:00:01 GMT")


@fault("a body with 304")
def _(parts):
    if parts["status"] == 304:
        parts["body"] = b"x"


@fault("content-length with 304")
def _(parts):
    if parts["status"] == 304:
        parts["fields"].insert(0, ("content-length", "14"))


@fault("no allow with 404")
def _(parts):
    change(parts, "allow", None)


@fault("another media type")
def _(parts):
    change(parts, "content-type", "text/plain")


@fault("bytes of another content")
def _(parts):
    parts["body"] = parts["body"].swapcase()


@fault("two dates")
def _(parts):
    parts["fields"].append(("date", email.utils.formatdate(usegmt=True)))


@fault("chunked responses")
def _(parts):
    change(parts, "content-length", None)
    parts["fields"].append(("transfer-encoding", "chunked"))


@fault("keep-alive for all")
def _(parts):
    if "connection" not in dict(parts["fields"]):
        parts["fields"].append(("connection", "keep-alive"))


@fault("100 before the response")
def _(parts):
    parts["version"] = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1"


@fault("content-range of the wrong length")
def _(parts):
    change(parts, "content-range", "bytes 0-4/99")


BEHAVIOURS = ["leaves out content-encoding", "swapped responses"]
ALL = [*FAULTS, *BEHAVIOURS]
