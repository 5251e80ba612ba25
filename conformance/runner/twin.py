"""Starting kcup. The line of K-15 gives a server's address, so nothing sleeps or searches for a port."""

import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from .contract import is_event
from .kernel import landlock_version

AT = r"https?://(\[[0-9a-f:.]+\]|[0-9.]+):(\d+)/"
LISTENING = re.compile(rf"kcup listening on (?:{AT}|unix:(.+))\n")
ADMIN = re.compile(rf"admin listening on {AT}")
START_LIMIT = 20.0
# Without Landlock kcup logs a warning (K-131), so tests of the log that are not about it switch the sandbox off.
ENVIRONMENT = {} if landlock_version() else {"SANDBOX": "off"}


@dataclass(frozen=True)
class Twin:
    name: str
    binary: Path

    def run(self, args, env=None, cwd=None, stdin=b"", timeout=20):
        """Runs a command that does not serve to its end."""
        return subprocess.run(
            [self.binary, *args], env=env or {}, cwd=cwd, input=stdin, capture_output=True, timeout=timeout, check=False
        )


class Server:
    """A running kcup in its own directory, on a free port unless its options say otherwise."""

    def __init__(self, twin, args=(), env=None, files=(), stdin=None, wait=True, prefix=(), **options):
        self.twin = twin
        self.directory = Path(tempfile.mkdtemp(prefix="kcup-"))
        self.directory.chmod(0o755)  # kcup may run as another user
        for name, content, mtime in files:
            write_file(self.directory / name, content, mtime)
        port = [] if any(a in ("--port", "-p") or a.startswith("--port=") for a in args) else ["--port", "0"]
        self.stderr_path = self.directory / ".stderr"
        with open(self.stderr_path, "wb") as stderr:
            self.process = subprocess.Popen(
                [*prefix, str(twin.binary), *args, *port],
                env={**ENVIRONMENT, **(env or {})},
                cwd=self.directory,
                stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                **options,
            )
        if stdin:
            self.process.stdin.write(stdin)
        if stdin is not None:
            self.process.stdin.close()
        self.line = self.address = None
        if wait:
            self.wait_listening()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def wait_listening(self):
        self.line = self.line or read_line(self.process.stdout, START_LIMIT)
        line = self.line.decode()
        if line.startswith("{"):  # K-15, with --access-log json
            line = f"kcup listening on {json.loads(line)['listening']}\n"
        match = LISTENING.fullmatch(line)
        if not match:
            said = self.stderr()
            self.stop()
            raise AssertionError(f"{self.twin.name} did not say where it listens: {self.line!r}; {said!r}")
        host, port, path = match.groups()
        self.address = str(self.directory / path) if path else (host.strip("[]"), int(port))

    @property
    def admin(self):
        """The admin listener's address, from the line of K-115."""
        match = ADMIN.search(self.stderr())
        assert match, f"{self.twin.name} did not say where its admin listens: {self.stderr()!r}"
        return match[1].strip("[]"), int(match[2])

    def stderr(self):
        return self.stderr_path.read_bytes().decode(errors="replace") if self.stderr_path.exists() else ""

    def events(self, *levels):
        """The messages logged so far at these levels, for --log-format json, without a line that is still being
        written."""
        events = [json.loads(line) for line in self.stderr().rpartition("\n")[0].splitlines()]
        assert all(is_event(event["msg"], event["level"]) for event in events), events
        return [event["msg"] for event in events if event["level"] in levels]

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def wait(self, timeout=20):
        return self.process.wait(timeout)

    def cpu_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def write_file(path, content, mtime=None):
    path.write_bytes(content)
    if mtime is not None:
        os.utime(path, (mtime, mtime))


def read_line(stream, limit):
    """One line from a pipe, or what was read by its end or by the time limit."""
    deadline, line = time.monotonic() + limit, b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while not line.endswith(b"\n"):
            if not selector.select(max(0, deadline - time.monotonic())):
                return line
            byte = os.read(stream.fileno(), 1)
            if not byte:
                return line
            line += byte
    return line
