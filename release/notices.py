"""The licences of everything that is compiled into a program: each text once, under the names of what it covers.

usage: notices.py rust|go FILE    the same sources give the same bytes

From the same lists as the bill of materials, with the files that each package brings itself.
"""

import re
import sys
from pathlib import Path

from sbom import ROOT, crates, modules, output

NOTICE = re.compile(r"(LICEN[CS]E|COPYING|COPYRIGHT|UNLICENSE|NOTICE|PATENTS)", re.IGNORECASE)
LINE = "-" * 80
# Its targets link musl's C library into a program, and its package has texts of licences, without the notices.
RUST = "The Rust standard library: copyright The Rust Project Developers (MIT OR Apache-2.0)"
MUSL = "musl: copyright 2005-2020 Rich Felker and others (MIT)"


def texts(directory):
    files = sorted(path for path in Path(directory).iterdir() if NOTICE.match(path.name) and path.is_file())
    return [path.read_text().strip() for path in files]


def rust():
    """For each crate its name, and its texts. One without any is from a repository of which another crate has them."""
    packages, _, root = crates()
    others = [package for name, package in packages.items() if name != root]
    there = {package["id"]: texts(Path(package["manifest_path"]).parent) for package in others}
    shared = {package["repository"]: there[package["id"]] for package in others if there[package["id"]]}
    for package in others:
        name = f"{package['name']} {package['version']} ({package['license']})"
        yield name, there[package["id"]] or shared.get(package["repository"])
    sysroot = Path(output("rustc", "--print", "sysroot", directory=ROOT / "kcup-rust").strip())
    mit = (sysroot / "share/doc/rust/licenses/MIT.txt").read_text().strip()
    yield from ((name, [mit]) for name in (RUST, MUSL))


def go():
    for path, (version, directory) in modules().items():
        if version:
            yield f"{path} {version}", texts(directory)
    goroot = output("go", "env", "GOROOT", directory=ROOT / "kcup-go").strip()
    yield "The Go standard library", texts(goroot)


def notices(twin):
    covers = {}
    for name, found in {"rust": rust, "go": go}[twin]():
        if not found:
            sys.exit(f"notices.py: {name} has no licence file")
        for text in found:
            covers.setdefault(text, []).append(name)
    yield f"kcup-{twin} contains the following, under these licences."
    for text, names in sorted(covers.items(), key=lambda cover: (sorted(cover[1]), cover[0])):
        yield "\n".join([LINE, *sorted(names), LINE, "", text])


if __name__ == "__main__":
    twin, file = sys.argv[1:]
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text("\n\n".join(notices(twin)) + "\n")
