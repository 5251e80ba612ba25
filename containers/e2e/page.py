"""Commands of a page, and what comes out of them.

In a ```console block a line that begins with `$ ` is a command, which goes on behind a `\\` at its end. The lines under
it are lines of its output, in their order; `…` stands for anything."""

import re

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


def commands(text):
    """Each command of the page, with the lines that it should print."""
    return [(found[1], found[2].splitlines()) for block in BLOCK.findall(text) for found in COMMAND.finditer(block)]


def matches(wanted, line):
    return re.fullmatch(".*".join(re.escape(part) for part in wanted.split("…")), line.rstrip("\r"))


def check(command, wanted, lines):
    left = iter(lines)
    for line in wanted:
        assert any(matches(line, seen) for seen in left), f"{command}\nshould say {line}\nand says\n" + "\n".join(lines)
