"""SPEC.md as data: its numbers and its table of options."""

import re
from dataclasses import dataclass
from pathlib import Path

SPEC = Path(__file__).resolve().parents[2] / "SPEC.md"


@dataclass(frozen=True)
class Option:
    long: str
    short: str | None
    variable: str
    default: str
    accepted: str

    @property
    def bounds(self):
        """Least and most of a number, None for anything else."""
        match = re.match(r"(\d+) to (\d+)", self.accepted)
        return (int(match[1]), int(match[2])) if match else None


def numbers():
    return re.findall(r"^- \*\*(K-\d+)\*\*", SPEC.read_text(), re.MULTILINE)


def options():
    """The rows of the table, --help and --version left out."""
    found = []
    for line in SPEC.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| `-") and len(cells) == 4 and cells[1]:
            found.append(option(*cells))
    return found


def option(names, variable, default, accepted):
    return Option(
        re.search(r"--[a-z-]+", names)[0],
        short[1] if (short := re.search(r"(?:^|[`\s])(-[a-z])\b", names)) else None,
        re.search(r"`([A-Z_]+)`", variable)[1],
        default,
        accepted,
    )
