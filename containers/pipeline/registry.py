"""A container registry on 127.0.0.1 that requires a user and a password: Debian's docker-registry."""

import json
import re
import secrets
import subprocess
import threading
import urllib.request
from base64 import b64encode

import bcrypt
from debian import program

LISTENING = re.compile(r"listening on (127\.0\.0\.1:\d+)")
INDEX = "application/vnd.oci.image.index.v1+json"


class Registry:
    """Its address, its user, and its contents. It ends with the block."""

    def __init__(self, directory):
        self.user, self.password = "pipeline", secrets.token_urlsafe()
        hashed = bcrypt.hashpw(self.password.encode(), bcrypt.gensalt(rounds=4)).decode()
        (directory / "users").write_text(f"{self.user}:{hashed}\n")
        self.configuration = directory / "registry.json"
        self.configuration.write_text(
            json.dumps(
                {
                    "version": 0.1,
                    "storage": {"filesystem": {"rootdirectory": str(directory / "registry")}},
                    "http": {"addr": "127.0.0.1:0"},
                    "auth": {"htpasswd": {"realm": "kcup", "path": str(directory / "users")}},
                }
            )
        )

    def __enter__(self):
        serve = [program("docker-registry", "usr/bin/docker-registry"), "serve", self.configuration]
        self.process = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        told = []
        for line in self.process.stderr:
            told.append(line)
            if match := LISTENING.search(line):
                self.address = match[1]
                # Keep reading, since it stops when the pipe is full.
                threading.Thread(target=self.process.stderr.read, daemon=True).start()
                return self
        raise RuntimeError(f"the registry has ended: {''.join(told)}")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate()

    def ask(self, path, accept="application/json"):
        token = b64encode(f"{self.user}:{self.password}".encode()).decode()
        headers = {"Authorization": f"Basic {token}", "Accept": accept}
        with urllib.request.urlopen(urllib.request.Request(f"http://{self.address}/v2/{path}", headers=headers)) as got:
            return json.load(got)

    def tags(self, repository):
        return set(self.ask(f"{repository}/tags/list")["tags"])

    def platforms(self, repository, tag):
        """The digest of each platform's image in the tag's index."""
        response = self.ask(f"{repository}/manifests/{tag}", INDEX)
        assert response["mediaType"] == INDEX
        images = [(image["platform"], image["digest"]) for image in response["manifests"]]
        return {f"{platform['os']}/{platform['architecture']}": digest for platform, digest in images}
