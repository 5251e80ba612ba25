"""release/sign with a key, for images in a registry on 127.0.0.1, and what docs/verifying.md says, with that key.
What needs sigstore's own services is not tried: the job's identity, and the log of signatures."""

import json
import os
import shutil
import subprocess
import tarfile
from base64 import b64decode

import pytest
from conftest import ROOT
from pipeline.registry import Registry

TWINS = ["rust", "go"]
TOOLS = ROOT / "bin/tools"
BILL = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1}
OFFLINE = ["--key", "cosign.pub", "--insecure-ignore-tlog"]


class Release:
    """A folder with what a release signs, and a registry to which it has been pushed as v1.2.3."""

    def __init__(self, directory, registry):
        self.directory = directory
        self.image = f"{registry.address}/kcup/kcup"
        self.environment = {
            **os.environ,
            "CI_REGISTRY": registry.address,
            "CI_REGISTRY_IMAGE": self.image,
            "CI_REGISTRY_USER": registry.user,
            "CI_REGISTRY_PASSWORD": registry.password,
            "DOCKER_CONFIG": str(directory / "docker"),
            "COSIGN_PASSWORD": "",
            "SIGN_WITH": "--key env://COSIGN_PRIVATE_KEY --signing-config alone.json",
        }
        for folder in ("release", "bin/release", "bin/packages"):
            (directory / folder).mkdir(parents=True)
        (directory / "bin/tools").symlink_to(TOOLS)
        for script in ("sign", "login"):
            shutil.copy(ROOT / "release" / script, directory / "release")
        (directory / "bin/packages/SHA256SUMS").write_text("0  kcup\n")
        self.run(TOOLS / "crane", "auth", "login", f"-u={registry.user}", f"-p={registry.password}", registry.address)
        for twin in TWINS:
            (directory / f"bin/release/kcup-{twin}.cdx.json").write_text(json.dumps({**BILL, "name": twin}))
            self.push(f"{self.image}/kcup-{twin}:v1.2.3", twin)
        self.run(TOOLS / "cosign", "generate-key-pair")
        self.environment["COSIGN_PRIVATE_KEY"] = (directory / "cosign.key").read_text()
        none = [f"--no-default-{service}" for service in ("fulcio", "oidc", "rekor", "tsa")]
        self.run(TOOLS / "cosign", "signing-config", "create", *none, "--out", "alone.json")

    def push(self, name, text):
        """An index with one image."""
        (self.directory / "kcup").write_text(text)
        with tarfile.open(self.directory / "layer.tar", "w") as layer:
            layer.add(self.directory / "kcup", "kcup")
        self.run(TOOLS / "crane", "append", "--new_layer", "layer.tar", "--new_tag", f"{name}-amd64")
        self.run(TOOLS / "crane", "index", "append", "--manifest", f"{name}-amd64", "--tag", name)

    def run(self, *command, check=True):
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(command, cwd=self.directory, env=self.environment, text=True, check=False, **both)
        assert done.returncode == 0 or not check, done.stdout
        return done.stdout if check else done.returncode

    def verify(self, *arguments):
        return self.run(TOOLS / "cosign", arguments[0], *OFFLINE, *arguments[1:], check=False)


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    directory = tmp_path_factory.mktemp("signing")
    with Registry(directory) as registry:
        release = Release(directory, registry)
        printed = release.run("release/sign", "v1.2.3")
        assert registry.password not in printed
        yield release


def test_an_image_is_signed_for_every_platform(release, twin):
    for tag in ("v1.2.3", "v1.2.3-amd64"):
        assert release.verify("verify", f"{release.image}/kcup-{twin}:{tag}") == 0


def test_an_image_has_its_bill_of_materials(release, twin):
    name = f"{release.image}/kcup-{twin}:v1.2.3"
    command = [TOOLS / "cosign", "verify-attestation", *OFFLINE, "--type", "cyclonedx", name]
    done = subprocess.run(command, cwd=release.directory, env=release.environment, capture_output=True, check=True)
    statement = json.loads(b64decode(json.loads(done.stdout.splitlines()[0])["payload"]))
    assert statement["predicate"] == {**BILL, "name": twin}


def test_an_image_that_was_pushed_later_is_not_signed(release):
    release.push(f"{release.image}/kcup-rust:v1.2.4", "another")
    assert release.verify("verify", f"{release.image}/kcup-rust:v1.2.4") != 0


def test_sums_that_were_changed_are_found(release):
    sums = release.directory / "bin/packages/SHA256SUMS"
    blob = ["verify-blob", "--bundle", f"{sums}.sigstore.json"]
    assert release.verify(*blob, sums) == 0
    sums.write_text("1  kcup\n")
    assert release.verify(*blob, sums) != 0


def test_another_key_does_not_verify(release):
    release.run(TOOLS / "cosign", "generate-key-pair", "--output-key-prefix", "other")
    name = f"{release.image}/kcup-rust:v1.2.3"
    options = ["--key", "other.pub", "--insecure-ignore-tlog"]
    assert release.run(TOOLS / "cosign", "verify", *options, name, check=False) != 0
