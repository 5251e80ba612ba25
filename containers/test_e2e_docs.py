"""Every command of docs/mta-sts.md, run in order in one shell, prints what the page shows."""

import pytest
from conftest import ROOT, docker
from e2e.sending_server import sending_server
from e2e.site import new_site
from runner.page import commands, files, run_page
from test_readme import IMAGE

PAGE = (ROOT / "docs" / "mta-sts.md").read_text()
HERE = "https://gitlab.com/kcup/kcup/-/raw/main"
OVERRIDE = "compose.override.yaml"


@pytest.fixture
def site(image, tmp_path):
    with new_site(tmp_path, image, [f"mta-sts.example.{end}" for end in ("com", "org", "net")]) as site:
        (tmp_path / OVERRIDE).write_text(files(PAGE)[OVERRIDE])
        (site.tls / "more.yaml").symlink_to("/etc/traefik/dynamic/more.yaml")
        site.environment |= {"COMPOSE_FILE": f"compose.yaml:{OVERRIDE}:test.yaml", "TRAEFIK_NETWORK": site.network}
        yield site
        docker("rm", "--force", "mta-sts", check=False)


def test_the_page_is_true(site, image):
    """With this commit's files, and the image that was built of it."""
    assert HERE in PAGE and IMAGE in PAGE
    page = commands(PAGE.replace(HERE, f"file://{ROOT}").replace(IMAGE, image))
    assert len(page) > 20
    with sending_server(site.network, site.directory, site.environment) as sender:
        run_page(page, prefix=sender.inside, cwd=site.directory, env=sender.environment)
