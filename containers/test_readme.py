"""README's console blocks that need a Docker engine, and its compose.yaml, as they stand but for image and ports."""

import re
import socket
import tempfile
from pathlib import Path

import pytest
from conftest import ROOT, docker
from e2e import until
from e2e.site import new_site
from runner.page import blocks, files, run_page

README = (ROOT / "README.md").read_text()
IMAGE = re.search(r"^docker pull (\S+)$", README, re.MULTILINE)[1]


@pytest.fixture
def page(image):
    return README.replace(IMAGE, image)


@pytest.fixture
def directory():
    """One that kcup's user may read."""
    with tempfile.TemporaryDirectory(prefix="kcup-test-") as path:
        Path(path).chmod(0o755)
        yield Path(path)
        docker("rm", "--force", "page", check=False)
        docker("rmi", "--force", "page", check=False)


def test_the_page_is_true(page, directory):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    page = page.replace("5000:5000", f"127.0.0.1:{port}:5000").replace("127.0.0.1:5000", f"127.0.0.1:{port}")
    (directory / "Dockerfile").write_text(files(page)["Dockerfile"])
    found = [block for block in blocks(page) if any("docker" in command for command, _ in block)]
    assert len(found) > 3
    run_page([command for block in found for command in block], cwd=directory)


def test_the_compose_file_serves_its_policy(page, image, tmp_path):
    text = files(page)["compose.yaml"]
    text = text.replace("443:443", "${HTTPS_PORT}:443")
    with new_site(tmp_path, image, ["mta-sts.example.com"], text) as site:
        site.compose("up", "--detach")
        until(site.status, lambda status: status == 200)
        assert site.get()[2] == policy(text)
        assert "publish v=STSv1; id=" in site.compose("logs", "kcup")


def policy(text):
    """The policy in the file, with CRLF as it is served."""
    lines = re.search(r"TEXT: \|\n((?: {8}.*\n)+)", text)[1]
    return "".join(line.strip() + "\r\n" for line in lines.splitlines()).encode()
