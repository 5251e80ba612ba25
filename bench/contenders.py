"""The servers and tools declared in contenders.toml: which are installed, their versions, how to install the others."""

import functools
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

HOME = Path(__file__).resolve().parent
ROOT = HOME.parent
TWINS = ("kcup-rust", "kcup-go")
BINARIES = [str(ROOT / "bin" / twin) for twin in TWINS]


@dataclass(frozen=True)
class Tool:
    """A program. Its keys are explained in contenders.toml."""

    name: str
    program: str
    version: list[str]
    install: str

    def path(self):
        """Where it is, or None if it is absent."""
        return shutil.which(in_root(self.program))

    def is_packaged(self):
        """Whether Debian packages it."""
        return self.install.startswith("apt-get")

    def first_line(self):
        """The first line of its version; some print it on standard error, some exit with status 1."""
        done = subprocess.run(
            [in_root(word) for word in self.version],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in done.stdout.splitlines()]
        return next((line for line in lines if line), "unknown")


@dataclass(frozen=True)
class Contender(Tool):
    port: int
    args: list[str]
    env: dict[str, str] = field(default_factory=dict)
    config: str = ""
    serve: str = ""
    largest: int | None = None
    image: str = ""
    build: str = ""

    def serves(self, size):
        return self.largest is None or size <= self.largest


def in_root(text):
    return text.replace("{root}", str(ROOT))


def fill_in(text, values):
    """Like str.format, which cannot be used because nginx's configuration has braces of its own."""
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", str(value))
    return text


@functools.cache
def declared():
    return tomllib.loads((HOME / "contenders.toml").read_text())


def find_contender(name):
    table = declared()["contender"][name]
    inherited = declared()["contender"][table["like"]] if "like" in table else {}
    return Contender(name, **{key: value for key, value in {**inherited, **table}.items() if key != "like"})


def tool(name):
    return Tool(name, **declared()["tool"][name])


def everything():
    return [*map(find_contender, declared()["contender"]), *map(tool, declared()["tool"])]


def choose(names):
    """The contenders of these names that are installed, and how to install the others."""
    found = [find_contender(name) for name in names]
    absent = {one.name: one.install.replace("{root}", ".") for one in found if not one.path()}
    return [one for one in found if one.name not in absent], absent


def look_where_others_install():
    """Adds the directories to PATH in which `go install` and `cargo install` put programs."""
    asked = subprocess.run(["go", "env", "GOBIN", "GOPATH"], capture_output=True, text=True, check=False)
    gobin, _, gopath = asked.stdout.strip("\n").partition("\n")
    cargo = os.environ.get("CARGO_HOME") or Path.home() / ".cargo"
    places = [os.environ["PATH"], gobin, f"{gopath}/bin" if gopath else "", f"{cargo}/bin"]
    os.environ["PATH"] = os.pathsep.join(place for place in places if place)


def install(tools):
    """Installs what is absent, with the declared commands."""
    for command in dict.fromkeys(in_root(one.install) for one in tools if not one.path()):
        print(f"installing: {command}", flush=True)
        words = shlex.split(command)
        if words[0] == "apt-get":
            subprocess.run(["apt-get", "update", "-qq"], check=True)
            # Do not start their services.
            os.environ.update(DEBIAN_FRONTEND="noninteractive", RUNLEVEL="1")
        subprocess.run(words, check=True)


def fingerprint(program):
    """SHA-256 of a program, so that a result names the very binary that was measured."""
    return hashlib.sha256(Path(program).read_bytes()).hexdigest()
