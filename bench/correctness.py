"""The kind "correctness": cases of the conformance suite that apply to any server of one static file.

scenarios/correctness.toml lists the cases, and how they are judged."""

import functools
import io
import re
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse

from contenders import ROOT
from servers import PATH, REQUEST, Terms, process

sys.path.insert(0, str(ROOT / "conformance"))
from runner.cases import http_cases, option_sets, vectors
from runner.parts import to_bytes

CONTENT = option_sets()["text"]
PATIENCE = 2.0
# Long enough to notice a response that should not come.
SILENCE = 0.5
AT_ONCE = 16
TARGET = re.compile(rb"^([A-Z]+ (?:https?://[^/ ]+)?)/(\?\S*)? HTTP/", re.IGNORECASE | re.MULTILINE)


class Unmet(Exception):
    """The response is not what the case asks for."""


@dataclass(frozen=True)
class Case:
    name: str
    send: bytes
    want: tuple
    piece: int | None
    closed: bool


class Incoming(io.RawIOBase):
    """The bytes received by a socket. Unlike a socket's own file, it can be read again after a timeout."""

    def __init__(self, connection):
        self.connection = connection

    def readable(self):
        return True

    def readinto(self, buffer):
        return self.connection.recv_into(buffer)


class Reader(io.BufferedReader):
    """One connection's responses. HTTPResponse closes its file after each; this one stays open."""

    def __init__(self, connection):
        super().__init__(Incoming(connection))
        self.connection = connection

    def makefile(self, *_):
        return self

    def close(self):
        pass

    def response(self, method, patience=PATIENCE):
        """Status, fields and body; None if none arrives or the connection is closed."""
        self.connection.settimeout(patience)
        try:
            response = HTTPResponse(self, method=method)
            response.begin()
            body = response.read()
        except (OSError, HTTPException):
            return None
        return response.status, {name.lower(): value for name, value in response.getheaders()}, body

    def more(self, patience):
        """Bytes that arrive within this time: empty at the end of the connection, None if nothing arrives."""
        self.connection.settimeout(patience)
        try:
            return self.read1(1)
        except TimeoutError:
            return None
        except OSError:
            return b""


def measure(contender, point, run):
    with process(contender, CONTENT.content, Terms()) as server:
        tag = own_tag(server.port)
        tasks = [
            (group, adapted(group, suite()[name], tag)) for group in run.scenario.groups for name in group["cases"]
        ]
        run.show(f"{len(tasks)} cases")
        with ThreadPoolExecutor(AT_ONCE) as pool:
            reasons = list(pool.map(lambda task: why_not(server.port, *task), tasks))
    record = {"held": reasons.count(None), "cases": len(tasks)}
    for group in run.scenario.groups:
        own = [reason for (where, _), reason in zip(tasks, reasons, strict=True) if where is group]
        record[f"held: {group['name']}"] = f"{own.count(None)} of {len(own)}"
    record["not_held"] = {
        case.name: reason for (_, case), reason in zip(tasks, reasons, strict=True) if reason is not None
    }
    return [record]


@functools.cache
def suite():
    """The suite's cases and the guard's vectors, by name."""
    refused = [vector for vector in vectors("guard")["case"] if "status" in vector]
    heads = [Case(v["name"], to_bytes(v["head"]), ({"status": v["status"]},), None, True) for v in refused]
    cases = [Case(case.name, case.send, case.want, case.piece, case.closed) for case in http_cases()]
    return {case.name: case for case in [*heads, *cases]}


def own_tag(port):
    """The server's own tag for the content, without the mark of a weak one, or None."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(REQUEST)
        _, fields, _ = Reader(connection).response("GET")
    return fields["etag"].removeprefix("W/").encode() if "etag" in fields else None


def adapted(group, case, tag):
    """The case with the path that competitors serve, and with their tag. A hidden request stays as it is, because its
    length counts."""
    send = TARGET.sub(rb"\g<1>" + PATH.encode() + rb"\g<2> HTTP/", case.send, group["judge"] == "hidden")
    ours = f'"{CONTENT.digest}"'.encode()
    return Case(case.name, send.replace(ours, tag or ours), case.want, case.piece, case.closed)


def why_not(port, group, case):
    """Why the case does not hold, or None if it does."""
    try:
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            step = case.piece or len(case.send)
            for start in range(0, len(case.send), step):
                connection.sendall(case.send[start : start + step])
            JUDGES[group["judge"]](Reader(connection), case, group)
    except (Unmet, OSError) as error:
        return str(error)


def check(condition, reason):
    if not condition:
        raise Unmet(reason)


def methods(case):
    return re.findall(r"^([A-Za-z]+) \S+ HTTP/", case.send.decode("latin-1"), re.MULTILINE)


def judge_answered(reader, case, group):
    for method, want in zip(methods(case), case.want, strict=False):
        response = reader.response(method)
        check(response, "no response")
        status, fields, body = response
        check(status in [want["status"], *group.get("or", [])], f"status {status}")
        if method != "HEAD" and status in (200, 206):
            check(body == (CONTENT.content if status == 200 else part(fields)), f"a body of {len(body)} bytes")
    if method == "HEAD" or status == 304:
        check(not reader.more(SILENCE), "a body where none belongs")


def judge_connected(reader, case, group):
    judge_answered(reader, case, group)
    if case.closed:
        check(reader.more(PATIENCE) == b"", "the connection stays")
    else:
        reader.connection.sendall(REQUEST)
        check(reader.response("GET"), "the connection is closed")


def part(fields):
    """The part of the content that a 206 claims to contain."""
    span = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", fields.get("content-range", ""))
    check(span and int(span[3]) == len(CONTENT.content), f"content-range: {fields.get('content-range')}")
    return CONTENT.content[int(span[1]) : int(span[2]) + 1]


def judge_refused(reader, case, _):
    response = reader.response(methods(case)[0])
    check(response is None or response[0] >= 400, f"status {response and response[0]}")
    check(reader.response("GET", SILENCE) is None, "what followed was answered")


def judge_hidden(reader, case, _):
    reader.response(methods(case)[0])
    check(reader.response("GET", SILENCE) is None, "the hidden request was answered")


JUDGES = {"answered": judge_answered, "connected": judge_connected, "refused": judge_refused, "hidden": judge_hidden}
