"""What SPEC promises of every response, checked on every response; and what a case expects in addition."""

import email.utils
import gzip
import re

import brotli

from .responses import WireError

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


def keep_promises(response, options, bodyless=False):
    """Checks what holds for every response of a server with these options."""
    check(response.status in REASONS, f"status {response.status} is none of kcup's")
    check(response.reason == REASONS[response.status], f"reason phrase {response.reason!r}")
    check("server" not in response.names(), "there is a server field")
    date = seconds(response.one("date"))
    check(int(response.asked - CLOCK_LAG) <= date <= int(response.ended), f"date is off: {date} at {response.ended}")
    check(response.one("connection") in (None, "close", "keep-alive"), f"connection: {response.values('connection')}")
    known = [name for name in response.names() if name in ORDER]
    check(known == sorted(known, key=ORDER.index), f"order of the fields: {response.names()}")
    if response.status == options.status != 200:
        keep_page(response, options, bodyless)
    elif response.status in (200, 206, 304):
        keep_representation(response, options, bodyless, date)
    else:
        keep_refusal(response, bodyless)


def keep_refusal(response, bodyless):
    body = "No such resource" if response.status == 404 else REASONS[response.status]
    check(response.one("content-type") == "text/plain; charset=utf-8", "type of a short body")
    check(response.one("content-length") == str(len(body)), f"length of a short body: {response.one('content-length')}")
    check(response.body == (b"" if bodyless else body.encode()), f"short body: {response.body!r}")
    allowed = {"content-type", "content-length", "date", "connection"}
    allowed |= {"allow"} if response.status == 404 else {"content-range"} if response.status == 416 else set()
    check(set(response.names()) <= allowed, f"fields of a {response.status}: {response.names()}")
    if response.status == 416:
        check(response.one("content-range") is not None, "416 without content-range")


def keep_representation(response, options, bodyless, date):
    encoding = response.one("content-encoding")
    check(encoding in (None, "br", "gzip"), f"content-encoding: {encoding}")
    modified = seconds(response.one("last-modified"))
    check(modified <= date, "last-modified is later than date")
    if options.mtime is not None and options.mtime <= date:
        check(modified == max(options.mtime, 0), f"last-modified: {modified}")
    tag = response.one("etag") or ""
    coding = coding_of_tag(tag)
    expected = options.fill(f"<{coding or 'etag'}>")
    check(tag == expected, f"etag: {tag}, not {expected}")
    check(sorted(extra_fields(response, options)) == sorted(options.extra), f"fields of --header: {response.fields}")
    if response.status == 304:
        stray = {"content-type", "content-length", "content-encoding", "accept-ranges", "content-range"}
        check(not stray & set(response.names()), f"a 304 with {response.names()}")
        return
    check(coding == encoding, f"etag {tag} with content-encoding {encoding}")
    check(response.one("accept-ranges") == "bytes", "no accept-ranges")
    check(response.one("content-type") == options.type, f"content-type: {response.one('content-type')}")
    keep_body(response, options, bodyless, encoding)


def coding_of_tag(tag):
    """The coding that a tag names (K-41): br of W/"0123-br", None of "0123"."""
    return tag.removesuffix('"').partition("-")[2] or None


def keep_page(response, options, bodyless):
    """The content with another status than 200 (K-50)."""
    stray = {"etag", "last-modified", "accept-ranges", "content-range"} & set(response.names())
    check(not stray, f"a {response.status} with {stray}")
    check(sorted(extra_fields(response, options)) == sorted(options.extra), f"fields of --header: {response.fields}")
    check(response.one("content-type") == options.type, f"content-type: {response.one('content-type')}")
    keep_body(response, options, bodyless, response.one("content-encoding"))


def extra_fields(response, options):
    names = {name for name, _ in options.extra}
    return [pair for pair in response.fields if pair[0] in names]


def keep_body(response, options, bodyless, encoding):
    expected = options.content
    if response.status == 206:
        span = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", response.one("content-range") or "")
        check(span and int(span[3]) == len(expected), f"content-range: {response.one('content-range')}")
        expected = expected[int(span[1]) : int(span[2]) + 1]
        check(encoding is None, "a part of a variant")
    else:
        check(response.one("content-range") is None, "content-range in a 200")
    if bodyless:
        check(encoding or response.one("content-length") == str(len(expected)), "content-length of a HEAD")
        return
    check(response.one("content-length") == str(len(response.body)), "content-length is not the body's")
    check(decoded(response.body, encoding) == expected, f"the body is not the content: {response.body[:80]!r}")


def decoded(body, encoding):
    try:
        return {None: bytes, "br": brotli.decompress, "gzip": gzip.decompress}[encoding](body)
    except (brotli.error, OSError, EOFError) as error:
        raise WireError(f"the body is not {encoding}: {error}") from None


def meet(response, want, options):
    """Checks what the case itself expects."""
    check(response.status == want["status"], f"status {response.status}, not {want['status']}")
    for name, value in want.get("fields", {}).items():
        values = [value] if isinstance(value, str) else value
        seen = response.values(name)
        check(seen == [options.fill(v) for v in values], f"{name}: {seen}, not {values}")
    for name in want.get("absent", ()):
        check(name not in response.names(), f"there is {name}: {response.values(name)}")
    if "names" in want:
        check(response.names() == want["names"], f"fields {response.names()}, not {want['names']}")
    if "body" in want:
        check(response.body == want["body"].encode(), f"body {response.body[:200]!r}")
    if "encoding" in want:
        encoding = response.one("content-encoding") or "identity"
        check(encoding == want["encoding"], f"encoding {encoding}, not {want['encoding']}")
    if "range" in want:
        expected = f"bytes {want['range']}/{len(options.content)}"
        seen = response.one("content-range")
        check(seen == expected, f"content-range {seen}, not {expected}")
