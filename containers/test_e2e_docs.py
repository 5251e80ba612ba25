"""Every command of docs/mta-sts.md, run in order in one shell, prints what the page shows."""

import re

import pytest
from conftest import ROOT, docker
from e2e.page import check, commands
from e2e.sending_server import sending_server
from e2e.site import new_site

PAGE = ROOT / "docs" / "mta-sts.md"


@pytest.fixture
def site(image, tmp_path):
    with new_site(tmp_path, image, ["mta-sts.example.com"]) as site:
        site.environment |= {"KCUP": str(ROOT), "TRAEFIK_NETWORK": site.network}
        yield site
        docker("rm", "--force", "mta-sts", check=False)


def test_the_page_is_true(site):
    page = commands(PAGE.read_text())
    assert len(page) > 20
    script = "".join(f"echo '<command {number}>'\n{command}\n" for number, (command, _) in enumerate(page))
    with sending_server(site.network, site.directory, site.environment) as sender:
        done = sender.run("bash", "-eu", "-o", "pipefail", "-c", script, cwd=site.directory, timeout=180)
    outputs = re.split(r"^<command \d+>\n", done.stdout, flags=re.MULTILINE)[1:]
    for (command, wanted), output in zip(page, outputs, strict=False):
        check(command, wanted, output.splitlines())
    assert done.returncode == 0 and len(outputs) == len(page), done.stdout[-2000:]


def test_the_reader_finds_commands_and_output():
    text = "```console\n$ a \\\n  b\nx…\n$ c\n```\n```\n$ not this\n```\n"
    assert commands(text) == [("a \\\n  b", ["x…"]), ("c", [])]
    check("a", ["x…z"], ["w", "xyz\r"])
    with pytest.raises(AssertionError):
        check("a", ["x…z", "w"], ["w", "xyz"])
