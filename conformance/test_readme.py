"""README's console blocks, as they stand, against both programs as `kcup`. Those with a Docker engine are run by
containers/test_readme.py."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from runner.cases import HOME
from runner.page import blocks, commands, is_said, run_page
from runner.twin import ENVIRONMENT

README = HOME.parent / "README.md"
# The page's ports are used there by nobody else, and with the shell everything ends that it started.
ALONE = ["unshare", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


@pytest.fixture(scope="module")
def alone():
    can = all(map(shutil.which, ("unshare", "ip", "curl")))
    if not can or subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a network of one's own takes root")
    return ALONE


def test_the_page_is_true(twin, alone):
    page = [block for block in blocks(README.read_text()) if not any("docker" in command for command, _ in block)]
    assert len(page) > 10
    with tempfile.TemporaryDirectory(prefix="kcup-") as directory:
        programs, place = Path(directory, "bin"), Path(directory, "home")
        programs.mkdir()
        place.mkdir()
        (programs / "kcup").symlink_to(twin.binary)
        env = {**ENVIRONMENT, "PATH": f"{programs}:{os.environ['PATH']}"}
        run_page([command for block in page for command in block], prefix=alone, cwd=place, env=env)


def test_the_reader_finds_commands_and_output():
    text = "```console\n$ a \\\n  b\nx…\n$ c\n```\n```\n$ not this\n```\n"
    assert commands(text) == [("a \\\n  b", ["x…"]), ("c", [])]
    assert is_said(["x…z"], ["w", "xyz\r"])
    assert is_said(["at 2026-11-22T07:09:17Z"], ["at 2030-01-02T03:04:05Z"])
    assert not is_said(["x…z", "w"], ["w", "xyz"])


def test_a_command_that_fails_or_says_something_else_fails(tmp_path):
    for page in ([("false", [])], [("echo a", ["b"]), ("exit 1", [])]):
        with pytest.raises(AssertionError, match="should say"):
            run_page(page, limit=0.5)
