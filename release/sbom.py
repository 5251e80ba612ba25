"""A program's bill of materials, CycloneDX 1.5 JSON: what is compiled into it, as its lock file pins it.

usage: sbom.py rust|go FILE    SOURCE_DATE_EPOCH is its time; the same sources give the same bytes

One generator for both, on CycloneDX's own library: the project's cargo-cyclonedx knows only Rust.
"""

import json
import os
import subprocess
import sys
import tomllib
import uuid
from datetime import UTC, datetime
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot5
from packageurl import PackageURL

ROOT = Path(__file__).resolve().parent.parent
# Both platforms need the same packages.
TARGET = "x86_64-unknown-linux-musl"


def output(*command, directory, **variables):
    environment = {**os.environ, **variables}
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=True).stdout


def component(kind, name, version, **more):
    """A library by its name in its ecosystem; `kind` is `cargo`, `golang` or `generic`."""
    namespace, _, last = name.rpartition("/")
    url = PackageURL(kind, namespace or None, last, version)
    return Component(type=ComponentType.LIBRARY, name=name, version=version, purl=url, bom_ref=str(url), **more)


def crates():
    """What cargo compiles for the program, itself, macros and build scripts included: packages by id, what each needs,
    and the program's id."""
    command = ("cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={TARGET}")
    metadata = json.loads(output(*command, directory=ROOT / "kcup-rust"))
    packages = {package["id"]: package for package in metadata["packages"]}
    needs = {
        node["id"]: [need["pkg"] for need in node["deps"] if any(kind["kind"] != "dev" for kind in need["dep_kinds"])]
        for node in metadata["resolve"]["nodes"]
    }
    root, found = metadata["resolve"]["root"], {}
    waiting = [root]
    while waiting:
        package = packages[waiting.pop()]
        if package["id"] not in found:
            found[package["id"]] = package
            waiting += needs[package["id"]]
    return found, needs, root


def rust():
    """The program, its crates, and their dependencies."""
    directory = ROOT / "kcup-rust"
    packages, needs, root = crates()
    locked = tomllib.loads((directory / "Cargo.lock").read_text())["package"]
    checksums = {(package["name"], package["version"]): package.get("checksum") for package in locked}
    found = {name: crate(package, checksums[package["name"], package["version"]]) for name, package in packages.items()}
    version = output("rustc", "--version", directory=directory).split()[1]
    return root, found, needs, component("generic", "rust-std", version)


def crate(package, checksum):
    hashes = [HashType(alg=HashAlgorithm.SHA_256, content=checksum)] if checksum else []
    licenses = [LicenseExpression(package["license"].replace("/", " OR "))] if package["license"] else []
    return component("cargo", package["name"], package["version"], hashes=hashes, licenses=licenses)


def modules():
    """The modules of all packages in the program, each with its version and folder. The program's has no version."""
    form = "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}"
    command = ("go", "list", "-mod=readonly", "-deps", "-f", form, ".")
    lines = set(output(*command, directory=ROOT / "kcup-go", CGO_ENABLED="0", GOOS="linux").split("\n")) - {""}
    return {path: tuple(rest) for path, *rest in (line.split("\t") for line in lines)}


def go():
    """The program, its modules, and their dependencies. The hashes in go.sum are not those of files."""
    directory = ROOT / "kcup-go"
    versions = {path: version for path, (version, _) in modules().items()}
    root = next(path for path, version in versions.items() if not version)
    versions[root] = (ROOT / "VERSION").read_text().strip()
    found = {path: component("golang", path, version) for path, version in versions.items()}
    needs = {path: set() for path in found}
    for line in output("go", "mod", "graph", directory=directory).splitlines():
        one, other = (end.partition("@")[0] for end in line.split(" "))
        if one in found and other in found:
            needs[one].add(other)
    version = output("go", "env", "GOVERSION", directory=directory).strip().removeprefix("go")
    return root, found, needs, component("golang", "std", version)


def bill(twin):
    root, found, needs, standard_library = {"rust": rust, "go": go}[twin]()
    program = found[root]
    program.type, program.name = ComponentType.APPLICATION, f"kcup-{twin}"
    bom = Bom(components=[standard_library, *(each for each in found.values() if each is not program)])
    bom.metadata.component = program
    bom.metadata.timestamp = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH") or 0), UTC)
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, f"{program.purl} {bom.metadata.timestamp}")
    for name, each in found.items():
        bom.register_dependency(each, [standard_library, *(found[need] for need in needs[name])])
    return bom


if __name__ == "__main__":
    twin, file = sys.argv[1:]
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text(JsonV1Dot5(bill(twin)).output_as_string(indent=2) + "\n")
