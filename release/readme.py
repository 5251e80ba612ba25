"""The options in README.md are those of --help: between the two marks nothing is written by hand.

usage: readme.py PROGRAM    rewrites them from PROGRAM --help
"""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
SECTION = re.compile(r"(<!-- options: begin -->\n).*?(<!-- options: end -->\n)", re.DOTALL)
ENTRY = re.compile(
    r"^  (?P<option>(?:-\w, |    )--.*)\n {10}(?P<help>.*) \[variable: (?P<variable>\w+), default: (?P<default>.*)\]$",
    re.MULTILINE,
)


def ask_for_help(program):
    return subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout


def options_table(help_text):
    """A row for each option with a variable; --help and --version have none."""
    rows = ["| option | variable | default | |", "|---|---|---|---|"]
    for entry in ENTRY.finditer(help_text):
        cells = (f"`{entry['option'].strip()}`", f"`{entry['variable']}`", entry["default"], entry["help"])
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(rows) + "\n"


def with_options(readme, help_text):
    """README's text with the table of options from this help."""
    if len(SECTION.findall(readme)) != 1:
        raise SystemExit("README.md: the marks of the options are not there, or more than once")
    return SECTION.sub(lambda section: section[1] + "\n" + options_table(help_text) + "\n" + section[2], readme)


if __name__ == "__main__":
    README.write_text(with_options(README.read_text(), ask_for_help(sys.argv[1])))
