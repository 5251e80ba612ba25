"""A small server that is mostly right, and wrong in one chosen way, to test the suite. It is not a reference."""

import contextlib
import email.utils
import gzip
import re
import socket
import threading

import brotli

from .faults import FAULTS
from .promises import REASONS


class Refused(Exception):
    pass


class WrongServer:
    def __init__(self, options, wrong=None):
        self.options, self.wrong = options, wrong
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, contextlib.suppress(OSError):
            client.settimeout(10)
            self.converse(client)
            client.shutdown(socket.SHUT_WR)
            with contextlib.suppress(OSError):
                while client.recv(65536):
                    pass

    def converse(self, client):
        data, closing, held = b"", False, b""
        while not closing:
            while b"\r\n\r\n" not in data.removeprefix(b"\r\n"):
                more = client.recv(65536)
                if not more:
                    return
                data += more
            data = data.removeprefix(b"\r\n")
            head, _, data = data.partition(b"\r\n\r\n")
            response, closing = self.response(head.decode("latin-1"))
            if self.wrong == "swapped responses" and data and not held:
                held = response
                continue
            client.sendall(response + held)
            held = b""
            if self.wrong == "closes although the connection persists":
                return

    def response(self, head):
        """The bytes of the response, and whether the connection ends after it."""
        try:
            method, version, fields = read_head(head)
        except Refused as refusal:
            return self.render("GET", int(str(refusal)), [], b"", True, "1.1"), True
        connection = [m.strip().lower() for m in ",".join(fields.get("connection", [])).split(",")]
        closing = "close" in connection or (version == "1.0" and "keep-alive" not in connection)
        closing |= "transfer-encoding" in fields or int(fields.get("content-length", ["0"])[0]) > 0
        status, extra, body = choose(method, fields, self.options, self.wrong)
        return self.render(method, status, extra, body, closing, version), closing

    def render(self, method, status, extra, body, closing, version):
        if status not in (200, 206, 304):
            body = ("No such resource" if status == 404 else REASONS[status]).encode()
            extra = [("content-type", "text/plain; charset=utf-8"), ("content-length", str(len(body))), *extra]
        fields = [*extra, ("date", email.utils.formatdate(usegmt=True))]
        if closing:
            fields.append(("connection", "close"))
        elif version == "1.0":
            fields.append(("connection", "keep-alive"))
        if method == "HEAD" or status == 304:
            body = b""
        parts = {"method": method, "version": "HTTP/1.1", "status": status, "reason": REASONS[status]}
        parts |= {"fields": fields, "body": body, "asked": version}
        FAULTS.get(self.wrong, lambda parts: None)(parts)
        lines = [f"{parts['version']} {parts['status']} {parts['reason']}", *(f"{n}: {v}" for n, v in parts["fields"])]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + parts["body"]


def read_head(head):
    line, *rows = head.split("\r\n")
    match = re.fullmatch(r"([A-Za-z]+) (\S+) HTTP/1\.([01])", line)
    if not match:
        raise Refused(400)
    fields = {}
    for row in rows:
        name, colon, value = row.partition(":")
        if not colon:
            raise Refused(400)
        fields.setdefault(name.lower(), []).append(value.strip())
    if len(fields.get("host", [])) != 1 and match[3] == "1":
        raise Refused(400)
    return match[1], f"1.{match[3]}", fields


def choose(method, fields, options, wrong):
    """Status, fields and body for a request that is not refused."""
    if method not in ("GET", "HEAD"):
        return 404, [("allow", "GET, HEAD")], b""
    content, tag, encoding, status, extra = options.content, options.fill("<etag>"), None, 200, []
    textual = options.type.startswith("text/") and 1024 <= len(content) <= 1048576
    span = re.fullmatch(r"bytes=(\d+)-(\d+)", fields.get("range", [""])[0]) if method == "GET" else None
    if textual and not span:
        encoding = next((c for c in ("br", "gzip") if c in fields.get("accept-encoding", [""])[0]), None)
        tag = options.fill(f"<{encoding}>") if encoding else tag
        content = {"br": brotli.compress, "gzip": gzip.compress, None: bytes}[encoding](content)
    if "if-match" in fields and tag not in fields["if-match"][0] and fields["if-match"] != ["*"]:
        return 412, [], b""
    matches = [m.strip().removeprefix("W/") for m in ",".join(fields.get("if-none-match", [])).split(",")]
    common = [("etag", tag), ("last-modified", email.utils.formatdate(options.mtime, usegmt=True))]
    after = [("accept-ranges", "bytes")] + ([("vary", "accept-encoding")] if textual else [])
    if tag.removeprefix("W/") in matches or matches == ["*"]:
        return 304, common + after[1:], b""
    if span and int(span[1]) >= len(content):
        return 416, [("content-range", f"bytes */{len(content)}")], b""
    if span:
        first, last = int(span[1]), min(int(span[2]), len(content) - 1)
        status, extra = 206, [("content-range", f"bytes {first}-{last}/{len(content)}")]
        content = content[first : last + 1]
    if encoding and wrong != "leaves out content-encoding":
        extra = [("content-encoding", encoding)]
    fields = [("content-type", options.type), ("content-length", str(len(content))), *extra, *common, *after]
    return status, fields, content
