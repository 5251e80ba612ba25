"""Uploads bin/packages to the project's package registry, and makes the release of VERSION, which links to all of it.
Runs in a job of GitLab, with the address, project and token of that job.
"""

import json
import os
import sys
import urllib.request
from pathlib import Path
from urllib.error import HTTPError

from check import ROOT, sections, version

PACKAGES = ROOT / "bin/packages"
IMAGES = """\
Images: `{0}/kcup-rust:{1}` and `{0}/kcup-go:{1}`.
[How to verify what was released]({2}/-/blob/{1}/docs/verifying.md)."""


def send(method, url, body, kind):
    headers = {"JOB-TOKEN": os.environ["CI_JOB_TOKEN"], "Content-Type": kind}
    request = urllib.request.Request(url, body, headers, method=method)
    try:
        with urllib.request.urlopen(request) as response:
            return response.read()
    except HTTPError as error:
        sys.exit(f"gitlab.py: {method} {url}: {error.code}: {error.read().decode(errors='replace')}")


def upload(project, path):
    """The file's link in the release, with an address below the release's own."""
    url = f"{project}/packages/generic/kcup/{version()}/{path.name}"
    send("PUT", url, path.read_bytes(), "application/octet-stream")
    return {"name": path.name, "url": url, "direct_asset_path": f"/{path.name}", "link_type": "package"}


def notes(tag):
    text = {heading.partition(" ")[0]: text for heading, text in sections()}[f"[{version()}]"]
    return f"{text}\n\n{IMAGES.format(os.environ['CI_REGISTRY_IMAGE'], tag, os.environ['CI_PROJECT_URL'])}\n"


def main():
    project = f"{os.environ['CI_API_V4_URL']}/projects/{os.environ['CI_PROJECT_ID']}"
    tag = f"v{version()}"
    links = [upload(project, path) for path in sorted(Path(PACKAGES).iterdir())]
    body = {"tag_name": tag, "name": tag, "description": notes(tag), "assets": {"links": links}}
    send("POST", f"{project}/releases", json.dumps(body).encode(), "application/json")
    print(f"released {tag} with {len(links)} files")


if __name__ == "__main__":
    main()
