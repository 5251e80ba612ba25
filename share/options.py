"""Makes from options.toml whatever tells people of the options: --help of both programs, the table in README.md, the
manual page and the completions.

usage: options.py            writes them
       options.py --check    prints which of them are not as they would be written, and exits 1 if there is one
"""

import re
import sys
import textwrap
import tomllib
from pathlib import Path

import completions
import manual

ROOT = Path(__file__).resolve().parent.parent
HELP = ("kcup-rust/src/config/help", "kcup-go/internal/config/help")
SECTION = re.compile(r"(<!-- options: begin -->\n).*?(<!-- options: end -->\n)", re.DOTALL)
WIDTH = 80
INDENT = 10


def commands():
    """The commands, with their options in groups. What an option lacks is as in the first command; --help is in all."""
    table = tomllib.loads((ROOT / "share" / "options.toml").read_text())
    first = {option["name"]: option for option in table["command"][0]["option"]}
    for command in table["command"]:
        given = command.get("option", []) + ([{"name": "help", "help": "print this help"}] if command["name"] else [])
        options = [{**first.get(option["name"], {}), "group": "Options", **option} for option in given]
        groups = {title: [o for o in options if o["group"] == title] for title in table["groups"]}
        yield {**command, "groups": {title: found for title, found in groups.items() if found}}


def names(option):
    """-f, --file PATH"""
    short = f"-{option['short']}, " if "short" in option else ""
    return f"{short}--{option['name']} {option.get('value', '')}".rstrip()


def facts(option):
    """[env: FILE] [default: standard input]"""
    values = {"env": option.get("env"), "default": option.get("default"), "values": ", ".join(option.get("values", []))}
    return [f"[{name}: {value}]" for name, value in values.items() if value]


def wrapped(text, indent=0):
    margin = " " * indent
    return textwrap.fill(text, WIDTH, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False)


def usage(command):
    words = " ".join(["kcup", command["name"]]).rstrip()
    return [f"{words} {form}" for form in command["usage"]]


def help_text(command, others):
    """What --help prints."""
    own = usage(command) + [line for other in others for line in usage(other)]
    parts = [wrapped(command["about"].strip()), "Usage: " + "\n       ".join(own)]
    if others:
        parts.append(items("Commands, each with its own --help", [(o["name"], o["summary"]) for o in others]))
    for title, options in command["groups"].items():
        entries = [f"  {'' if 'short' in o else '    '}{names(o)}\n{explained(o)}" for o in options]
        parts.append("\n".join([f"{title}:", *entries]))
    parts += [items(section["title"], section["text"]) for section in command.get("section", [])]
    return "\n\n".join(parts) + "\n"


def explained(option):
    """The help, and then the facts, none of which is divided if it fits into a line."""
    whole = {fact: fact.replace(" ", "\0") for fact in facts(option) if len(fact) <= WIDTH - INDENT}
    return wrapped(" ".join([option["help"], *(whole.get(f, f) for f in facts(option))]), INDENT).replace("\0", " ")


def items(title, text):
    """Terms and what they mean: in two columns if the terms are short."""
    widest = max(len(term) for term, _ in text)
    if widest > 16:
        return "\n".join([f"{title}:", *(f"  {term}\n{wrapped(meaning, INDENT)}" for term, meaning in text)])
    rows = [wrapped(meaning, widest + 4) for _, meaning in text]
    rows = [f"  {term:{widest}}  {row.strip()}" for (term, _), row in zip(text, rows, strict=True)]
    return "\n".join([f"{title}:", *rows])


def readme(table):
    rows = ["| option | variable | default | |", "|---|---|---|---|"]
    for title, options in table[0]["groups"].items():
        options = [option for option in options if "env" in option]
        rows += [f"| **{title}** | | | |"] if options else []
        for o in options:
            values = f" ({', '.join(o['values'])})" if len(o.get("values", [])) > 1 else ""
            rows.append(f"| `{names(o)}` | `{o['env']}` | {o['default']} | {o['help']}{values} |")
    return "\n".join(rows) + "\n"


def made():
    """Each file, with its text."""
    table = list(commands())
    for command in table:
        others = [c for c in table if c["usage"] and c is not command and c["name"].startswith(command["name"])]
        name = command["name"].replace(" ", "-") or "kcup"
        for directory in HELP:
            yield ROOT / directory / f"{name}.txt", help_text(command, others)
    page = (ROOT / "README.md").read_text()
    if len(SECTION.findall(page)) != 1:
        raise SystemExit("README.md: the marks of the options are not there, or more than once")
    yield ROOT / "README.md", SECTION.sub(lambda found: f"{found[1]}\n{readme(table)}\n{found[2]}", page)
    yield ROOT / "share/man/man1/kcup.1", manual.page(table)
    yield ROOT / "share/completions/kcup.bash", completions.bash(table)
    yield ROOT / "share/completions/_kcup", completions.zsh(table)
    yield ROOT / "share/completions/kcup.fish", completions.fish(table)


def main(arguments):
    stale = [(path, text) for path, text in made() if not path.exists() or path.read_text() != text]
    for path, text in stale:
        if arguments == ["--check"]:
            print(f"{path.relative_to(ROOT)}: this is not what share/options.toml says (make readme)")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return bool(stale) and arguments == ["--check"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
