"""The requests that a server gets in a day, each response compared with the content that it names."""

import gzip
import hashlib
import re

import brotli

from .reload import GET
from .responses import WireError
from .wire import Connection

TAG = re.compile(r'(?:W/)?"([0-9a-f]{32})(?:-br|-gzip)?"')
RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
DECODERS = {"br": brotli.decompress, "gzip": gzip.decompress}
MANY = 20


def request(method="GET", *fields):
    return "\r\n".join([f"{method} / HTTP/1.1", "Host: a", *fields, "", ""]).encode()


class MixedLoad:
    """Each of the `turns` makes requests, compares the responses with the contents, and returns their number."""

    def __init__(self, address, contents, chance):
        self.address, self.chance = address, chance
        self.contents = {hashlib.sha256(content).hexdigest()[:32]: content for content in contents}
        self.decoded = {}
        self.turns = [
            self.kept_open,
            self.heads,
            self.unchanged,
            self.ranges,
            self.variants,
            self.one_each,
            self.pipeline,
        ]

    def kept_open(self):
        return self.ask([request()] * MANY)

    def heads(self):
        return self.ask([request("HEAD")] * MANY)

    def ranges(self):
        """Often beyond the end of small contents."""
        starts = [self.chance.choice([0, 7, 1000, 50_000]) for _ in range(MANY)]
        return self.ask([request("GET", f"Range: bytes={start}-{start + 999}") for start in starts])

    def variants(self):
        return self.ask([request("GET", f"Accept-Encoding: {coding}") for coding in ("br", "gzip") * (MANY // 2)])

    def one_each(self):
        return sum(self.ask([request("GET", "Connection: close")]) for _ in range(MANY))

    def unchanged(self):
        """Not modified, until a reload changes the content."""
        with Connection(self.address) as connection:
            connection.send(GET)
            tag = self.judged(connection.response()).one("etag")
            for _ in range(MANY):
                connection.send(request("GET", f"If-None-Match: {tag}"))
                self.judged(connection.response())
        return MANY + 1

    def pipeline(self):
        with Connection(self.address) as connection:
            connection.send(GET * MANY)
            for _ in range(MANY):
                self.judged(connection.response())
        return MANY

    def ask(self, requests):
        """Makes requests one after another on one connection."""
        with Connection(self.address) as connection:
            for one in requests:
                connection.send(one)
                self.judged(connection.response(bodyless := one.startswith(b"HEAD")), bodyless)
        return len(requests)

    def judged(self, response, bodyless=False):
        if not bodyless and response.status != 304 and response.body != self.meant(response):
            raise WireError(f"a body that is not of the content it names: {response.head!r}")
        if response.status not in (200, 206, 304, 416):
            raise WireError(f"a response to a request that has nothing wrong: {response.head!r}")
        return response

    def meant(self, response):
        """The body that belongs to this head."""
        if response.status == 416:
            return response.body
        tag = response.one("etag")
        content = self.contents.get((match := TAG.fullmatch(tag or "")) and match[1])
        if content is None:
            raise WireError(f"a tag of no content: {response.head!r}")
        if response.status == 206:
            first, last, whole = map(int, RANGE.fullmatch(response.one("content-range")).groups())
            return content[first : last + 1] if whole == len(content) else None
        if (coding := response.one("content-encoding")) is None:
            return content
        # Each variant is decoded only once while its bytes are the same.
        if self.decoded.get(tag) != response.body:
            if DECODERS[coding](response.body) != content:
                raise WireError(f"a variant of something else: {response.head!r}")
            self.decoded[tag] = response.body
        return response.body
