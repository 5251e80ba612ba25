"""What SPEC promises of every response, checked on every response; and what a case expects in addition."""

import email.utils
import gzip
import re

import brotli

from .answers import WireError

ORDER = [
    "content-type", "content-length", "content-range", "content-encoding", "etag", "last-modified", "accept-ranges",
    "vary", "date", "connection",
]  # fmt: skip
REASONS = {
    200: "OK",
    206: "Partial Content",
    304: "Not Modified",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    410: "Gone",
    412: "Precondition Failed",
    414: "URI Too Long",
    416: "Range Not Satisfiable",
    421: "Misdirected Request",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    451: "Unavailable For Legal Reasons",
    500: "Internal Server Error",
    501: "Not Implemented",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
    505: "HTTP Version Not Supported",
}
DATE = re.compile(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z][a-z] \d{4} \d\d:\d\d:\d\d GMT")
CLOCK_LAG = 0.2  # a server may read its clock once per batch of events


def check(condition, message):
    if not condition:
        raise WireError(message)


def seconds(date):
    check(DATE.fullmatch(date or ""), f"not a date as R9110-5.6.7 prefers it: {date!r}")
    return int(email.utils.parsedate_to_datetime(date).timestamp())


def keep_promises(answer, options, bodyless=False):
    """Checks what holds for every response of a server with these options."""
    check(answer.status in REASONS, f"status {answer.status} is none of kcup's")
    check(answer.reason == REASONS[answer.status], f"reason phrase {answer.reason!r}")
    check("server" not in answer.names(), "there is a server field")
    date = seconds(answer.one("date"))
    check(int(answer.asked - CLOCK_LAG) <= date <= int(answer.ended), f"date is off: {date} at {answer.ended}")
    check(answer.one("connection") in (None, "close", "keep-alive"), f"connection: {answer.values('connection')}")
    known = [name for name in answer.names() if name in ORDER]
    check(known == sorted(known, key=ORDER.index), f"order of the fields: {answer.names()}")
    if answer.status == options.status != 200:
        keep_page(answer, options, bodyless)
    elif answer.status in (200, 206, 304):
        keep_representation(answer, options, bodyless, date)
    else:
        keep_refusal(answer, bodyless)


def keep_refusal(answer, bodyless):
    body = "No such resource" if answer.status == 404 else REASONS[answer.status]
    check(answer.one("content-type") == "text/plain; charset=utf-8", "type of a short body")
    check(answer.one("content-length") == str(len(body)), f"length of a short body: {answer.one('content-length')}")
    check(answer.body == (b"" if bodyless else body.encode()), f"short body: {answer.body!r}")
    allowed = {"content-type", "content-length", "date", "connection"}
    allowed |= {"allow"} if answer.status == 404 else {"content-range"} if answer.status == 416 else set()
    check(set(answer.names()) <= allowed, f"fields of a {answer.status}: {answer.names()}")
    if answer.status == 416:
        check(answer.one("content-range") is not None, "416 without content-range")


def keep_representation(answer, options, bodyless, date):
    encoding = answer.one("content-encoding")
    check(encoding in (None, "br", "gzip"), f"content-encoding: {encoding}")
    modified = seconds(answer.one("last-modified"))
    check(modified <= date, "last-modified is later than date")
    if options.mtime is not None and options.mtime <= date:
        check(modified == max(options.mtime, 0), f"last-modified: {modified}")
    tag = answer.one("etag") or ""
    coding = coding_of_tag(tag)
    expected = options.fill(f"<{coding or 'etag'}>")
    check(tag == expected, f"etag: {tag}, not {expected}")
    check(sorted(extra_fields(answer, options)) == sorted(options.extra), f"fields of --header: {answer.fields}")
    if answer.status == 304:
        stray = {"content-type", "content-length", "content-encoding", "accept-ranges", "content-range"}
        check(not stray & set(answer.names()), f"a 304 with {answer.names()}")
        return
    check(coding == encoding, f"etag {tag} with content-encoding {encoding}")
    check(answer.one("accept-ranges") == "bytes", "no accept-ranges")
    check(answer.one("content-type") == options.type, f"content-type: {answer.one('content-type')}")
    keep_body(answer, options, bodyless, encoding)


def coding_of_tag(tag):
    """The coding that a tag names (K-41): br of W/"0123-br", None of "0123"."""
    return tag.removesuffix('"').partition("-")[2] or None


def keep_page(answer, options, bodyless):
    """The content with another status than 200 (K-50)."""
    stray = {"etag", "last-modified", "accept-ranges", "content-range"} & set(answer.names())
    check(not stray, f"a {answer.status} with {stray}")
    check(sorted(extra_fields(answer, options)) == sorted(options.extra), f"fields of --header: {answer.fields}")
    check(answer.one("content-type") == options.type, f"content-type: {answer.one('content-type')}")
    keep_body(answer, options, bodyless, answer.one("content-encoding"))


def extra_fields(answer, options):
    names = {name for name, _ in options.extra}
    return [pair for pair in answer.fields if pair[0] in names]


def keep_body(answer, options, bodyless, encoding):
    expected = options.content
    if answer.status == 206:
        span = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", answer.one("content-range") or "")
        check(span and int(span[3]) == len(expected), f"content-range: {answer.one('content-range')}")
        expected = expected[int(span[1]) : int(span[2]) + 1]
        check(encoding is None, "a part of a variant")
    else:
        check(answer.one("content-range") is None, "content-range in a 200")
    if bodyless:
        check(encoding or answer.one("content-length") == str(len(expected)), "content-length of a HEAD")
        return
    check(answer.one("content-length") == str(len(answer.body)), "content-length is not the body's")
    check(decoded(answer.body, encoding) == expected, f"the body is not the content: {answer.body[:80]!r}")


def decoded(body, encoding):
    try:
        return {None: bytes, "br": brotli.decompress, "gzip": gzip.decompress}[encoding](body)
    except (brotli.error, OSError, EOFError) as error:
        raise WireError(f"the body is not {encoding}: {error}") from None


def meet(answer, want, options):
    """Checks what the case itself expects."""
    check(answer.status == want["status"], f"status {answer.status}, not {want['status']}")
    for name, value in want.get("fields", {}).items():
        values = [value] if isinstance(value, str) else value
        check(answer.values(name) == [options.fill(v) for v in values], f"{name}: {answer.values(name)}, not {values}")
    for name in want.get("absent", ()):
        check(name not in answer.names(), f"there is {name}: {answer.values(name)}")
    if "names" in want:
        check(answer.names() == want["names"], f"fields {answer.names()}, not {want['names']}")
    if "body" in want:
        check(answer.body == want["body"].encode(), f"body {answer.body[:200]!r}")
    if "encoding" in want:
        encoding = answer.one("content-encoding") or "identity"
        check(encoding == want["encoding"], f"encoding {encoding}, not {want['encoding']}")
    if "range" in want:
        expected = f"bytes {want['range']}/{len(options.content)}"
        check(answer.one("content-range") == expected, f"content-range {answer.one('content-range')}, not {expected}")
