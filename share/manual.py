"""The manual page: man(7)."""


def plain(text):
    """Text as roff reads it: a hyphen is one that can be searched for and copied, and no line is a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text[:1] in (".", "'") else text


def bold(text):
    return f"\\fB{plain(text)}\\fR"


def italic(text):
    return f"\\fI{plain(text)}\\fR"


def words(command):
    return " ".join(["kcup", command["name"]]).rstrip()


def synopsis(command):
    return [line for form in command["usage"] for line in (f"{bold(words(command))} {plain(form)}", ".br")]


def items(pairs):
    """Terms that are in roff already, and what they mean."""
    return [line for term, meaning in pairs for line in (".TP", term, plain(meaning))]


def option(o):
    terms = [bold(f"-{o['short']}")] if "short" in o else []
    terms.append(bold(f"--{o['name']}") + (f" {italic(o['value'])}" if "value" in o else ""))
    notes = [("one of", ", ".join(o.get("values", []))), ("default", o.get("default")), ("variable", o.get("env"))]
    notes = "; ".join(f"{name} {value}" for name, value in notes if value)
    return ", ".join(terms), o["help"] + (f" ({notes})" if notes else "")


def options(command):
    return items([option(o) for found in command["groups"].values() for o in found])


def section(command, title):
    return [pair for found in command.get("section", []) if found["title"] == title for pair in found["text"]]


def page(table):
    root, *others = table
    lines = ['.\\" Made by share/options.py from share/options.toml.', '.TH KCUP 1 "" kcup "User Commands"']
    lines += [".SH NAME", f"kcup \\- {root['summary']}"]
    lines += [".SH SYNOPSIS", *[line for command in table for line in synopsis(command)][:-1]]
    lines += [".SH DESCRIPTION", plain(root["about"].strip()), ".SH OPTIONS"]
    for title, found in root["groups"].items():
        lines += [f".SS {title}", *items([option(o) for o in found])]
    lines += [".SH COMMANDS"]
    for command in others:
        lines += [f".SS {words(command)}", plain(command["about"].strip()), *options(command)]
        status = section(command, "Exit status")
        lines += [".PP", "Exit status:", *items((bold(code), meaning) for code, meaning in status)] if status else []
    for title in ("Signals", "Exit status", "Examples"):
        where = table if title == "Examples" else [root]
        pairs = [pair for command in where for pair in section(command, title)]
        lines += [f".SH {title.upper()}", *items((bold(term), meaning) for term, meaning in pairs)]
    return "\n".join(lines) + "\n"
