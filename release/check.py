"""What must agree before a version is released. Prints what does not, a line each, and exits 1 if there is such a line.

usage: check.py              versions, the changelog's form, addresses and toolchains
       check.py --release    versions, and the changelog's section for VERSION
"""

import re
import sys
import tomllib
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
# A host, and a path in which kcup is named; also as the default of a variable, ${NAME:-ADDRESS}.
ADDRESS = re.compile(r"(?:(?<![\w.-])|(?<=:-))(?:\w[\w-]*\.)+[a-z]+(?::\d+)?/[\w./-]*kcup[\w./-]*")
RELEASED = re.compile(rf"\[({VERSION.pattern})\] - (\d{{4}}-\d\d-\d\d)")


def read(name):
    return (ROOT / name).read_text()


def version():
    return read("VERSION").removesuffix("\n")


def wrong_versions():
    if not VERSION.fullmatch(version()):
        yield f'VERSION: "{version()}" is not X.Y.Z'
    found = {"kcup-rust/Cargo.toml": tomllib.loads(read("kcup-rust/Cargo.toml"))["package"]["version"]}
    for lock in ("kcup-rust/Cargo.lock", "kcup-rust/fuzz/Cargo.lock"):
        packages = tomllib.loads(read(lock))["package"]
        found[lock] = next(package["version"] for package in packages if package["name"] == "kcup-rust")
    for name, told in found.items():
        if told != version():
            yield f'{name}: "{told}" is not the version, which is "{version()}"'


def sections():
    """The changelog's headings, with the text under each."""
    parts = HEADING.split(read("CHANGELOG.md"))[1:]
    return list(zip(parts[::2], (text.strip() for text in parts[1::2]), strict=True))


def wrong_changelog():
    first, *released = [heading for heading, _ in sections()] or [None]
    if first != "[Unreleased]":
        yield 'CHANGELOG.md: the first section is not "[Unreleased]"'
    order = []
    for heading in released:
        match = RELEASED.fullmatch(heading)
        if not match or not is_date(match[5]):
            yield f'CHANGELOG.md: "{heading}" is not "[X.Y.Z] - YYYY-MM-DD"'
            return
        order.append(tuple(map(int, match.groups()[1:4])))
    if order != sorted(set(order), reverse=True):
        yield "CHANGELOG.md: the versions do not descend"
    if order and ".".join(map(str, order[0])) != version():
        yield f'CHANGELOG.md: the newest version is not "{version()}"'


def is_date(text):
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def wrong_release():
    """A release has its own section, and nothing is left under Unreleased."""
    texts = {heading.partition(" ")[0]: text for heading, text in sections()}
    if not texts.get(f"[{version()}]"):
        yield f'CHANGELOG.md: there is nothing about "{version()}"'
    if texts.get("[Unreleased]"):
        yield 'CHANGELOG.md: there is something under "[Unreleased]"'


def wrong_addresses():
    """Every address of the project, wherever it is written, is that of project.env."""
    project = dict(re.findall(r"^(\w+)=(.*)$", read("project.env"), re.MULTILINE))
    url, images = project["PROJECT_URL"], project["PROJECT_IMAGES"]
    module = f"{url.removeprefix('https://')}/kcup-go"
    for name, needed in {
        "README.md": [f"git clone {url}.git", f"docker pull {images}/kcup-rust\n"],
        "kcup-go/go.mod": [f"module {module}\n"],
    }.items():
        for part in needed:
            if part not in read(name):
                yield f'{name}: "{part.strip()}" is not there (project.env)'
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*")]:
        for address in ADDRESS.findall(path.read_text()) if path.is_file() else []:
            if not address.startswith((images, url.removeprefix("https://"))):
                yield f'{path.relative_to(ROOT)}: "{address}" is not an address of project.env'


def wrong_toolchains():
    """What builds images and runs jobs begins with the toolchains that rustup and Go fetch for everybody else."""
    rust = re.search(r'^channel = "(\d+\.\d+)', read("rust-toolchain.toml"), re.MULTILINE)[1]
    go = re.search(r"^toolchain go(\d+\.\d+)", read("kcup-go/go.mod"), re.MULTILINE)[1]
    for name in ("kcup-rust.Dockerfile", "kcup-go.Dockerfile", ".gitlab-ci.yml"):
        for image, told in re.findall(r"\b(rust|golang):(\d+\.\d+)", read(name)):
            if told != {"rust": rust, "golang": go}[image]:
                yield f'{name}: "{image}:{told}" is not of rust-toolchain.toml or go.mod'
    if f"Rust {rust} and Go {go} " not in read("README.md"):
        yield f'README.md: "Rust {rust} and Go {go}" is not there'


def main(arguments):
    checks = [wrong_versions, wrong_changelog, wrong_addresses, wrong_toolchains]
    checks += [wrong_release] * (arguments == ["--release"])
    wrong = [line for check in checks for line in check()]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
