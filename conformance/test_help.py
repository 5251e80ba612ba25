"""K-05: --help of every command, and that it says of each option what SPEC's table says."""

import re

import pytest

from runner.contract import options

READING = ["--file", "--stdin-read-timeout-seconds", "--max-content-bytes"]
# The words of each command, with all options that its help describes.
COMMANDS = {
    (): [option.long for option in options()] + ["--help", "--version"],
    ("healthcheck",): ["--host", "--port", "--tls-cert", "--tls-key", "--path", "--status", "--preset", "--help"],
    ("mta-sts",): ["--help"],
    ("mta-sts", "lint"): [*READING, "--format", "--help"],
    ("mta-sts", "txt"): [*READING, "--domain", "--help"],
    ("mta-sts", "new"): ["--mode", "--mx", "--max-age", "--help"],
}
each_command = pytest.mark.parametrize("words", COMMANDS, ids=lambda words: "-".join(words) or "serve")


def printed(twin, *args):
    result = twin.run([*args, "--help"])
    assert (result.returncode, result.stderr) == (0, b"")
    return result.stdout.decode()


def entries(text):
    """The text for each option, on one line: from the line that begins with its name to the next such line."""
    found = re.findall(r"^  (?:-\w, |    )(--[a-z-]+)(.*\n(?: {10}.*\n)+)", text, re.MULTILINE)
    return {name: " ".join(f"{name}{rest}".split()) for name, rest in found}


@pytest.mark.spec("K-05")
@each_command
def test_a_command_describes_its_usage_and_its_options(twin, words):
    text = printed(twin, *words)
    assert f"\nUsage: {' '.join(['kcup', *words])} " in text
    for others in COMMANDS:
        if others[: len(words)] == words and others != ("mta-sts",):
            assert re.search(rf"^(Usage:|      ) {' '.join(['kcup', *others])} ", text, re.MULTILINE)
    assert sorted(entries(text)) == sorted(COMMANDS[words])


@pytest.mark.spec("K-05")
@each_command
def test_lines_fit_into_80_columns(twin, words):
    text = printed(twin, *words)
    assert max(map(len, text.splitlines())) <= 80
    assert text.isascii() and text.endswith("\n") and not text.endswith("\n\n")


@pytest.mark.spec("K-05")
@each_command
def test_both_print_the_same_help(twins, words):
    first, second = (printed(twin, *words) for twin in twins)
    assert first == second


@pytest.mark.spec("K-05")
@pytest.mark.parametrize("option", options(), ids=lambda option: option.long)
def test_help_agrees_with_the_contract(twin, option):
    """Each option has its variable, its default and the words that it accepts."""
    entry = entries(printed(twin))[option.long]
    default = re.sub(r", at least 1$", "", option.default)
    assert f"[env: {option.variable}] [default: {default}]" in entry
    words = re.fullmatch(r"`[\w-]+`(, `[\w-]+`)*", option.accepted)
    assert not words or entry.endswith(f"[values: {option.accepted.replace('`', '')}]")
    short = re.search(rf"^  (-\w), {option.long} ", printed(twin), re.MULTILINE)
    assert (short and short[1]) == option.short


@pytest.mark.spec("K-05")
@pytest.mark.parametrize("seconds", [o for o in options() if o.long.endswith("-seconds")], ids=lambda o: o.long)
def test_a_unit_is_named(twin, seconds):
    assert "seconds" in entries(printed(twin))[seconds.long].partition(" ")[2]


@pytest.mark.spec("K-05")
def test_help_ends_the_reading_where_it_stands(twin):
    assert printed(twin, "index.html", "--port", "x") == printed(twin)
    assert printed(twin, "--port", "80", "mta-sts", "lint", "x") == printed(twin, "mta-sts", "lint")
    assert twin.run(["mta-sts", "new", "--help", "--x", "a", "b"]).stdout.decode() == printed(twin, "mta-sts", "new")
    assert twin.run(["--help", "mta-sts", "new"]).stdout.decode() == printed(twin)


@pytest.mark.spec("K-05", "K-03")
@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["--x"], 'unknown option "--x" (see kcup --help)'),
        (["mta-sts", "x"], 'mta-sts: "x" is not one of lint, txt, new'),
        (["healthcheck", "x"], 'unexpected argument "x" (see kcup --help)'),
        (["mta-sts", "lint", "--mode", "none"], 'unknown option "--mode" (see kcup --help)'),
        (["a", "b", "--x"], 'unexpected argument "b" (see kcup --help)'),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_stands_before_it_is_read_first(twin, args, line):
    result = twin.run([*args, "--help"])
    assert (result.returncode, result.stdout, result.stderr.decode()) == (2, b"", f"kcup: {line}\n")
