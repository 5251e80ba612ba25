"""Cases and option sets, discovered in cases/*.toml. README.md explains the keys."""

import hashlib
import os
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path

from .parts import to_bytes

HOME = Path(__file__).parent.parent
CASES = sorted((HOME / "cases").glob("*.toml"))
SET_KEYS = {"args", "env", "file", "content", "mtime", "stdin", "text", "status", "type", "extra"}
REQUEST_KEYS = {"send", "method", "target", "version", "fields", "piece", "half_close"}
HTTP_KEYS = {"name", "spec", "set", "want", "closed"} | REQUEST_KEYS
KINDS = {"set", "http", "cli", "reload", "log", "count", "health"}
WANT_KEYS = {"status", "fields", "absent", "names", "body", "encoding", "range", "bodyless"}


@dataclass(frozen=True)
class OptionSet:
    """How one server is started, and what is known about its content."""

    name: str
    args: tuple
    env: dict
    file: str | None
    content: bytes
    mtime: int | None
    stdin: bool
    type: str
    extra: tuple
    text: str | None = None
    status: int = 200

    @property
    def digest(self):
        return hashlib.sha256(self.content).hexdigest()[:32]

    def fill(self, text):
        """Replaces placeholders in a case's text with this content's tags."""
        tags = {"etag": f'"{self.digest}"', "br": f'W/"{self.digest}-br"', "gzip": f'W/"{self.digest}-gzip"'}
        for key, value in {**tags, "digest": self.digest}.items():
            text = text.replace(f"<{key}>", value)
        return text

    def start(self, server, twin):
        files = [] if self.file is None else [(self.file, self.content, self.mtime)]
        args = [*self.args] if self.file is None else ["--file", self.file, *self.args]
        if self.status != 200:
            args += ["--status", str(self.status)]
        if self.text == "option":
            args.append(f"--text={os.fsdecode(self.content)}")
        env = {**self.env, "TEXT": os.fsdecode(self.content)} if self.text == "variable" else self.env
        return server(twin, args, env, files, self.content if self.stdin else None)


@dataclass(frozen=True)
class HttpCase:
    name: str
    spec: tuple
    set: OptionSet
    send: bytes
    want: tuple
    piece: int | None
    half_close: bool
    closed: bool


@dataclass(frozen=True)
class CliCase:
    name: str
    spec: tuple
    args: list
    exit: int
    env: dict = field(default_factory=dict)
    files: list = field(default_factory=list)
    stdin: str | list = ""
    stderr: str = ""
    stdout: str = ""


def vectors(name):
    with open(HOME / "vectors" / f"{name}.toml", "rb") as file:
        return tomllib.load(file)


def documents():
    for path in CASES:
        with open(path, "rb") as file:
            document = tomllib.load(file)
        reject_unknown(path, "kinds of cases", document, KINDS)
        yield path, document


def of_kind(kind, case_class):
    """The cases of one kind, whose keys are the fields of its class."""
    known = {field.name for field in fields(case_class)}
    cases = []
    for path, document in documents():
        for raw in document.get(kind, ()):
            reject_unknown(path, raw["name"], raw, known)
            cases.append(case_class(**raw))
    return unique(cases)


def named():
    """The name and the numbers of every case of any kind."""
    for _, document in documents():
        for kind in KINDS - {"set"}:
            yield from ((raw["name"], raw["spec"]) for raw in document.get(kind, ()))


def option_sets():
    sets = {}
    for path, document in documents():
        for name, raw in document.get("set", {}).items():
            reject_unknown(path, name, raw, SET_KEYS)
            assert name not in sets, f"{path.name}: two sets are called {name}"
            sets[name] = option_set(name, raw)
    return sets


def option_set(name, raw):
    is_file = not raw.get("stdin") and "text" not in raw
    return OptionSet(
        name,
        tuple(raw.get("args", ())),
        raw.get("env", {}),
        raw.get("file", "content.txt" if is_file else None),
        to_bytes(raw["content"]),
        raw.get("mtime", 784111777 if is_file else None),
        raw.get("stdin", False),
        raw.get("type", "text/plain; charset=utf-8"),
        tuple(tuple(pair) for pair in raw.get("extra", ())),
        raw.get("text"),
        raw.get("status", 200),
    )


def http_cases():
    sets = option_sets()
    cases = [http_case(path, raw, sets) for path, document in documents() for raw in document.get("http", ())]
    return unique(cases)


def http_case(path, raw, sets):
    reject_unknown(path, raw["name"], raw, HTTP_KEYS)
    options = sets[raw["set"]]
    wants = raw["want"] if isinstance(raw["want"], list) else [raw["want"]]
    wants = [{"status": want} if isinstance(want, int) else dict(want) for want in wants]
    for want in wants:
        reject_unknown(path, raw["name"], want, WANT_KEYS)
        if raw.get("method") == "HEAD":
            want["bodyless"] = True
    return HttpCase(
        raw["name"],
        tuple(raw["spec"]),
        options,
        request_bytes(raw, options),
        tuple(wants),
        raw.get("piece"),
        raw.get("half_close", False),
        raw.get("closed", False),
    )


def request_bytes(raw, options):
    if "send" in raw:
        return to_bytes(fill_parts(raw["send"], options))
    line = f"{raw.get('method', 'GET')} {raw.get('target', '/')} HTTP/{raw.get('version', '1.1')}"
    fields = ["Host: a", *raw.get("fields", ())]
    return options.fill("\r\n".join([line, *fields, "", ""])).encode()


def fill_parts(parts, options):
    return [options.fill(part) if isinstance(part, str) else part for part in parts]


def cli_cases():
    return of_kind("cli", CliCase)


def reject_unknown(path, name, raw, known):
    unknown = set(raw) - known
    assert not unknown, f"{path.name}: {name}: unknown key {sorted(unknown)}"


def unique(cases):
    names = [case.name for case in cases]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"two cases are called {sorted(twice)}"
    return cases
