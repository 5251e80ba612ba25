"""`make install`, and what make says of a machine that lacks what it needs."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
VERSION = (ROOT / "VERSION").read_text().strip()


def run(*command, **options):
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.run(command, cwd=ROOT, **both, **options, check=False)


INSTALLED = {
    "share/man/man1/kcup{}.1": "man/man1/kcup.1",
    "share/bash-completion/completions/kcup{}": "completions/kcup.bash",
    "share/fish/vendor_completions.d/kcup{}.fish": "completions/kcup.fish",
}


@pytest.mark.parametrize(("target", "twin"), [("install", "rust"), ("install-rust", "rust"), ("install-go", "go")])
def test_everything_installs_the_command_kcup(target, twin, tmp_path):
    """With the manual page and the completions, under every name."""
    done = run("make", target, f"DESTDIR={tmp_path}", "PREFIX=/opt")
    assert done.returncode == 0, done.stdout
    assert run(tmp_path / "opt/bin/kcup", "--version").stdout == f"kcup {VERSION} ({twin})\n"
    names = ["", f"-{twin}"] if "-" in target else ["", "-rust", "-go"]
    expected = {place.format(name): ROOT / "share" / source for place, source in INSTALLED.items() for name in names}
    expected["share/zsh/site-functions/_kcup"] = ROOT / "share/completions/_kcup"
    expected |= {f"bin/kcup{name}": ROOT / f"bin/kcup{name or '-' + twin}" for name in names}
    found = {str(path.relative_to(tmp_path / "opt")): path for path in tmp_path.rglob("*") if not path.is_dir()}
    assert found.keys() == expected.keys()
    assert not [name for name, path in found.items() if path.read_bytes() != expected[name].read_bytes()]


def needs(tmp_path, **programs):
    """What `.ci/needs` says where there are only these programs, each of which prints this."""
    for name in ("sh", "sort", "sed", "cut", "head", "dirname", "uname", "id"):
        (tmp_path / name).symlink_to(f"/usr/bin/{name}")
    for name, line in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\nprintf '%s' '{line}'\n")
        (tmp_path / name).chmod(0o755)
    return run(".ci/needs", "rust", "go", "python", env={**os.environ, "PATH": str(tmp_path)})


def test_each_thing_that_is_missing_is_named(tmp_path):
    done = needs(tmp_path)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert [" ".join(line.split()[1:3]) for line in lines] == ["no C", "no cargo:", "no go:", "no python3"]
    assert all("install" in line for line in lines)


def test_what_is_too_old_is_named(tmp_path):
    done = needs(tmp_path, cc="", cargo="cargo 1.65.0", go="go version go1.19.8 linux/amd64", python3="")
    assert done.returncode == 1
    assert "make: cargo 1.65.0 is too old" in done.stdout
    assert "make: go version go1.19.8 linux/amd64 is not Go 1.26" in done.stdout
    assert done.stdout.count("\n") == 2


def test_nothing_is_said_of_what_is_there(tmp_path):
    done = needs(tmp_path, cc="", cargo="cargo 1.95.0", rustup="", go="go version go1.26.8 linux/amd64", python3="")
    assert (done.returncode, done.stdout) == (0, "")
