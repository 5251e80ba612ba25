"""Every CLI case against each program, and tests of the command line that need code."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from runner.cases import cli_cases
from runner.parts import to_bytes
from runner.twin import write_file

VERSION = Path(__file__).resolve().parent.parent / "VERSION"


@pytest.mark.parametrize("case", cli_cases(), ids=lambda case: case.name.replace(" ", "-"))
def test_case(twin, case, tmp_path):
    for file in case.files:
        if file.get("directory"):
            (tmp_path / file["name"]).mkdir()
        else:
            write_file(tmp_path / file["name"], to_bytes(file["content"]))
    result = twin.run(case.args, case.env, tmp_path, to_bytes(case.stdin))
    expected = case.stderr + "\n" if case.stderr else ""
    assert (result.returncode, result.stderr.decode()) == (case.exit, expected)
    assert result.stdout.decode() == case.stdout


@pytest.mark.spec("K-06", "K-07")
def test_version_is_that_of_the_repository(twin):
    result = twin.run(["--version"])
    expected = f"kcup {VERSION.read_text().strip()} ({twin.name})\n"
    assert (result.returncode, result.stdout.decode(), result.stderr) == (0, expected, b"")


@pytest.mark.spec("K-06", "K-07")
def test_version_and_help_need_no_content(twin):
    for option in ("--version", "--help"):
        result = twin.run(["--file", "not-there", option])
        assert (result.returncode, result.stderr) == (0, b"")


@pytest.mark.spec("K-11")
@pytest.mark.skipif(os.geteuid() == 0 and not Path("/usr/bin/setpriv").exists(), reason="root reads everything")
def test_permission_denied(twin, tmp_path):
    write_file(tmp_path / "secret", b"x")
    (tmp_path / "secret").chmod(0)
    argv = [twin.binary, "--file", "secret"]
    if os.geteuid() == 0:
        argv = ["/usr/bin/setpriv", "--reuid", "65534", "--clear-groups", "--bounding-set", "-all", *argv]
        tmp_path.chmod(0o755)
        make_reachable(tmp_path, twin.binary)
    result = subprocess.run(argv, env={}, cwd=tmp_path, capture_output=True, timeout=20, check=False)
    expected = 'kcup: cannot read content from "secret": permission denied\n'
    assert (result.returncode, result.stderr.decode()) == (1, expected)


def make_reachable(directory, binary):
    """Makes pytest's directories, which only its user can enter, accessible to the other user."""
    for parent in directory.parents:
        if parent.stat().st_uid == os.geteuid() and not parent.stat().st_mode & 0o001 and "pytest" in str(parent):
            parent.chmod(parent.stat().st_mode | 0o011)
    if any(not parent.stat().st_mode & 0o001 for parent in Path(binary).parents):
        pytest.skip("another user does not get to the program")


@pytest.mark.spec("K-08")
@pytest.mark.parametrize("file", ["not-there", "/proc/self/mem", "/", "/dev/full", "a\nb"])
def test_nothing_prints_a_trace(twin, file):
    """Whatever cannot be read, the error is one line, and nothing quoted in it breaks the line."""
    result = twin.run(["--file", file, "--stdin-read-timeout-seconds", "1", "--max-content-bytes", "1000"])
    assert result.returncode == 1
    assert re.fullmatch(r"kcup: cannot read content from [^\n]+\n", result.stderr.decode())


@pytest.mark.spec("K-44")
def test_a_name_of_a_field_may_be_so_long(twin):
    for length, expected in ((65535, "cannot read content"), (65536, 'is not "Name: value"')):
        result = twin.run(["--file", "not-there", "--header", "n" * length + ": value"])
        assert expected in result.stderr.decode(), length


@pytest.mark.spec("K-04", "K-08")
@pytest.mark.parametrize("char", [0x07, 0x1B, 0x7F, 0x85, 0x9B, 0x2028, 0x2029, 0x202E, 0x2066, 0xFEFF], ids=hex)
def test_what_is_quoted_commands_no_terminal(twin, char):
    """Control bytes, including C1, and characters that change the text's direction or end a line are not printed."""
    for args in (["--port", f"1{chr(char)}2"], [f"--{chr(char)}"], [chr(char)], ["--file", f"not {chr(char)} there"]):
        said = twin.run(args).stderr.decode()
        assert said.count("\n") == 1 and said.rstrip("\n").isprintable(), ascii(said)


@pytest.mark.spec("K-08")
@pytest.mark.parametrize("length", [4096, 100_000], ids=["a-page", "more-than-a-pipe-takes"])
def test_a_long_value_does_not_cost_the_reason(twin, length):
    result = twin.run(["--port", "x" * length])
    expected = f'kcup: --port: "{"x" * length}" is not a whole number from 0 to 65535\n'
    assert (result.returncode, result.stderr.decode()) == (2, expected)


@pytest.mark.spec("K-03")
def test_a_bad_variable_is_refused_whatever_its_bytes(twin):
    result = twin.run(["--file", "not-there"], {b"PORT": b"\xff80"})
    assert result.returncode == 2
    assert result.stderr.startswith(b"kcup: PORT: ")
    assert result.stderr.count(b"\n") == 1
