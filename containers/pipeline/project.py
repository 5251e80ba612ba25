"""A copy of this work tree as a separate repository, in which gitlab-ci-local runs .gitlab-ci.yml."""

import os
import re
import shutil
import subprocess
from datetime import date

from conftest import ROOT, VERSION

GITLAB = ROOT / "release" / "node_modules" / ".bin" / "gitlab-ci-local"
# Variables that `make` and an outer pipeline set for their children.
FOREIGN = re.compile(r"CI(_.*)?|GITLAB_.*|MAKE.*|MFLAGS|SOURCE_DATE_EPOCH|VENV")
PATH = "kcup/kcup"


class Project:
    """`variables` are those that GitLab and its settings would give to every job."""

    def __init__(self, directory, remote, variables):
        self.directory = directory / "kcup"
        self.home = directory
        self.variables = {**caches(), **variables}
        self.git_environment = {**os.environ, "GIT_CONFIG_GLOBAL": str(directory / "gitconfig")}
        (directory / "gitconfig").write_text("[user]\n\tname = kcup\n\temail = kcup@example.com\n")
        self.copy()
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("remote", "add", "origin", remote.url(PATH))
        # The developer's own key for the remote; the deploy key is the pipeline's.
        self.git("remote", "set-url", "--push", "origin", str(remote.repository))
        self.commit("What is in the work tree")

    def copy(self):
        """Copies every file that git would consider, with its times, so that compilers recognise what they have
        compiled."""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        for name in listed.stdout.split("\0"):
            if (ROOT / name).is_file():
                (self.directory / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.directory / name)

    def git(self, *args):
        command = ["git", *args]
        done = subprocess.run(command, cwd=self.directory, env=self.git_environment, capture_output=True, text=True)
        assert done.returncode == 0, f"git {' '.join(args)}: {done.stderr}"
        return done.stdout.strip()

    def commit(self, message):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", f"--message={message}")

    def date_the_changelog(self):
        """As a release does, unless VERSION has its section."""
        changelog = self.directory / "CHANGELOG.md"
        text = changelog.read_text()
        if f"## [{VERSION}]" not in text:
            dated = f"## [Unreleased]\n\n## [{VERSION}] - {date.today()}"
            changelog.write_text(text.replace("## [Unreleased]", dated))
        self.commit(f"Release {VERSION}")

    def run(self, *jobs, **variables):
        """Runs jobs of a pipeline for what is checked out, in the order of their stages. Returns exit status and
        output."""
        options = [f"--variable={name}={value}" for name, value in {**self.variables, **variables}.items() if value]
        options += [f"--unset-variable={name}" for name, value in variables.items() if not value]
        environment = {name: value for name, value in os.environ.items() if not FOREIGN.fullmatch(name)}
        done = subprocess.run(
            [GITLAB, "--force-shell-executor", "--shell-isolation", f"--home={self.home}", *options, *jobs],
            cwd=self.directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=1500,
        )
        return done.returncode, done.stdout

    def artifact(self, job, name, folder="release"):
        """A file that the job has left for download."""
        return self.directory / ".gitlab-ci-local" / "artifacts" / job / "bin" / folder / name


def caches():
    """This machine's caches instead of the project's, which an earlier pipeline would have filled on a runner."""
    go = subprocess.run(["go", "env", "GOPATH", "GOCACHE"], capture_output=True, text=True, check=True)
    gopath, gocache = go.stdout.splitlines()
    return {
        "CARGO_HOME": os.environ.get("CARGO_HOME") or os.path.expanduser("~/.cargo"),
        "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR") or ROOT / "kcup-rust" / "target",
        "GOPATH": gopath,
        "GOCACHE": gocache,
        "VENV": ROOT / ".venv",
    }
