"""SPEC.md as data: its numbers, its tables of options, events and metrics."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

METRIC = "`(?:kcup|process)_"
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
        """Least and most of a number; None for anything else."""
        match = re.match(r"(\d+) to (\d+)", self.accepted)
        return (int(match[1]), int(match[2])) if match else None


@dataclass(frozen=True)
class Metric:
    """A row of K-118's table. `labels` has each label's values in order, or no values if the table gives none."""

    name: str
    type: str
    labels: dict
    help: str


def numbers():
    return list(sentences())


def sentences():
    """The number of sentences under each number. Code in quotes does not count."""
    found = re.findall(r"^- \*\*(K-\d+[a-z]?)\*\* (.*)", SPEC.read_text(), re.MULTILINE)
    return {number: len(re.findall(r"\.(?=\s|$)", re.sub(r"`[^`]*`", "x", text))) or 1 for number, text in found}


def options():
    """The rows of the table without --help and --version."""
    return [option(*cells) for cells in rows("| `-", 4) if cells[1]]


def metrics(tls=False):
    """The rows of the table, in its order; by default without those that are there only with TLS."""
    table = [Metric(name.strip("`"), kind, labels(cell), text) for name, kind, cell, text in rows("| `", 4, METRIC)]
    return [metric for metric in table if tls or not metric.name.startswith("kcup_tls_")]


@cache
def events():
    """The wordings of K-20's table as regular expressions, each with its levels."""
    table = [(re.findall(r"`([^`]+)`", words), levels.split(", ")) for words, levels, _ in rows("| `", 3)]
    return [(wording(template), levels) for templates, levels in table for template in templates]


def wording(template):
    """A number of 1 has the singular."""
    text = re.sub(r"\bN (\w+)s\b", r"(?:1 \1|(?!1 )\\d+ \1s)", re.escape(template).replace("\\ ", " "))
    text = re.sub(r"\b[NMLC]\b", r"\\d+", text)
    return re.sub(r"\b(?:ID|NAME|TYPE|PATH|TIME|WHY|REASON|PEER|URL|PARTS|SEVERITY|MESSAGE)\b", ".+", text)


def is_event(message, level):
    return any(level in levels and re.fullmatch(text, message) for text, levels in events())


def rows(start, columns, pattern=""):
    """The cells of the tables' rows that begin with this text."""
    for line in SPEC.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith(start) and len(cells) == columns and re.match(pattern, cells[0]):
            yield cells


def labels(cell):
    named = [re.findall(r"`([^`]+)`", part) for part in cell.split(";")] if cell else []
    return {name: values for name, *values in named}


def option(names, variable, default, accepted):
    return Option(
        re.search(r"--[a-z-]+", names)[0],
        short[1] if (short := re.search(r"(?:^|[`\s])(-[a-z])\b", names)) else None,
        re.search(r"`([A-Z_]+)`", variable)[1],
        default,
        accepted,
    )
