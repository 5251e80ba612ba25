"""Programs out of Debian packages that are not installed: a registry would start itself, an emulator change what the
kernel starts."""

import subprocess
import tempfile
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent / "bin" / "debian"


def program(package, path):
    """The file that the package would install as `path`, unpacked when first asked for. OSError where there is none."""
    home = HOME / package
    if not (home / path).exists():
        with tempfile.TemporaryDirectory(prefix="kcup-debian-") as directory:
            download(package, directory)
            (archive,) = Path(directory).glob("*.deb")
            home.mkdir(parents=True, exist_ok=True)
            subprocess.run(["dpkg-deb", "--extract", archive, home], check=True)
    return home / path


def download(package, directory):
    command = ["apt-get", "-o", "APT::Sandbox::User=root", "download", "-qq", package]
    # The list of packages may be missing or old.
    for update in (None, ["apt-get", "update", "-qq"]):
        if update:
            subprocess.run(update, check=False)
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
    raise OSError(f"Debian's {package} cannot be had: {done.stderr.strip()}")
