"""Commands of a page, run in order in one shell, and what comes out of them.

In a ```console block a line that begins with `$ ` is a command, which goes on behind a `\\` at its end. The lines under
it are lines of its output, in their order; others may stand between them. `…` stands for anything, and a time for any
time."""

import contextlib
import queue
import re
import subprocess
import threading
import time

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```\w+\n(# (\S+)\n.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
TIME = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT|\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d"
)
LIMIT = 60


def blocks(text):
    """The page's blocks, each with its commands and the lines that each command should print."""
    return [[(found[1], found[2].splitlines()) for found in COMMAND.finditer(block)] for block in BLOCK.findall(text)]


def commands(text):
    return [command for block in blocks(text) for command in block]


def files(text):
    """The page's files by name: blocks that begin with a comment of nothing but the name."""
    return {name: content for content, name in FILE.findall(text)}


def matches(wanted, line):
    pattern = ".*".join(re.escape(part) for part in re.sub(TIME, "…", wanted).split("…"))
    return re.fullmatch(pattern, line.rstrip("\r"))


def is_said(wanted, lines):
    """Whether these lines were printed in this order."""
    left = iter(lines)
    return all(any(matches(line, seen) for seen in left) for line in wanted)


class Shell:
    """A shell that ends at the first failure; its standard output and standard error are one."""

    def __init__(self, prefix=(), **options):
        self.process = subprocess.Popen(
            [*prefix, "bash", "-eu", "-o", "pipefail"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **options,
        )
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.removesuffix("\n"))
        self.lines.put(None)

    def run(self, command, wanted, limit):
        """Waits until the command is over and has said what it should; what runs in the background may say it later."""
        self.process.stdin.write(f"{{ {command}\n}} </dev/null\necho; echo '<over>'\n")
        self.process.stdin.flush()
        seen, over, until = [], False, time.monotonic() + limit
        while not (over and is_said(wanted, seen)):
            try:
                line = self.lines.get(timeout=max(0, until - time.monotonic()))
            except queue.Empty:
                line = None
            assert line is not None, "\n".join([command, "should say", *wanted, "and says", *seen])
            over = over or line == "<over>"
            seen.append(line)

    def end(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.kill()
        self.process.wait()


def run_page(page, prefix=(), limit=LIMIT, **options):
    shell = Shell(prefix, **options)
    try:
        for command, wanted in page:
            shell.run(command, wanted, limit)
    finally:
        shell.end()
