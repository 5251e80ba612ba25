"""Debian's kernels, downloaded and unpacked into bin/vm, never installed."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "bin" / "vm"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# The suite of each, whose current cloud kernel is used, since older ones are removed from the archive.
SUITES = {"bookworm": "Linux 6.1", "trixie": "Linux 6.12"}


def mirror():
    """Where this machine gets Debian's packages."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return next((uri for uri in found if uri.rstrip("/").endswith("/debian")), "http://deb.debian.org/debian")


def apt(suite, *arguments, **options):
    """An apt that knows one suite and ignores this machine's configuration."""
    home = CACHE / suite / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    source = home / "sources.list"
    source.write_text(f"deb [signed-by={KEYRING}] {mirror()} {suite} main\n")
    (home / "status").touch()
    settings = {
        "Dir::Etc::sourcelist": source,
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": home / "lists",
        "Dir::State::status": home / "status",
        "Dir::Cache": home / "cache",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        "Acquire::Languages": "none",
        "APT::Sandbox::User": "root",
    }
    flags = [flag for key, value in settings.items() for flag in ("-o", f"{key}={value}")]
    return subprocess.run(
        [arguments[0], *flags, *arguments[1:]], check=True, stdout=subprocess.PIPE, text=True, **options
    ).stdout


def kernel(suite):
    """The kernel's path, with the package and version that it comes from."""
    unpacked = CACHE / suite / "kernel"
    if not list(unpacked.glob("boot/vmlinuz-*")):
        print(f"fetching the kernel of Debian {suite}", flush=True)
        apt(suite, "apt-get", "update", "-qq")
        named = apt(suite, "apt-cache", "depends", "linux-image-cloud-amd64")
        package = re.search(r"Depends: (linux-image-\S+-cloud-amd64)", named)[1]
        apt(suite, "apt-get", "download", "-qq", package, cwd=CACHE / suite)
        (archive,) = (CACHE / suite).glob(f"{package}_*.deb")
        subprocess.run(["dpkg-deb", "-x", archive, unpacked], check=True)
        (CACHE / suite / "version").write_text(archive.name.removesuffix("_amd64.deb").replace("%3a", ":"))
        archive.unlink()
    (path,) = unpacked.glob("boot/vmlinuz-*")
    return path, (CACHE / suite / "version").read_text()
