"""A strict reader of HTTP/1.1 responses: anything that kcup never sends is an error."""

import re
from dataclasses import dataclass, field

STATUS_LINE = re.compile(rb"HTTP/1\.1 (\d{3}) ([\x20-\x7e]*)\Z")
TOKEN = rb"[!#$%&'*+\-.^_`|~0-9a-z]+"
VALUE = rb"[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?"
FIELD_LINE = re.compile(rb"(%s): (%s)\Z" % (TOKEN, VALUE))
HEAD_LIMIT = 65536


class WireError(AssertionError):
    """The bytes received are not a response as kcup sends it."""


@dataclass
class Response:
    status: int
    reason: str
    fields: list
    head: bytes
    body: bytes = b""
    asked: float = field(default=0.0, compare=False)
    ended: float = field(default=0.0, compare=False)

    def names(self):
        return [name for name, _ in self.fields]

    def values(self, name):
        return [value for key, value in self.fields if key == name]

    def one(self, name):
        """The field's value, or None without the field; a repeated field is an error."""
        values = self.values(name)
        if len(values) > 1:
            raise WireError(f"{name} is there {len(values)} times")
        return values[0] if values else None


def parse_head(head):
    """Reads a head, including its empty line."""
    if b"\n" in head.replace(b"\r\n", b"") or b"\r" in head.replace(b"\r\n", b""):
        raise WireError(f"a bare CR or LF in the head: {head!r}")
    first, *lines = head[:-4].split(b"\r\n")
    status = STATUS_LINE.match(first)
    if not status:
        raise WireError(f"not a status line: {first!r}")
    return Response(int(status[1]), status[2].decode(), [parse_field(line) for line in lines], head)


def parse_field(line):
    match = FIELD_LINE.match(line)
    if not match:
        raise WireError(f"not a field line as kcup writes them: {line!r}")
    return match[1].decode(), match[2].decode("latin-1")


def body_length(response, bodyless):
    """How many bytes follow the head (R9112-6.3)."""
    if response.values("transfer-encoding"):
        raise WireError("kcup never sends transfer-encoding")
    length = response.one("content-length")
    if length is not None and not re.fullmatch(r"0|[1-9]\d*", length):
        raise WireError(f"content-length: {length!r}")
    if bodyless or response.status == 304:
        return 0
    if length is None:
        raise WireError("a response with a body and no content-length")
    return int(length)
