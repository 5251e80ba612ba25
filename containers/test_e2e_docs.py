"""Every command of docs/mta-sts.md, run in order in one shell, prints what the page shows."""

import pytest
from conftest import ROOT, docker
from e2e.sending_server import sending_server
from e2e.site import new_site
from runner.page import commands, run_page

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
    with sending_server(site.network, site.directory, site.environment) as sender:
        run_page(page, prefix=sender.inside, cwd=site.directory, env=sender.environment)
