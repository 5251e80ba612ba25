"""What release/publish tags and what release/latest prints, with a git repository as the remote."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PREPARED = ["release/check.py", "release/publish", "release/latest"]
# What check.py compares, whatever the version.
PREPARED += ["project.env", "README.md", "rust-toolchain.toml", "kcup-go/go.mod", ".gitlab-ci.yml"]
PREPARED += ["kcup-rust.Dockerfile", "kcup-go.Dockerfile"]
SECTION = "## [{}] - 2026-02-28\n\n- A thing.\n"


class Clone:
    """A repository whose main has nothing but what the two scripts read, and its remote."""

    def __init__(self, directory):
        self.remote, self.directory = directory / "remote.git", directory / "clone"
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", self.remote], check=True)
        subprocess.run(["git", "clone", "--quiet", self.remote, self.directory], check=True, stderr=subprocess.DEVNULL)
        self.git("checkout", "--quiet", "-B", "main")
        for name in PREPARED:
            (self.directory / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, self.directory / name)

    def git(self, *arguments):
        identity = ["-c", "user.name=kcup", "-c", "user.email=kcup@example.com"]
        done = subprocess.run(["git", *identity, *arguments], cwd=self.directory, check=True, stdout=subprocess.PIPE)
        return done.stdout.decode()

    def commit(self, version, sections="", unreleased="", push="main"):
        """Everything of this version, with these sections in the changelog; pushed to a branch of the remote."""
        package = f'name = "kcup-rust"\nversion = "{version}"\n'
        files = {
            "VERSION": f"{version}\n",
            "CHANGELOG.md": f"# Changelog\n\n## [Unreleased]\n\n{unreleased}\n{sections}",
            "kcup-rust/Cargo.toml": f"[package]\n{package}",
            "kcup-rust/Cargo.lock": f"[[package]]\n{package}",
            "kcup-rust/fuzz/Cargo.lock": f"[[package]]\n{package}",
        }
        for name, text in files.items():
            (self.directory / name).parent.mkdir(parents=True, exist_ok=True)
            (self.directory / name).write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", version)
        self.git("push", "--quiet", "origin", f"HEAD:refs/heads/{push}")

    def run(self, script, *arguments):
        done = subprocess.run(
            [self.directory / "release" / script, self.remote, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.returncode, done.stdout

    def check_out(self, tag):
        self.git("fetch", "--quiet", "--tags", "origin")
        self.git("checkout", "--quiet", tag)

    def tags(self):
        return self.git("ls-remote", "--tags", "origin").split()[1::2]

    def release(self, version, push="main"):
        self.commit(version, SECTION.format(version), push=push)
        status, printed = self.run("publish")
        assert status == 0, printed


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path)


def test_nothing_is_due_without_a_section(clone):
    clone.commit("1.2.3")
    assert clone.run("publish") == (0, "no release is due: CHANGELOG.md has no section for 1.2.3\n")
    assert clone.tags() == []


def test_a_version_is_tagged_once(clone):
    clone.release("1.2.3")
    assert clone.tags() == ["refs/tags/v1.2.3"]
    assert clone.run("publish") == (0, "v1.2.3 is there already\n")


def test_what_is_due_and_not_ready_fails(clone):
    clone.commit("1.2.3", SECTION.format("1.2.3"), unreleased="- Something else.")
    status, printed = clone.run("publish")
    assert (status, clone.tags()) == (1, [])
    assert 'there is something under "[Unreleased]"' in printed


def test_a_remote_out_of_reach_fails(clone):
    clone.commit("1.2.3", SECTION.format("1.2.3"))
    shutil.rmtree(clone.remote)
    assert clone.run("publish")[0] not in (0, 2)


def test_the_newest_version_of_the_branch_is_the_latest(clone):
    clone.release("1.9.0")
    clone.release("1.10.0")
    clone.commit("1.10.0", SECTION.format("1.10.0"))
    assert clone.run("latest", "main") == (0, "latest\n")


def test_an_older_version_is_not_the_latest(clone):
    clone.release("1.9.0")
    clone.release("1.10.0")
    clone.check_out("v1.9.0")
    assert clone.run("latest", "main") == (0, "")


def test_a_version_of_another_branch_is_not_the_latest(clone):
    clone.release("1.2.3")
    clone.git("checkout", "--quiet", "-b", "elsewhere")
    clone.release("2.0.0", push="elsewhere")
    assert clone.run("latest", "main") == (0, "")
    clone.check_out("v1.2.3")
    assert clone.run("latest", "main") == (0, "latest\n")
