"""Each disagreement that release/check.py finds, planted in a copy of the files that it reads."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
READ = [
    *(
        "VERSION",
        "project.env",
        "rust-toolchain.toml",
        ".gitlab-ci.yml",
        "kcup-rust.Dockerfile",
        "kcup-go.Dockerfile",
        "kcup-go/go.mod",
        "CHANGELOG.md",
        "README.md",
        "deploy/compose.yaml",
        "release/check.py",
    ),
    *("kcup-rust/Cargo.toml", "kcup-rust/Cargo.lock", "kcup-rust/fuzz/Cargo.lock"),
]
VERSION = (ROOT / "VERSION").read_text().strip()
DATED = f"## [{VERSION}] - 2026-02-28"


class Copy:
    def __init__(self, directory):
        self.directory = directory
        for name in READ:
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, directory / name)
        self.plant("CHANGELOG.md", f"# Changelog\n\n## [Unreleased]\n\n{DATED}\n\n- A first one.\n")

    def plant(self, name, text):
        (self.directory / name).write_text(text)

    def replace(self, name, old, new):
        text = (self.directory / name).read_text()
        assert re.search(old, text, re.DOTALL)
        self.plant(name, re.sub(old, new, text, count=1, flags=re.DOTALL))

    def check(self, *arguments):
        command = [sys.executable, "release/check.py", *arguments]
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(command, cwd=self.directory, text=True, check=False, **both)
        return done.returncode, done.stdout


@pytest.fixture
def copy(tmp_path):
    return Copy(tmp_path)


@pytest.mark.parametrize("arguments", [[], ["--release"]])
def test_what_agrees_passes(copy, arguments):
    assert copy.check(*arguments) == (0, "")


RUST = rf'(name = "kcup-rust"\nversion = )"{re.escape(VERSION)}"'


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("VERSION", ".*", "1.2\n", 'VERSION: "1.2" is not X.Y.Z'),
        ("kcup-rust/Cargo.toml", RUST, r'\1"99.0.0"', 'kcup-rust/Cargo.toml: "99.0.0" is not the version'),
        ("kcup-rust/Cargo.lock", RUST, r'\1"99.0.0"', 'kcup-rust/Cargo.lock: "99.0.0" is not the version'),
        ("kcup-rust/fuzz/Cargo.lock", RUST, r'\1"99.0.0"', 'kcup-rust/fuzz/Cargo.lock: "99.0.0" is not the version'),
        ("CHANGELOG.md", r"## \[Unreleased\]\n", "", 'the first section is not "[Unreleased]"'),
        ("CHANGELOG.md", "-02-28", "-02-30", f'"[{VERSION}] - 2026-02-30" is not "[X.Y.Z] - YYYY-MM-DD"'),
        ("CHANGELOG.md", r"## \[\d", "## [v1", "is not"),
        ("CHANGELOG.md", "$", "\n## [99.0.0] - 2026-01-01\n", "the versions do not descend"),
        ("CHANGELOG.md", "$", f"\n{DATED}\n", "the versions do not descend"),
        ("CHANGELOG.md", re.escape(DATED), "## [0.0.1] - 2026-02-28", f'the newest version is not "{VERSION}"'),
        ("README.md", "docker pull registry", "docker pull mirror", 'README.md: "docker pull registry.gitlab.com/kcup'),
        (
            "README.md",
            "registry.gitlab.com/kcup",
            "registry.example.com/kcup",
            '"registry.example.com/kcup/kcup/kcup-rust" is',
        ),
        (
            "deploy/compose.yaml",
            ":-registry",
            ":-mirror",
            'deploy/compose.yaml: "mirror.gitlab.com/kcup/kcup/kcup-rust" is not',
        ),
        ("kcup-go/go.mod", "gitlab", "example", 'kcup-go/go.mod: "module gitlab.com/kcup/kcup/kcup-go" is not there'),
        (
            "project.env",
            "https://gitlab.com",
            "https://example.org",
            'README.md: "git clone https://example.org/kcup/kcup.git"',
        ),
        ("rust-toolchain.toml", "1\\.", "2.", 'kcup-rust.Dockerfile: "rust:1.'),
        ("kcup-go/go.mod", "toolchain go1", "toolchain go2", '.gitlab-ci.yml: "golang:1.'),
    ],
)
def test_what_disagrees_is_told(copy, name, old, new, told):
    copy.replace(name, old, new)
    status, printed = copy.check()
    assert status == 1
    assert told in printed


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (rf"{re.escape(DATED)}.*", "", f'there is nothing about "{VERSION}"'),
        ("- A first one.\n", "", f'there is nothing about "{VERSION}"'),
        (r"(## \[Unreleased\]\n)", r"\1\n- A thing.\n", 'there is something under "[Unreleased]"'),
    ],
)
def test_what_a_release_lacks_is_told(copy, old, new, told):
    copy.replace("CHANGELOG.md", old, new)
    status, printed = copy.check("--release")
    assert status == 1
    assert told in printed
