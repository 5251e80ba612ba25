"""Checks relative links in Markdown files: the file exists, and so does the heading. Prints each that leads nowhere.

usage: links.py FILE...
"""

import re
import sys
from pathlib import Path
from urllib.parse import unquote

# A block or span of code, in which nothing is a link.
CODE = re.compile(r"^(```|~~~).*?^\1|``.*?``|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(\s*<?([^()\s>]+)")
DEFINITION = re.compile(r"^\[[^\]^]+\]:\s*(\S+)", re.MULTILINE)
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.MULTILINE)
BLOCK = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
TEXT = re.compile(r"\[([^\]]*)\]\([^)]*\)")
ANCHOR = re.compile(r"<a (?:id|name)=\"([^\"]+)\"")


def anchors(text):
    """What GitLab calls the headings: `-1` and so on after the first of the same name."""
    found = set(ANCHOR.findall(text))
    for heading in HEADING.findall(BLOCK.sub("", text)):
        plain = TEXT.sub(r"\1", heading).replace("`", "").strip().lower()
        name = unique = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number = 0
        while unique in found:
            number += 1
            unique = f"{name}-{number}"
        found.add(unique)
    return found


def broken(file):
    text = file.read_text()
    prose = CODE.sub("", text)
    for link in LINK.findall(prose) + DEFINITION.findall(prose):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = unquote(link).partition("#")
        target = file.parent / name if name else file
        if not target.exists():
            yield f"{file}: there is no {link}"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
            yield f"{file}: {target.name} has no heading for #{anchor}"


if __name__ == "__main__":
    wrong = [line for name in sys.argv[1:] for line in broken(Path(name))]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(bool(wrong))
