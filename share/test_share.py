"""What options.py makes, in the hands of man and of the shells. `make lint-shared` checks that it is not stale."""

import os
import pty
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

SHARE = Path(__file__).resolve().parent
MANUAL = SHARE / "man/man1/kcup.1"
COMPLETIONS = SHARE / "completions"
READY = "ready "
# How a shell that reads no file of its user's is started, and what it is told first.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], f"source {COMPLETIONS}/kcup.bash"),
    "zsh": (["zsh", "-f", "-i"], f"fpath=({COMPLETIONS} $fpath); autoload -U compinit; compinit -u -D"),
}
# What is on a line when the key is pressed, and what is then to be seen.
LINES = [
    ("kcup --compr", ["--compression"]),
    ("kcup --compression ", ["auto", "off"]),
    ("kcup --compression=of", ["off"]),
    ("kcup health", ["healthcheck"]),
    ("kcup mta-sts ", ["lint", "txt", "new"]),
    ("kcup mta-sts new --m", ["--mode", "--mx", "--max-age"]),
    ("kcup mta-sts new --mode enf", ["enforce"]),
    ("kcup healthcheck --por", ["--port"]),
    ("kcup-go --por", ["--port"]),
    ("kcup po", ["policy.txt"]),
    ("kcup -f po", ["policy.txt"]),
    ("kcup mta-sts lint po", ["policy.txt"]),
]


def needs(program):
    return pytest.mark.skipif(not shutil.which(program), reason=f"there is no {program}")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["man", "--warnings", "--encoding=UTF-8", "--local-file"], marks=needs("man")),
        pytest.param(["groff", "-man", "-ww", "-z"], marks=needs("groff")),
        pytest.param(["mandoc", "-T", "lint", "-W", "warning"], marks=needs("mandoc")),
    ],
    ids=lambda command: command[0],
)
def test_the_manual_page_has_no_fault(command):
    """It has no date, since it is made again with every change."""
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run([*command, MANUAL], env={**os.environ, "MANPAGER": "cat"}, text=True, check=False, **both)
    said = [line for line in done.stdout.splitlines() if re.search("warning|error", line, re.IGNORECASE)]
    said = [line for line in said if command[0] != "man" or MANUAL.name in line]
    assert [line for line in said if "missing date" not in line] == []


def typed(shell, line, wanted, directory):
    """What a terminal shows after the key was pressed twice, until all that is wanted is there."""
    command, first = SHELLS[shell]
    process, terminal = pty.fork()
    if not process:
        os.chdir(directory)
        os.execvpe(command[0], command, {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(directory)})
    try:
        os.write(terminal, f"{first}; PS1='{READY[0]}''{READY[1:]}'\n".encode())
        shown(terminal, lambda text: f"\n{READY}" in text.replace("\r", "\n"))
        os.write(terminal, f"{line}\t\t".encode())
        return shown(terminal, lambda text: all(word in text for word in wanted))
    finally:
        os.close(terminal)
        os.kill(process, 9)
        os.waitpid(process, 0)


def shown(terminal, enough):
    text, end = "", time.monotonic() + 30
    while not enough(text) and select.select([terminal], [], [], max(0, end - time.monotonic()))[0]:
        text += os.read(terminal, 4096).decode(errors="replace")
    return text


@pytest.mark.parametrize(("line", "wanted"), LINES, ids=[line for line, _ in LINES])
@pytest.mark.parametrize("shell", [pytest.param(shell, marks=needs(shell)) for shell in SHELLS])
def test_a_line_is_completed(shell, line, wanted, tmp_path):
    (tmp_path / "policy.txt").touch()
    text = typed(shell, line, wanted, tmp_path)
    assert all(word in text for word in wanted), text


@needs("fish")
@pytest.mark.parametrize(("line", "wanted"), LINES, ids=[line for line, _ in LINES])
def test_fish_completes_a_line(line, wanted, tmp_path):
    (tmp_path / "policy.txt").touch()
    script = f"source {COMPLETIONS}/kcup.fish; complete -C '{line}'"
    command = ["fish", "--no-config", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    offered = [found.split("\t")[0].rpartition("=")[2] for found in done.stdout.splitlines()]
    assert sorted(offered) == sorted(wanted)
